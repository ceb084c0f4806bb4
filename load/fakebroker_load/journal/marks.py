"""The marks of a run in the broker's journal: requests of our own before its first one and behind its last one.

Theory   What the journal has between the two is the run's, however the broker's clock stands to ours; and if both are
         there and nothing is missing in between, then what the journal does not tell did not happen. Without that
         nothing can be concluded from it, and the run is judged two ways: the requests and the log.
         The marks also show that it is this cluster's journal, and that it knows our connections by the addresses
         that they have here; and how the broker's clock stands to ours, since a mark is received after it was sent and
         before it was answered.
Errors   What goes wrong is kept in `gap`: a journal that cannot be had any more is no reason to end the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from fakebroker_load.control import ControlError
from fakebroker_load.journal.lines import Request, Told
from fakebroker_load.journal.taps import JournalGap
from fakebroker_load.log import Asker
from fakebroker_load.wire.client import WireError

SEEN_WITHIN_S = 10.0
POLL_S = 0.05

Address = tuple[str, int]
Mark = tuple[str, int]  # our address, and the correlation id


@dataclass(frozen=True)
class Found:
    """Of a run's journal: how many rows; or why there is none, as the end of a sentence. `ahead_us`: the broker's clock
    is ahead of our time.monotonic by so much, at least and at most."""

    rows: int = 0
    why_not: str | None = None
    ahead_us: tuple[int, int] | None = None


class Marks:
    """Those of one run. `name` is the journal's, for the user."""

    def __init__(self, broker: Address, name: str) -> None:
        self.gap: str | None = None
        self._broker = broker
        self._name = name
        self._sent: dict[Mark, tuple[int, int]] = {}  # when each was sent and answered, in our microseconds
        self._told: dict[Mark, int] = {}  # those that the journal tells of, and when they were received, in its ms

    @property
    def has_begun(self) -> bool:
        """The journal has told of one of them."""
        return bool(self._told)

    @property
    def is_over(self) -> bool:
        """It has told of both: what comes now is no longer the run's."""
        return len(self._sent) == 2 and self._told.keys() >= self._sent.keys()

    def send(self) -> None:
        """The next one."""
        try:
            with Asker(*self._broker) as asker:
                sent_us = time.monotonic_ns() // 1000
                mark = asker.local, asker.probe()
                self._sent[mark] = sent_us, time.monotonic_ns() // 1000
        except WireError as error:
            self.gap = f"{error}"

    def see(self, event: Told, peer: str | None) -> bool:
        """Return True if it is one of them."""
        if not isinstance(event, Request) or event.api != "ApiVersions":
            return False
        mark = (peer or "", event.correlation_id)
        if mark in self._sent:
            self._told[mark] = event.received_mono_ms
        return mark in self._sent

    def guarded(self, do: Callable[[], None]) -> None:
        """Do it, unless something has gone wrong already."""
        if self.gap is None:
            try:
                do()
            except JournalGap as gap:
                self.gap = str(gap)
            except (ControlError, KeyError, TypeError, ValueError) as error:
                self.gap = f"{self._name} fails: {error}"

    def await_both(
        self, take: Callable[[], None], within_s: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take what the journal tells until both were seen, or something is wrong, or the time is over."""
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

    def found(self, rows: int) -> Found:
        """What came of the journal, with so many rows of it."""
        if self.gap is not None or not self.is_over:
            return Found(why_not=self.gap or "the run did not get to its end")
        return Found(rows, ahead_us=self._ahead_us())

    def _ahead_us(self) -> tuple[int, int]:
        """By both marks; the broker's milliseconds are whole ones."""
        both = [(self._told[mark] * 1000, *times_us) for mark, times_us in self._sent.items()]
        least = max(received_us - 1000 - answered_us for received_us, _, answered_us in both)
        return least, min(received_us - sent_us for received_us, sent_us, _ in both)
