"""The order of connections with a pending request."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.network.connection import Connection
from fakebroker.network.ready_queue import ReadyQueue


def connections(count: int) -> list[Connection]:
    return [Connection(1, f"peer {number}", "", 100, number) for number in range(count)]


def popped(queue: ReadyQueue) -> list[int]:
    numbers = []
    while (connection := queue.pop()) is not None:
        numbers.append(connection.number)
    return numbers


def test_first_come_first_served() -> None:
    queue = ReadyQueue()
    for connection in connections(3):
        queue.add(connection)
    assert len(queue) == 3
    assert popped(queue) == [0, 1, 2]
    assert len(queue) == 0


def test_an_idle_connection_comes_before_busy_ones() -> None:
    queue = ReadyQueue()
    *busy, fresh = connections(1_001)
    for connection in busy:
        queue.add(connection)
    queue.add_fresh(fresh)
    first = queue.pop()
    assert first is fresh


def test_however_many_come_afresh_the_others_have_every_second_turn() -> None:
    queue = ReadyQueue()
    busy, *fresh = connections(101)
    for connection in fresh:
        queue.add_fresh(connection)
    queue.add(busy)
    turns = []
    for _ in range(100):
        popped_now = queue.pop()
        turns.append(popped_now is busy)
        if popped_now is busy:
            queue.add(busy)
    assert turns == [False, True] * 50


def test_each_waits_once() -> None:
    queue = ReadyQueue()
    [connection] = connections(1)
    queue.add(connection)
    queue.add_fresh(connection)
    queue.add(connection)
    assert popped(queue) == [0]
    queue.add_fresh(connection)
    assert popped(queue) == [0]


@given(st.lists(st.tuples(st.sampled_from(["add", "fresh", "pop"]), st.integers(0, 9)), max_size=60))
def test_no_connection_is_lost_or_waits_for_more_than_two_rounds(steps: list[tuple[str, int]]) -> None:
    queue = ReadyQueue()
    all_of_them = connections(10)
    waiting: dict[int, int] = {}  # and how many turns others have had meanwhile
    for what, number in steps:
        if what == "pop":
            connection = queue.pop()
            assert (connection is None) == (not waiting)
            if connection is not None:
                assert waiting.pop(connection.number) <= 20
                waiting = {other: turns + 1 for other, turns in waiting.items()}
        else:
            (queue.add if what == "add" else queue.add_fresh)(all_of_them[number])
            waiting.setdefault(number, 0)
        assert len(queue) == len(waiting)
        queue.check_invariants()
    assert sorted(popped(queue)) == sorted(waiting)
