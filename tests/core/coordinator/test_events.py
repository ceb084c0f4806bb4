"""Events of a coordinator run one after the other, some of them in slices (core/coordinator/events.py)."""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.coordinator.errors import not_coordinator
from fakebroker.core.coordinator.events import EventQueue
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices


class Harness:
    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.bugs: list[str] = []
        self.done: list[str] = []
        self.queue = EventQueue(lambda where, error: self.bugs.append(str(error)), self.soon.append)

    def short(self, name: str) -> Callable[[], None]:
        return lambda: self.done.append(name)

    def long(self, name: str, slices: int, fails: bool = False) -> Callable[[], Slices[None]]:
        def event() -> Slices[None]:
            try:
                for number in range(slices):
                    if number:
                        yield
                    self.done.append(f"{name}{number}")
                if fails:
                    raise ValueError(name)
            except KafkaError as error:
                self.done.append(f"{name} {error.code.name}")

        return event

    def turn(self) -> None:
        [call] = self.soon
        self.soon.clear()
        call()


def test_what_comes_while_a_long_one_is_under_way_waits_for_its_end() -> None:
    harness = Harness()
    harness.queue.enqueue_last(harness.long("a", 3))
    harness.queue.enqueue_last(harness.short("b"))
    harness.queue.enqueue_first(harness.short("first"))
    assert (harness.done, harness.queue.is_busy) == (["a0"], True)
    harness.turn()
    assert harness.done == ["a0", "a1"]
    harness.turn()
    assert harness.done == ["a0", "a1", "a2", "first", "b"]
    assert (harness.soon, harness.queue.is_busy) == ([], False)


def test_what_is_short_is_over_at_once() -> None:
    harness = Harness()
    harness.queue.enqueue_last(harness.long("a", 1))
    assert (harness.done, harness.soon, harness.queue.is_busy) == (["a0"], [], False)


def test_long_ones_are_done_one_after_the_other() -> None:
    harness = Harness()
    for name in "ab":
        harness.queue.enqueue_last(harness.long(name, 2))
    for _ in range(2):
        harness.turn()
    assert harness.done == ["a0", "a1", "b0", "b1"]


def test_what_is_run_within_does_not_wait() -> None:
    harness = Harness()
    harness.queue.enqueue_last(harness.long("a", 2))
    harness.queue.run_within(harness.short("within"))
    harness.turn()
    assert harness.done == ["a0", "within", "a1"]


def test_a_bug_is_told_and_the_next_one_is_done() -> None:
    harness = Harness()
    harness.queue.enqueue_last(harness.long("a", 2, fails=True))
    harness.queue.enqueue_last(harness.long("b", 1, fails=True))
    harness.turn()
    assert (harness.done, harness.bugs) == (["a0", "a1", "b0"], ["a", "b"])
    assert not harness.queue.is_busy


def test_what_is_under_way_is_abandoned_with_an_error_and_what_waits_is_done() -> None:
    harness = Harness()
    harness.queue.abandon(not_coordinator())
    harness.queue.enqueue_last(harness.long("a", 3))
    harness.queue.enqueue_last(harness.short("b"))
    harness.queue.abandon(not_coordinator())
    assert harness.done == ["a0", "a not_coordinator", "b"]
    harness.turn()  # no event continues
    assert (len(harness.done), harness.queue.is_busy) == (3, False)
