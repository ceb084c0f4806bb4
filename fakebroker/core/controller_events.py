"""The events of the controller: one after the other, long ones in slices.

Theory   A broker that stops, starts or falls silent concerns all partitions of the cluster. Very many are handled in
         slices, with requests in between, so partitions change one after the other, as in Kafka. The next event begins
         when the one before is completely handled. With few partitions an event is handled at once. In virtual time
         all of it happens at the same millisecond.
Source   metadata/.../controller/QuorumController.java: KafkaEventQueue, MAX_RECORDS_PER_BATCH;
         ReplicaManager.scala applyDelta @ 4.0: partition by partition, while requests are handled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import final

from fakebroker.protocol.slices import Slices, finish


@final
class ControllerEvents:
    """The queue. `soon` calls a function after other pending work; `report` receives bugs of ours."""

    def __init__(self, soon: Callable[[Callable[[], None]], None], report: Callable[[str, Exception], None]) -> None:
        self._soon = soon
        self._report = report
        self._waiting: deque[tuple[str, Slices[None]]] = deque()
        self._is_running = False
        self._is_called = False

    @property
    def is_busy(self) -> bool:
        """True if an event is not completely handled."""
        return bool(self._waiting)

    def handle(self, where: str, event: Slices[None]) -> None:
        """Handle an event after those before it. If there is none, its first slice runs now. `where` is reported with a
        bug."""
        self._waiting.append((where, event))
        if len(self._waiting) == 1:
            self._go_on()

    def handle_at_once(self, event: Slices[None]) -> None:
        """Handle an event completely, after those before it. An event that is begun by another one is part of it."""
        while self._waiting and not self._is_running:
            self._do_next_slice()
        finish(event)

    def _go_on(self) -> None:
        self._is_called = False
        if self._waiting and not self._is_running:
            self._do_next_slice()
        if self._waiting and not self._is_called:
            self._is_called = True
            self._soon(self._go_on)

    def _do_next_slice(self) -> None:
        where, event = self._waiting[0]
        self._is_running = True
        try:
            next(event)
            return
        except StopIteration:
            pass
        except Exception as error:
            self._report(where, error)
        finally:
            self._is_running = False
        self._waiting.popleft()
