"""What is done to coordinators, one after the other: operations, watermarks, timers, elections.

Theory   Whoever wants something done puts it into the queue; it is done at once unless something is being done, and
         then after that. So no operation ever runs within another one, whatever an answer sets off.
Source   coordinator-common/.../common/runtime/{CoordinatorEventProcessor,MultiThreadedEventProcessor}.java @ 4.2.
Differs  One queue and no threads, for all partitions of a broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Event = Callable[[], None]
Report = Callable[[str, Exception], None]


class EventQueue:
    """Events in order. `report` is told of those that failed: a bug of ours."""

    def __init__(self, report: Report) -> None:
        self._events: deque[Event] = deque()
        self._is_busy = False
        self.report = report

    @property
    def is_busy(self) -> bool:
        return self._is_busy

    def enqueue_last(self, event: Event) -> None:
        self._events.append(event)
        self._drain()

    def enqueue_first(self, event: Event) -> None:
        self._events.appendleft(event)
        self._drain()

    def run_within(self, event: Event) -> None:
        """Do it now, as a part of what is being done, if anything is."""
        if self._is_busy:
            self._run(event)
        else:
            self.enqueue_first(event)

    def _drain(self) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._events:
                self._run(self._events.popleft())
        finally:
            self._is_busy = False

    def _run(self, event: Event) -> None:
        try:
            event()
        except Exception as error:
            self.report("a coordinator", error)
