"""The contents of a timer, level by level and bucket by bucket, for display.

Theory   Plain values, taken at one moment; keeping a snapshot keeps no task alive. Counting walks over the pending
         tasks, so it takes time in proportion to them: for a debugger or a dashboard, not for a hot path.
         `str(snapshot)` draws it.
Units    Milliseconds on the caller's monotonic clock; end_ms is the first millisecond after the bucket.
Differs  Kafka's classes have no counterpart.
"""

from __future__ import annotations

from dataclasses import dataclass

from timingwheel.due_queue import DueQueue
from timingwheel.wheel import TimingWheel


@dataclass(frozen=True, slots=True)
class BucketSnapshot:
    """A bucket that holds at least one task."""

    index: int
    start_ms: int
    end_ms: int
    size: int


@dataclass(frozen=True, slots=True)
class LevelSnapshot:
    tick_ms: int
    wheel_size: int
    current_time_ms: int
    end_ms: int
    buckets: tuple[BucketSnapshot, ...]

    @property
    def size(self) -> int:
        return sum(bucket.size for bucket in self.buckets)


@dataclass(frozen=True, slots=True)
class TimerSnapshot:
    """The contents of a timer. `due` counts the tasks that run at the next advance, or in the rest of this one."""

    size: int
    due: int
    next_deadline_ms: int | None
    levels: tuple[LevelSnapshot, ...]

    def __str__(self) -> str:
        lines = [f"{self.size} pending, {self.due} of them due, next deadline {self.next_deadline_ms}"]
        for number, level in enumerate(self.levels, start=1):
            lines.append(
                f"level {number}: tick {level.tick_ms}, {level.wheel_size} buckets, "
                f"from {level.current_time_ms} to {level.end_ms}, {level.size} pending"
            )
            lines += [f"  [{b.index:>3}] {b.start_ms}..{b.end_ms - 1}: {b.size}" for b in level.buckets]
        return "\n".join(lines)


def take_snapshot(
    wheel: TimingWheel, due_queues: list[DueQueue], size: int, next_deadline_ms: int | None
) -> TimerSnapshot:
    """Build a snapshot from the parts of a `SystemTimer`. Call `SystemTimer.snapshot` instead."""
    levels = []
    for level in wheel.levels():
        buckets = []
        for index, bucket in level.buckets():
            count = sum(1 for _ in bucket)
            if count:
                start_ms = bucket.expiration_ms
                buckets.append(BucketSnapshot(index, start_ms, start_ms + level.tick_ms, count))
        buckets.sort(key=lambda bucket: bucket.start_ms)
        levels.append(
            LevelSnapshot(
                level.tick_ms,
                level.wheel_size,
                level.current_time_ms,
                level.current_time_ms + level.interval_ms,
                tuple(buckets),
            )
        )
    due = sum(1 for queue in due_queues for _ in queue)
    return TimerSnapshot(size, due, next_deadline_ms, tuple(levels))
