"""The marks of a run in the broker's journal: our own requests before its first request and after its last one.

Theory   Events between the two marks belong to the run, whatever the broker's clock says. If both marks are there and
         nothing is missing in between, then an event that is not in the journal did not happen. Otherwise the journal
         proves nothing, and the run is judged by the responses and the log.
         The marks also show that the journal is this cluster's, and that it knows our connections by their local
         addresses. They also bound the difference of the clocks: the broker receives a mark after it was sent, and
         before its response arrives.
Errors   A problem is kept in `gap`: a journal that cannot be read is no reason to end the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fakebroker_load.control import ControlCallError
from fakebroker_load.journal.lines import JournalEvent, Request
from fakebroker_load.journal.taps import JournalGap
from fakebroker_load.log import Asker
from fakebroker_load.wire.client import WireError

SEEN_WITHIN_S = 10.0
POLL_S = 0.05

Address = tuple[str, int]
Mark = tuple[str, int]  # our address, and the correlation id


@dataclass(frozen=True)
class JournalResult:
    """The result for a run's journal: the number of rows, or `why_not`, which ends a sentence. `ahead_us` are bounds
    for how far the broker's clock is ahead of our time.monotonic."""

    rows: int = 0
    why_not: str | None = None
    ahead_us: tuple[int, int] | None = None


class JournalMarks:
    """The marks of one run. `name` is that of the journal, for the user."""

    def __init__(self, broker: Address, name: str) -> None:
        self.gap: str | None = None
        self._broker = broker
        self._name = name
        self._sent: dict[Mark, tuple[int, int]] = {}  # times of sending and of the response, in our microseconds
        self._told: dict[Mark, int] = {}  # marks found in the journal, with the time of receipt, in the broker's ms

    @property
    def has_begun(self) -> bool:
        """Return True if the journal has one of the marks."""
        return bool(self._told)

    @property
    def is_over(self) -> bool:
        """Return True if the journal has both marks: later events are not of the run."""
        return len(self._sent) == 2 and self._told.keys() >= self._sent.keys()

    def send(self) -> None:
        """Send the next mark."""
        try:
            with Asker(*self._broker) as asker:
                sent_us = time.monotonic_ns() // 1000
                mark = asker.local, asker.probe()
                self._sent[mark] = sent_us, time.monotonic_ns() // 1000
        except WireError as error:
            self.gap = f"{error}"

    def see(self, event: JournalEvent, peer: str | None) -> bool:
        """Return True if the event is a mark."""
        if not isinstance(event, Request) or event.api != "ApiVersions":
            return False
        mark = (peer or "", event.correlation_id)
        if mark in self._sent:
            self._told[mark] = event.received_mono_ms
        return mark in self._sent

    def guarded(self, do: Callable[[], None]) -> None:
        """Call `do`, unless there is a problem already. Keep the problem that it raises."""
        if self.gap is None:
            try:
                do()
            except JournalGap as gap:
                self.gap = str(gap)
            except (ControlCallError, KeyError, TypeError, ValueError) as error:
                self.gap = f"{self._name} fails: {error}"

    def await_both(
        self, take: Callable[[], None], within_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take events until both marks are seen, there is a problem, or the time is over."""
        deadline = time.monotonic() + within_s
        while self.gap is None:
            self.guarded(take)
            if self.is_over:
                return
            if time.monotonic() > deadline:
                self.gap = (
                    self.gap or f"{self._name} tells {'not all' if self._told else 'nothing'} of what this run sent"
                )
            sleep(POLL_S)

    def found(self, rows: int) -> JournalResult:
        """Return the result for the journal with so many rows."""
        if self.gap is not None or not self.is_over:
            return JournalResult(why_not=self.gap or "the run did not get to its end")
        return JournalResult(rows, ahead_us=self._ahead_us())

    def _ahead_us(self) -> tuple[int, int]:
        """Return the bounds that both marks give. The broker's milliseconds are rounded down."""
        both = [(self._told[mark] * 1000, *times_us) for mark, times_us in self._sent.items()]
        least = max(received_us - 1000 - answered_us for received_us, _, answered_us in both)
        return least, min(received_us - sent_us for received_us, sent_us, _ in both)
