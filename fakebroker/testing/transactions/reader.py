"""A simulated consumer without a group: it reads each partition from its beginning, in order, committed data or all.

Theory   Like Kafka's consumers it gets batches and a list of aborted transactions, and removes their records itself.
         `check` gets every response with its request; the judge gets the records that are kept.
Units    milliseconds since the start of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.testing import wire
from fakebroker.testing.actors.simulated_connection import SimulatedConnection
from fakebroker.testing.simulation import Simulation
from fakebroker.testing.transactions import frames
from fakebroker.testing.transactions.frames import PartitionFetchResult, Place
from fakebroker.testing.transactions.judge import TransactionHistory
from fakebroker.testing.transactions.oracle import batches_in, committed
from fakebroker.testing.wire import FETCH

REQUEST_MS, BACKOFF_MS, WAIT_MS = 4_000, 100, 500
_MAX_BYTES = 400  # per response: a few batches, so that readers stop inside transactions


class ReaderFetch(NamedTuple):
    """A Fetch, with the leader and leader epoch at that time."""

    place: Place
    offset: int
    is_committed: bool
    broker: int
    leader_epoch: int


class Reader:
    """A reader. `positions` are the next offsets to read."""

    def __init__(
        self,
        name: str,
        simulation: Simulation,
        history: TransactionHistory,
        places: Sequence[Place],
        is_committed: bool,
        check: Callable[[ReaderFetch, PartitionFetchResult], None] = lambda request, fetched: None,
    ) -> None:
        self.name, self.places, self.is_committed = name, list(places), is_committed
        self.positions = dict.fromkeys(self.places, 0)
        self.kept: dict[Place, list[tuple[int, bytes]]] = {place: [] for place in self.places}
        self.is_paused = False
        self._simulation, self._history, self._check = simulation, history, check
        self._connection = SimulatedConnection(simulation)
        self._asked: ReaderFetch | None = None
        self._turn = self._not_before_ms = 0

    def act(self) -> bool:
        """Handle the response and fetch more. Return True if there was anything to do."""
        if self.is_paused:
            return False
        did = False
        answer = self._connection.take()
        if answer is not None:
            did = True
            if answer.frame is None:
                self._not_before_ms = self._simulation.elapsed_ms + BACKOFF_MS
            else:
                self._on_fetched(frames.fetched(answer.frame))
        if self._connection.is_idle and self._simulation.elapsed_ms >= self._not_before_ms:
            did = self._ask() or did
        return did

    def next_wake_ms(self) -> int | None:
        if self.is_paused:
            return None
        at_ms = self._not_before_ms if self._connection.is_idle else self._connection.gives_up_ms
        return at_ms if at_ms is not None and at_ms > self._simulation.elapsed_ms else None

    def _ask(self) -> bool:
        self._turn += 1
        place = self.places[self._turn % len(self.places)]
        partition = self._simulation.partition(*place)
        if partition.leader_id < 0:
            self._not_before_ms = self._simulation.elapsed_ms + BACKOFF_MS
            return False
        offset = self.positions[place]
        self._asked = ReaderFetch(place, offset, self.is_committed, partition.leader_id, partition.leader_epoch)
        frame = wire.fetch(self._turn, *place, offset, WAIT_MS, self.is_committed, _MAX_BYTES)
        self._connection.ask(partition.leader_id, FETCH, frame, REQUEST_MS)
        return True

    def _on_fetched(self, fetched: PartitionFetchResult) -> None:
        request = self._asked
        assert request is not None
        if fetched.error:
            self._not_before_ms = self._simulation.elapsed_ms + BACKOFF_MS
            return
        batches = batches_in(fetched.records)
        if self.is_committed:
            kept = committed(batches, fetched.aborted, request.offset)
        else:
            values = [record for batch in batches for record in enumerate(batch.values, batch.base)]
            kept = [record for record in values if record[0] >= request.offset]
        for offset, value in kept:
            self._history.reads(self.name, request.place, offset, value, fetched.watermark, self.is_committed)
        self.kept[request.place] += kept
        if batches:
            self.positions[request.place] = batches[-1].last + 1
        self._history.passes(self.name, request.place, self.positions[request.place], self.is_committed)
        self._check(request, fetched)
