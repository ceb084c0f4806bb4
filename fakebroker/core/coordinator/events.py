"""A queue of events for the coordinators of a broker: operations, high watermarks, timers, elections.

Theory   An event runs at once, unless another one is running; then it waits for its turn. So no operation ever runs
         within another one, whatever its response triggers. Long events run in slices, and requests to other parts of
         the broker are handled in between. Events of coordinators wait until the long one has ended.
Source   coordinator-common/.../common/runtime/{CoordinatorEventProcessor,MultiThreadedEventProcessor}.java @ 4.2.
Differs  One queue and no threads, for all partitions of a broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

Event = Callable[[], Slices[None] | None]  # a result of slices is run slice by slice
Report = Callable[[str, Exception], None]
Soon = Callable[[Callable[[], None]], None]


class EventQueue:
    """A queue of events, in order. `report` gets failures of events, which are bugs. `soon` runs a callback after other
    work has had its turn."""

    def __init__(self, report: Report, soon: Soon) -> None:
        self._events: deque[Event] = deque()
        self._under_way: Slices[None] | None = None
        self._is_busy = False
        self._soon = soon
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

    def run_within(self, event: Callable[[], None]) -> None:
        """Run the event now: within the running event, if there is one."""
        if self._is_busy:
            self._run(event)
        else:
            self.enqueue_first(event)

    def abandon(self, error: KafkaError) -> None:
        """End the running event with this error, and run the waiting events."""
        slices, self._under_way = self._under_way, None
        if slices is not None:
            with suppress(StopIteration):
                slices.throw(error)
            self._is_busy = False
            self._drain()

    def _drain(self) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._events and self._under_way is None:
                slices = self._run(self._events.popleft())
                if slices is not None and self._has_more(slices):
                    self._under_way = slices
                    self._soon(self._go_on)
        finally:
            self._is_busy = self._under_way is not None

    def _go_on(self) -> None:
        slices = self._under_way
        if slices is None:
            return  # it was abandoned
        if self._has_more(slices):
            self._soon(self._go_on)
            return
        self._under_way = None
        self._is_busy = False
        self._drain()

    def _has_more(self, slices: Slices[None]) -> bool:
        try:
            next(slices)
        except StopIteration:
            return False
        except Exception as error:
            self.report("a coordinator", error)
            return False
        return True

    def _run(self, event: Event) -> Slices[None] | None:
        try:
            return event()
        except Exception as error:
            self.report("a coordinator", error)
            return None
