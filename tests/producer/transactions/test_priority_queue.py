"""A priority queue with the order of ties of Java's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.producer.transactions.priority_queue import PriorityQueue

Item = tuple[int, str]


def queue_of(*items: Item) -> PriorityQueue[Item]:
    queue: PriorityQueue[Item] = PriorityQueue(lambda item: item[0])
    for item in items:
        queue.offer(item)
    return queue


def drained(queue: PriorityQueue[Item]) -> list[Item]:
    items = []
    while (item := queue.poll()) is not None:
        items.append(item)
    return items


def test_ties_leave_in_the_order_of_the_heap() -> None:
    """java.util.PriorityQueue gives this order, by jshell."""
    letters = [item[1] for item in drained(queue_of(*((1, letter) for letter in "abcdefg")))]
    assert letters == list("agfedcb")


def test_an_empty_one() -> None:
    queue = queue_of()
    assert queue.peek() is None
    assert queue.poll() is None
    assert len(queue) == 0


@given(st.lists(st.integers(0, 5)))
def test_the_least_leaves_first(ranks: list[int]) -> None:
    queue = queue_of(*((rank, str(at)) for at, rank in enumerate(ranks)))
    assert len(queue) == len(ranks)
    assert [rank for rank, _ in drained(queue)] == sorted(ranks)


@given(st.lists(st.integers(0, 5), min_size=1), st.data())
def test_one_in_the_middle_may_be_removed(ranks: list[int], data: st.DataObject) -> None:
    items = [(rank, str(at)) for at, rank in enumerate(ranks)]
    queue = queue_of(*items)
    gone = data.draw(st.sampled_from(items))
    queue.remove(gone)
    queue.remove(gone)  # it is not there any more
    left = drained(queue)
    assert sorted(left) == sorted(set(items) - {gone})
    assert [rank for rank, _ in left] == sorted(rank for rank, _ in left)


def test_what_is_removed_is_this_very_one() -> None:
    one, same = (1, "a"), (1, "".join(["a"]))
    queue = queue_of(one)
    queue.remove(same)  # equal, and another
    assert len(queue) == 1
