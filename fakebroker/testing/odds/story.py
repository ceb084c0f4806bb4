"""The story of a trial, as lines in the order of time: failures, leaders, and lost records.

Units    the time of a line is hours, minutes, seconds and milliseconds since the start of the trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.core.journal.events import Event, IsrChanged, LeaderChanged
from fakebroker.testing.simulation import Simulation

MOST_LOST: Final = 10  # of these one line each


class Story:
    """The lines. It listens for leaders and ISRs by itself."""

    def __init__(self, simulation: Simulation) -> None:
        self._told: list[tuple[int, str]] = []
        self._untold = 0  # the number of further lost records
        self._simulation = simulation
        simulation.cluster.probe.listen(self._hear, IsrChanged, LeaderChanged)

    def lines(self) -> list[str]:
        lines = [f"{clock(ms)} {what}" for ms, what in sorted(self._told, key=lambda entry: entry[0])]
        return [*lines, f"and {self._untold:,} records more are lost"] if self._untold else lines

    def tell(self, what: str) -> None:
        self._told.append((self._simulation.elapsed_ms, what))

    def lost(self, records: Sequence[tuple[int, int, int, int]]) -> None:
        """Add the lost records: number, partition, offset, and time of the acknowledgement of each."""
        for number, partition, offset, at_ms in records[:MOST_LOST]:
            what = f"is acknowledged as offset {offset} of" if offset >= 0 else "is sent to"
            self._told.append((at_ms, f"record {number} {what} partition {partition}, and is lost"))
        self._untold = max(0, len(records) - MOST_LOST)

    def _hear(self, event: Event, subject: object) -> None:
        if isinstance(event, IsrChanged | LeaderChanged):
            what, in_sync = f"partition {event.partition}: ", f"ISR {', '.join(map(str, event.isr))}"
            if isinstance(event, IsrChanged):
                self.tell(what + in_sync)
            elif event.leader < 0:
                self.tell(what + "no leader")
            else:
                self.tell(what + f"broker {event.leader} leads from offset {event.log_end_offset} on, {in_sync}")


def clock(ms: int) -> str:
    seconds, ms = divmod(ms, 1_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}.{ms:03}"
