"""Long work of a broker: one slice at a time, of each task in turn (core/in_turns.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fakebroker.core.in_turns import InTurns
from fakebroker.protocol.slices import Slices


class Harness:
    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.bugs: list[tuple[str, str]] = []
        self.done: list[str] = []
        self.in_turns = InTurns(self.soon.append, lambda where, error: self.bugs.append((where, str(error))))

    def work(self, name: str, slices: int, fails: bool = False) -> Slices[None]:
        for number in range(slices):
            if number:
                yield
            self.done.append(f"{name}{number}")
        if fails:
            raise ValueError(name)

    def begin(self, name: str, slices: int, fails: bool = False) -> None:
        self.in_turns.go_on(f"work {name}", self.work(name, slices, fails))

    def turn(self) -> None:
        [call] = self.soon
        self.soon.clear()
        call()


def test_what_is_short_is_over_at_once() -> None:
    harness = Harness()
    harness.begin("a", 1)
    assert (harness.done, harness.soon, len(harness.in_turns)) == (["a0"], [], 0)


def test_one_slice_at_a_time_of_each_in_turn() -> None:
    harness = Harness()
    harness.begin("a", 3)
    harness.begin("b", 2)
    harness.begin("c", 3)
    assert harness.done == ["a0", "b0", "c0"]
    for number in range(5):
        assert len(harness.soon) == 1, number
        harness.turn()
        assert len(harness.done) == 4 + number
    assert harness.done[3:] == ["a1", "b1", "c1", "a2", "c2"]
    assert not harness.soon


def test_a_bug_ends_its_own_work_only() -> None:
    harness = Harness()
    harness.begin("a", 2, fails=True)
    harness.begin("b", 3)
    harness.begin("c", 1, fails=True)
    assert harness.bugs == [("work c", "c")]
    for _ in range(3):
        harness.turn()
    assert harness.bugs == [("work c", "c"), ("work a", "a")]
    assert harness.done == ["a0", "b0", "c0", "a1", "b1", "b2"]


def test_work_ends_when_the_broker_stops() -> None:
    harness = Harness()
    harness.begin("a", 3)
    harness.in_turns.close()
    harness.turn()
    assert (harness.done, harness.soon) == (["a0"], [])


def test_work_may_begin_other_work() -> None:
    harness = Harness()

    def outer() -> Slices[None]:
        harness.begin("inner", 2)
        yield
        harness.done.append("outer")

    harness.in_turns.go_on("outer", outer())
    harness.turn()
    harness.turn()
    assert harness.done == ["inner0", "inner1", "outer"]


def test_what_is_put_off_is_done_in_order_and_some_at_a_time() -> None:
    harness = Harness()
    for number in range(70):
        harness.in_turns.put_off("small", partial(harness.done.append, str(number)))
    harness.begin("a", 3)
    assert harness.done == ["a0"]
    counts = []
    while harness.soon:
        before = len(harness.done)
        harness.turn()
        counts.append(len(harness.done) - before)
    assert [name for name in harness.done if not name.startswith("a")] == [str(number) for number in range(70)]
    assert max(counts) <= 32
    assert len(harness.in_turns) == 0
    harness.in_turns.put_off("small", partial(harness.done.append, "again"))
    harness.turn()
    assert harness.done[-1] == "again"


def test_a_bug_in_what_is_put_off_ends_nothing_else() -> None:
    harness = Harness()

    def fail() -> None:
        raise ValueError("no")

    harness.in_turns.put_off("small", fail)
    harness.in_turns.put_off("small", partial(harness.done.append, "behind"))
    harness.turn()
    assert harness.bugs == [("small", "no")]
    assert harness.done == ["behind"]
