"""The buckets that hold tasks, soonest first. They drive the clock.

Theory   A heap of (expiration, tick, bucket). Tasks never enter it, only buckets, each at most once per rotation of its
         wheel. Its size is bounded by levels times buckets, however many tasks are pending. Buckets of several levels
         may start at the same instant; then the finest comes first. Each moves its tasks to the FRONT of their new
         lists, and a coarser bucket holds the tasks that were added earlier.
Units    Milliseconds on the caller's monotonic clock.
Source   java.util.concurrent.DelayQueue as org.apache.kafka.server.util.timer.SystemTimer uses it.
Differs  It does not wait. A bucket emptied by cancellations is dropped when it reaches the head, and causes no wake-up;
         Kafka wakes up and finds nothing.
"""

from __future__ import annotations

import heapq

from timingwheel.task_list import TimerTaskList


class DelayQueue:
    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerTaskList]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __bool__(self) -> bool:
        return len(self) > 0

    def offer(self, bucket: TimerTaskList) -> None:
        """Add a bucket after its `set_expiration` returned True."""
        heapq.heappush(self._heap, (bucket.expiration_ms, bucket.tick_ms, bucket))

    def peek(self) -> TimerTaskList | None:
        """Return the soonest bucket that holds a task."""
        heap = self._heap
        while heap:
            bucket = heap[0][2]
            if bucket.root._next is not bucket.root:
                return bucket
            self.poll()
        return None

    def poll(self) -> TimerTaskList:
        """Remove and return the head, empty or not. The queue must not be empty."""
        bucket = heapq.heappop(self._heap)[2]
        bucket.reset_expiration()
        return bucket

    def clear(self) -> None:
        while self._heap:
            self.poll()

    def check_invariants(self) -> None:
        heap = self._heap
        for index, (expiration_ms, tick_ms, bucket) in enumerate(heap):
            assert bucket.is_queued, "a bucket in the queue does not know it"
            assert bucket.expiration_ms == expiration_ms, "the bucket's time changed while it was queued"
            assert bucket.tick_ms == tick_ms
            assert index == 0 or heap[(index - 1) // 2][:2] <= (expiration_ms, tick_ms), "not a heap"
        assert not heap or len({id(bucket) for _, _, bucket in heap}) == len(heap), "a bucket is queued twice"
