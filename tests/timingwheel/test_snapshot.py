"""The picture of a timer."""

from __future__ import annotations

from wheel_recording import Recording, add_all

from timingwheel import SystemTimer
from timingwheel.snapshot import BucketSnapshot


def test_an_empty_timer() -> None:
    snapshot = SystemTimer(1_003, tick_ms=10, wheel_size=5).snapshot()
    assert (snapshot.size, snapshot.due, snapshot.next_deadline_ms) == (0, 0, None)
    (level,) = snapshot.levels
    assert (level.tick_ms, level.wheel_size, level.current_time_ms, level.end_ms) == (10, 5, 1_000, 1_050)
    assert (level.size, level.buckets) == (0, ())


def test_levels_and_buckets() -> None:
    timer = SystemTimer(0, wheel_size=3)
    tasks = add_all(timer, [-1, 0, 1, 1, 7, 8, 20], [])
    tasks[2].cancel()
    snapshot = timer.snapshot()
    assert (snapshot.size, snapshot.due, snapshot.next_deadline_ms) == (6, 2, -1)
    assert [level.buckets for level in snapshot.levels] == [
        (BucketSnapshot(1, 1, 2, 1),),
        (BucketSnapshot(2, 6, 9, 2),),
        (BucketSnapshot(2, 18, 27, 1),),
    ]
    assert sum(level.size for level in snapshot.levels) + snapshot.due == snapshot.size


def test_it_draws_itself() -> None:
    timer = SystemTimer(0, wheel_size=3)
    add_all(timer, [0, 7, 8], [])
    assert str(timer.snapshot()) == (
        "3 pending, 1 of them due, next deadline 0\n"
        "level 1: tick 1, 3 buckets, from 0 to 3, 0 pending\n"
        "level 2: tick 3, 3 buckets, from 0 to 9, 2 pending\n"
        "  [  2] 6..8: 2"
    )


def test_a_callback_may_look() -> None:
    timer, seen = SystemTimer(0), []
    timer.add(Recording(0, "look", [], lambda: seen.append(timer.snapshot())), 0)
    add_all(timer, [0, 5], [])
    timer.advance_clock(5)
    assert [(snapshot.size, snapshot.due) for snapshot in seen] == [(2, 2)]
