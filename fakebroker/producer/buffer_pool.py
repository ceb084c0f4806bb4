"""The memory of a producer: `buffer.memory` bytes, and the queue of appends that wait for some of it.

Theory   A batch of the usual size (`poolable_size`, that is batch.size) reuses a buffer that was given back. All other
         sizes are only counted. A request that finds too little memory waits at the end of a queue. Only the first
         waiter is woken. It takes the memory that is free, and keeps it while it waits for the rest. So small records
         cannot starve a large one. A new request does not queue if there is enough memory for it at once. Nothing
         blocks: a waiter is a `MemoryWaiter` with callbacks. Woken waiters continue in `run_woken`, one after the
         other, as threads would if each ran to its end.
Units    bytes, milliseconds.
Errors   BufferTooSmallError for more than the pool's total size; BufferExhaustedError after `max_time_to_block_ms`.
Source   clients/.../producer/internals/BufferPool.java of 2.0 and 4.3; conformance/producer plays both with those.
Differs  A buffer is only a size, without bytes. Kafka's threads may overtake each other; waiters here do not.
"""

from __future__ import annotations

from collections import deque

from fakebroker.producer.errors import (
    BufferExhaustedError,
    BufferTooSmallError,
    ProducerClosedError,
    ProducerError,
    ProducerTimeoutError,
)
from fakebroker.producer.generation import Generation
from fakebroker.producer.sending import words
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class MemoryWaiter:
    """A request for memory. The pool sets its fields when it queues it. `accumulated` bytes are already set aside for
    it; it gives up at `deadline_ms`."""

    __slots__ = ("accumulated", "deadline_ms", "is_woken", "max_time_to_block_ms", "size")

    size: int
    accumulated: int
    max_time_to_block_ms: int
    deadline_ms: int
    is_woken: bool

    def on_memory(self, now_ms: int) -> None:
        """Continue after a wait: the `size` bytes are allocated."""
        raise NotImplementedError

    def on_refused(self, error: ProducerError, now_ms: int) -> None:
        """Fail after a wait: no memory is allocated."""
        raise NotImplementedError


class BufferPool:
    """A pool of `total_memory` bytes. After a call that gives memory back or closes the pool, call `run_woken`."""

    def __init__(self, total_memory: int, poolable_size: int, generation: Generation) -> None:
        self.total_memory = total_memory
        self.poolable_size = poolable_size
        self._generation = generation
        self._free = 0  # number of free buffers of the poolable size
        self._non_pooled = total_memory
        self._handed_out = 0
        self._waiters: deque[MemoryWaiter] = deque()
        self._woken: deque[MemoryWaiter] = deque()
        self._is_closed = False

    def allocate(self, waiter: MemoryWaiter, size: int, max_time_to_block_ms: int, now_ms: int) -> bool:
        """Allocate memory. Return True if the caller has it now, False if `waiter` was queued and will be called
        back."""
        if size > self.total_memory:
            raise BufferTooSmallError(words.more_than_all_memory(size, self.total_memory))
        if self._is_closed:
            raise _closed()
        if size == self.poolable_size and self._free:
            self._free -= 1
            self._hand_out(size)
            return True
        if self.available_memory() >= size:
            self._free_up(size)
            self._non_pooled -= size
            self._hand_out(size)
            return True
        if max_time_to_block_ms <= 0:
            error = self._exhausted(size, max_time_to_block_ms)
            self._wake_first()
            raise error
        waiter.size = size
        waiter.accumulated = 0
        waiter.is_woken = False
        waiter.max_time_to_block_ms = max_time_to_block_ms
        waiter.deadline_ms = now_ms + max_time_to_block_ms
        self._waiters.append(waiter)  # a new waiter takes nothing yet, even if some memory is free
        return False

    def deallocate(self, size: int) -> None:
        """Give `size` bytes back, as they were allocated at once."""
        assert size <= self._handed_out, f"{size} bytes come back and {self._handed_out} are out"
        self._handed_out -= size
        if size == self.poolable_size:
            self._free += 1
        else:
            self._non_pooled += size
        if self._waiters:
            self._wake(self._waiters[0])

    def withdraw(self, waiter: MemoryWaiter) -> None:
        """Remove a waiter without calling it back, as Kafka's `allocate` does when its thread is interrupted. The
        memory set aside for it may serve the next waiter, so call `run_woken` afterwards."""
        self._waiters.remove(waiter)
        if waiter.is_woken:
            waiter.is_woken = False
            self._woken.remove(waiter)
        self._give_up(waiter)

    def run_woken(self, now_ms: int) -> None:
        """Continue all woken waiters, and those that are woken meanwhile."""
        while self._woken:
            waiter = self._woken.popleft()
            waiter.is_woken = False
            self._go_on(waiter, False, now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline of the waiters."""
        if not self._waiters:  # the usual case
            return None
        return min(waiter.deadline_ms for waiter in self._waiters)

    def advance_to(self, now_ms: int) -> None:
        """Fail each waiter that is past its deadline, in the order of deadlines. Its memory may serve waiters still in
        time."""
        while self._waiters:
            waiter = min(self._waiters, key=_deadline)  # min returns the first to arrive among equal deadlines
            if waiter.deadline_ms > now_ms:
                return
            self._go_on(waiter, True, now_ms)
            self.run_woken(now_ms)

    def close(self) -> None:
        """Refuse all waiters and all later requests. 2.0 has no such method."""
        self._is_closed = True
        for waiter in self._waiters:
            self._wake(waiter)

    def available_memory(self) -> int:
        """Return the bytes that are neither allocated nor set aside."""
        return self._non_pooled + self._free * self.poolable_size

    def unallocated_memory(self) -> int:
        """Return the available bytes without the free buffers."""
        return self._non_pooled

    def queued(self) -> int:
        """Return the number of waiters."""
        return len(self._waiters)

    def check_invariants(self) -> None:
        set_aside = sum(waiter.accumulated for waiter in self._waiters)
        assert self._free >= 0 <= self._non_pooled, "less than nothing is free"
        assert self.available_memory() + set_aside + self._handed_out == self.total_memory, "memory was lost or made"
        assert all(waiter.accumulated < waiter.size for waiter in self._waiters), "a waiter has enough memory and waits"
        assert all(not waiter.accumulated for waiter in list(self._waiters)[1:]), "a waiter took memory before its turn"

    def _go_on(self, waiter: MemoryWaiter, has_elapsed: bool, now_ms: int) -> None:
        error: ProducerError | None = None
        if self._is_closed:
            error = _closed()
        elif has_elapsed:
            error = self._exhausted(waiter.size, waiter.max_time_to_block_ms)
        else:
            self._take(waiter)
            if waiter.accumulated < waiter.size:
                if waiter.deadline_ms > now_ms:
                    return
                error = self._exhausted(waiter.size, waiter.max_time_to_block_ms)
        self._waiters.remove(waiter)
        if error is None:
            waiter.accumulated = 0
            self._hand_out(waiter.size)
            waiter.on_memory(now_ms)
            return
        self._give_up(waiter)
        waiter.on_refused(error, now_ms)

    def _give_up(self, waiter: MemoryWaiter) -> None:
        self._non_pooled += waiter.accumulated
        waiter.accumulated = 0
        self._wake_first()

    def _take(self, waiter: MemoryWaiter) -> None:
        if not waiter.accumulated and waiter.size == self.poolable_size and self._free:
            self._free -= 1
            waiter.accumulated = waiter.size
            return
        missing = waiter.size - waiter.accumulated
        self._free_up(missing)
        got = min(missing, self._non_pooled)
        self._non_pooled -= got
        waiter.accumulated += got

    def _free_up(self, size: int) -> None:
        """Turn free buffers into unpooled memory until `size` bytes of it are there."""
        while self._free and self._non_pooled < size:
            self._free -= 1
            self._non_pooled += self.poolable_size

    def _hand_out(self, size: int) -> None:
        self._handed_out += size
        self._wake_first()

    def _wake_first(self) -> None:
        """Wake the first waiter if there is memory left."""
        if self._waiters and self.available_memory():
            self._wake(self._waiters[0])

    def _wake(self, waiter: MemoryWaiter) -> None:
        if not waiter.is_woken:
            waiter.is_woken = True
            self._woken.append(waiter)

    def _exhausted(self, size: int, max_time_to_block_ms: int) -> ProducerError:
        text = words.no_memory(
            size, max_time_to_block_ms, self.total_memory, self.available_memory(), self.poolable_size, self._generation
        )
        return BufferExhaustedError(text) if self._generation.names_exhausted_memory else ProducerTimeoutError(text)


def _closed() -> ProducerError:
    return ProducerClosedError(words.CLOSED_WHILE_ALLOCATING)


def _deadline(waiter: MemoryWaiter) -> int:
    return waiter.deadline_ms
