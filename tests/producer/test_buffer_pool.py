"""The memory of a producer: allocations, waiting callers, and no leak."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakebroker.producer.buffer_pool import BufferPool, MemoryWaiter
from fakebroker.producer.errors import (
    BufferExhaustedError,
    BufferTooSmallError,
    ProducerClosedError,
    ProducerError,
    ProducerTimeoutError,
)
from fakebroker.producer.generation import Generation

BATCH = 10
OLD, NEW = Generation("2.0"), Generation("4.3")


class Waiter(MemoryWaiter):
    """A caller that records its result."""

    def __init__(self) -> None:
        self.got_ms: int | None = None
        self.error: ProducerError | None = None

    def on_memory(self, now_ms: int) -> None:
        assert self.got_ms is None
        assert self.error is None
        self.got_ms = now_ms

    def on_refused(self, error: ProducerError, now_ms: int) -> None:
        assert self.got_ms is None
        assert self.error is None
        self.error = error


def waiting(pool: BufferPool, size: int, block_ms: int = 100, now_ms: int = 0) -> Waiter:
    waiter = Waiter()
    assert not pool.allocate(waiter, size, block_ms, now_ms)
    return waiter


def test_the_usual_size_comes_from_what_was_given_back() -> None:
    pool = BufferPool(30, BATCH, NEW)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    pool.deallocate(BATCH)
    assert (pool.available_memory(), pool.unallocated_memory()) == (30, 20)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    assert (pool.available_memory(), pool.unallocated_memory()) == (20, 20)
    pool.deallocate(BATCH)
    assert pool.allocate(Waiter(), 25, 0, 0), "buffers of the usual size are melted down"
    assert (pool.available_memory(), pool.unallocated_memory()) == (5, 5)


@pytest.mark.parametrize(("now_ms", "is_refused"), [(99, False), (100, True)])
def test_an_allocation_woken_after_its_deadline_fails_without_enough_memory(now_ms: int, is_refused: bool) -> None:
    pool = BufferPool(30, BATCH, NEW)
    for _ in range(3):
        assert pool.allocate(Waiter(), BATCH, 0, 0)
    waiter = waiting(pool, 25)
    pool.deallocate(BATCH)
    pool.run_woken(now_ms)
    assert isinstance(waiter.error, BufferExhaustedError) == is_refused
    assert pool.available_memory() == (BATCH if is_refused else 0)


def test_the_first_to_wait_takes_what_there_is_and_waits_on() -> None:
    pool = BufferPool(30, BATCH, NEW)
    for _ in range(3):
        assert pool.allocate(Waiter(), BATCH, 0, 0)
    large, small = waiting(pool, 25), waiting(pool, 5)
    for left in (2, 1):
        pool.deallocate(BATCH)
        pool.run_woken(7)
        assert (large.accumulated, pool.queued()) == (30 - BATCH * left, 2)
        assert small.got_ms is None, "it waits behind the large one"
    pool.deallocate(BATCH)
    pool.run_woken(8)
    assert (large.got_ms, small.got_ms) == (8, 8)
    assert (pool.available_memory(), pool.queued()) == (0, 0)
    pool.check_invariants()


@pytest.mark.parametrize(
    ("generation", "kind", "numbers"),
    [
        (OLD, ProducerTimeoutError, ("100 ms",)),
        (Generation("2.5"), ProducerTimeoutError, ("100 ms",)),
        (Generation("2.6"), BufferExhaustedError, ("100 ms",)),
        (NEW, BufferExhaustedError, ("25 bytes", "100 ms", "Total memory: 30 bytes", "Poolable size: 10 bytes")),
    ],
)
def test_a_waiter_that_times_out_gives_its_memory_back(
    generation: Generation, kind: type[ProducerError], numbers: tuple[str, ...]
) -> None:
    pool = BufferPool(30, BATCH, generation)
    for _ in range(3):
        assert pool.allocate(Waiter(), BATCH, 0, 0)
    large, small = waiting(pool, 25, 100), waiting(pool, BATCH, 101)
    pool.deallocate(BATCH)
    pool.run_woken(5)
    assert large.accumulated == BATCH
    assert pool.next_deadline_ms() == 100
    pool.advance_to(99)
    assert pool.queued() == 2, "an allocation failed before its deadline"
    pool.advance_to(100)
    assert type(large.error) is kind
    assert all(number in str(large.error) for number in numbers), large.error
    assert small.got_ms == 100, "what the large one had does for the small one"
    pool.check_invariants()


def test_what_is_woken_at_its_deadline_and_has_not_enough_is_over() -> None:
    pool = BufferPool(30, BATCH, NEW)
    for _ in range(3):
        assert pool.allocate(Waiter(), BATCH, 0, 0)
    large, larger = waiting(pool, 20, 50), waiting(pool, 30, 50)
    pool.deallocate(BATCH)
    pool.run_woken(1)
    pool.advance_to(50)
    assert isinstance(large.error, BufferExhaustedError)
    assert isinstance(larger.error, BufferExhaustedError)
    assert pool.available_memory() == BATCH


def test_a_caller_that_will_not_wait_gets_an_error_at_once() -> None:
    pool = BufferPool(BATCH, BATCH, NEW)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    with pytest.raises(BufferExhaustedError):
        pool.allocate(Waiter(), 1, 0, 0)
    assert pool.queued() == 0


def test_more_than_all_is_never_to_be_had() -> None:
    with pytest.raises(BufferTooSmallError, match=r"11 bytes, but there is a hard limit of 10 "):
        BufferPool(10, BATCH, NEW).allocate(Waiter(), 11, 100, 0)


def test_waiters_get_an_error_when_the_pool_is_closed() -> None:
    pool = BufferPool(BATCH, BATCH, NEW)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    one, other = waiting(pool, 1), waiting(pool, 2)
    pool.close()
    pool.run_woken(3)
    assert isinstance(one.error, ProducerClosedError)
    assert isinstance(other.error, ProducerClosedError)
    with pytest.raises(ProducerClosedError):
        pool.allocate(Waiter(), 1, 100, 3)


def test_a_withdrawn_allocation_returns_its_memory_to_the_next() -> None:
    pool = BufferPool(30, BATCH, NEW)
    for _ in range(3):
        assert pool.allocate(Waiter(), BATCH, 0, 0)
    large, small = waiting(pool, 25), waiting(pool, BATCH)
    pool.deallocate(BATCH)
    pool.run_woken(5)
    assert large.accumulated == BATCH
    pool.withdraw(large)
    pool.run_woken(6)
    assert (large.got_ms, large.error) == (None, None), "a withdrawn allocation was completed"
    assert small.got_ms == 6
    assert pool.queued() == 0
    pool.check_invariants()


def test_a_woken_allocation_that_is_withdrawn_wakes_the_next() -> None:
    """The memory is released, and the withdrawn allocation neither gets it nor loses it."""
    pool = BufferPool(BATCH, BATCH, NEW)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    first, second = waiting(pool, BATCH), waiting(pool, BATCH)
    pool.deallocate(BATCH)
    pool.withdraw(first)
    pool.run_woken(1)
    assert (first.got_ms, second.got_ms) == (None, 1)
    pool.check_invariants()


def test_one_behind_others_is_taken_back_without_their_hearing_of_it() -> None:
    pool = BufferPool(BATCH, BATCH, NEW)
    assert pool.allocate(Waiter(), BATCH, 0, 0)
    first, second = waiting(pool, BATCH), waiting(pool, BATCH)
    pool.withdraw(second)
    pool.run_woken(1)
    assert (first.got_ms, pool.queued()) == (None, 1)
    pool.deallocate(BATCH)
    pool.run_woken(2)
    assert first.got_ms == 2


class Pool(RuleBasedStateMachine):
    """Callers allocate, deallocate and wait: no memory is lost, none waits although there is enough, and none waits too
    long."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BufferPool(50, BATCH, NEW)
        self.now_ms = 0
        self.out: list[int] = []
        self.waiters: list[Waiter] = []

    @rule(size=st.integers(1, 50), block_ms=st.integers(1, 20))
    def ask(self, size: int, block_ms: int) -> None:
        waiter = Waiter()
        if self.pool.allocate(waiter, size, block_ms, self.now_ms):
            self.out.append(size)
        else:
            self.waiters.append(waiter)
        self.settle()

    @precondition(lambda self: self.out)
    @rule(which=st.integers(0, 99))
    def give_back(self, which: int) -> None:
        self.pool.deallocate(self.out.pop(which % len(self.out)))
        self.settle()

    @precondition(lambda self: self.waiters)
    @rule(which=st.integers(0, 99), gives_back=st.booleans())
    def take_back(self, which: int, gives_back: bool) -> None:
        if gives_back and self.out:  # it may be woken by then
            self.pool.deallocate(self.out.pop())
        self.pool.withdraw(self.waiters.pop(which % len(self.waiters)))
        self.settle()

    @rule(ms=st.integers(0, 30))
    def pass_time(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        while (deadline_ms := self.pool.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = deadline_ms
            self.pool.advance_to(deadline_ms)
            self.settle()
        self.now_ms = end_ms
        self.pool.advance_to(end_ms)
        self.settle()

    @rule(ms=st.integers(0, 30))
    def oversleep(self, ms: int) -> None:
        """Let several deadlines pass at once. The memory of the first may go to the next, which was in time for it."""
        self.now_ms += ms
        self.pool.advance_to(self.now_ms)
        self.settle(is_late=True)

    def settle(self, is_late: bool = False) -> None:
        self.pool.run_woken(self.now_ms)
        for waiter in self.waiters:
            if waiter.got_ms is not None:
                assert waiter.got_ms <= waiter.deadline_ms or is_late
                self.out.append(waiter.size)
            elif waiter.error is not None:
                assert self.now_ms >= waiter.deadline_ms
        self.waiters = [waiter for waiter in self.waiters if waiter.got_ms is None and waiter.error is None]

    @invariant()
    def adds_up(self) -> None:
        self.pool.check_invariants()
        assert self.pool.queued() == len(self.waiters)
        assert sum(self.out) + self.pool.available_memory() <= 50
        assert all(waiter.deadline_ms > self.now_ms for waiter in self.waiters), (
            "an allocation waits beyond its deadline"
        )


TestPool = Pool.TestCase
