"""The part of the recorder that records events of faults."""

from __future__ import annotations

from fakebroker.core.clock import HasNow
from fakebroker.core.journal import fault_events
from fakebroker.core.journal.broker_recorder import BrokerRecorder
from fakebroker.core.journal.journal import Journal


class FaultRecorder(BrokerRecorder):
    """A recorder of fault events. `faults_of` has the faults that fired on the request in hand, by connection."""

    def __init__(self, journal: Journal, clock: HasNow) -> None:
        super().__init__(journal, clock)
        self.faults_of: dict[int, list[str]] = {}

    def fault_added(self, fault: str, text: str) -> None:
        self._record(fault_events.FaultAdded, fault, text)

    def fault_fired(self, fault: str, connection: int, at: str, done: str) -> None:
        self.faults_of.setdefault(connection, []).append(f"fault {fault}: {done} {at}")
        self._record(fault_events.FaultFired, fault, self.request_of(connection), connection, at, done)

    def fault_removed(self, fault: str, hits: int, reason: str) -> None:
        self._record(fault_events.FaultRemoved, fault, hits, reason)

    def request_of(self, connection: int) -> int:
        """Return the number of the request that a connection has in hand; 0 if it has none."""
        raise NotImplementedError
