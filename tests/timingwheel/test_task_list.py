"""Buckets, after Kafka's TimerTaskListTest, and what is new in ours."""

from __future__ import annotations

import pytest

from timingwheel.task import NIL, TaskCounter, TimerTask
from timingwheel.task_list import NOT_QUEUED, TimerTaskList


def sizes(*lists: TimerTaskList) -> list[int]:
    return [tasks.check_invariants() for tasks in lists]


def test_three_lists_share_a_counter() -> None:
    counter = TaskCounter()
    list1, list2, list3 = (TimerTaskList(counter) for _ in range(3))
    tasks = [TimerTask(10) for _ in range(10)]

    for expected, task in enumerate(tasks, start=1):
        list1.add(task)
        assert counter.value == expected
    assert sizes(list1, list2, list3) == [10, 0, 0]

    for task in tasks[:4]:
        list2.add(task)
        assert counter.value == 10, "moving a task does not change the number pending"
    assert sizes(list1, list2, list3) == [6, 4, 0]

    for task in tasks[4:]:
        list3.add(task)
        assert counter.value == 10
    assert sizes(list1, list2, list3) == [0, 4, 6]

    list1.clear()
    assert (sizes(list1, list2, list3), counter.value) == ([0, 4, 6], 10)
    list2.clear()
    assert (sizes(list1, list2, list3), counter.value) == ([0, 0, 6], 6)
    list3.clear()
    assert (sizes(list1, list2, list3), counter.value) == ([0, 0, 0], 0)


def test_delay_is_what_is_left_and_never_negative() -> None:
    bucket = TimerTaskList(TaskCounter())
    bucket.set_expiration(1_000 + 10_000)
    assert bucket.get_delay(6_000) == 5_000
    assert bucket.get_delay(11_000) == 0
    assert bucket.get_delay(99_000) == 0


def test_expiration_is_news_once_per_rotation() -> None:
    bucket = TimerTaskList(TaskCounter())
    assert bucket.expiration_ms == NOT_QUEUED
    assert bucket.set_expiration(20)
    assert not bucket.set_expiration(20)
    bucket.reset_expiration()
    assert not bucket.is_queued
    assert bucket.set_expiration(20), "after leaving the queue it is to be entered again"


def test_minus_one_is_a_time_like_any_other() -> None:
    assert TimerTaskList(TaskCounter()).set_expiration(-1)


def test_both_ends_keep_their_order() -> None:
    tasks = [TimerTask(0) for _ in range(4)]
    bucket = TimerTaskList(TaskCounter())
    bucket.add(tasks[2])
    bucket.add_first(tasks[1])
    bucket.add(tasks[3])
    bucket.add_first(tasks[0])
    bucket.check_invariants()
    assert list(bucket) == tasks
    assert bucket.pop_first() is tasks[0]
    assert list(bucket) == tasks[1:]


def test_adding_again_moves_to_the_end() -> None:
    first, second = TimerTask(0), TimerTask(0)
    bucket = TimerTaskList(TaskCounter())
    for task in (first, second, first):
        bucket.add(task)
    assert list(bucket) == [second, first]
    assert bucket.counter.value == 2
    bucket.add_first(first)
    assert list(bucket) == [first, second]
    bucket.add_first(first)
    assert list(bucket) == [first, second]
    assert bucket.check_invariants() == bucket.counter.value == 2


def test_iteration_tolerates_removal_of_the_task_in_hand() -> None:
    tasks = [TimerTask(0) for _ in range(5)]
    bucket = TimerTaskList(TaskCounter())
    for task in tasks:
        bucket.add(task)
    seen = []
    for task in bucket:
        seen.append(task)
        task.cancel()
    assert seen == tasks
    assert bucket.is_empty


@pytest.mark.parametrize(("here", "there"), [(0, 0), (0, 3), (2, 0), (1, 1), (2, 3)])
def test_splice(here: int, there: int) -> None:
    counter = TaskCounter()
    one, two = TimerTaskList(counter), TimerTaskList(counter)
    mine, theirs = [TimerTask(0) for _ in range(here)], [TimerTask(0) for _ in range(there)]
    for task in mine:
        one.add(task)
    for task in theirs:
        two.add(task)
    one.splice_last(two)
    assert list(one) == mine + theirs
    assert sizes(one, two) == [here + there, 0]
    assert counter.value == here + there
    for task in mine + theirs:
        assert task.cancel()
    assert sizes(one, two) == [0, 0]


def test_a_cancelled_task_holds_on_to_no_neighbour() -> None:
    tasks = [TimerTask(0) for _ in range(3)]
    bucket = TimerTaskList(TaskCounter())
    for task in tasks:
        bucket.add(task)
    assert tasks[1].cancel()
    assert tasks[1]._next is NIL
    assert tasks[1]._prev is NIL
    assert list(bucket) == [tasks[0], tasks[2]]


def test_invariants_notice_a_broken_ring() -> None:
    bucket = TimerTaskList(TaskCounter())
    task, other = TimerTask(0), TimerTask(0)
    bucket.add(task)
    bucket.add(other)
    other._prev = bucket.root
    with pytest.raises(AssertionError, match="one way"):
        bucket.check_invariants()
