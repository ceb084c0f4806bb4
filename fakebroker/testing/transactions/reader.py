"""A simulated consumer without a group. It reads each partition from its beginning, in order.

Theory   A Fetch response has batches and a list of aborted transactions. Like Kafka's consumers, a reader of committed
         data drops the records of these transactions itself. `check` gets every response without an error, with its
         request. The judge gets the records that are kept.
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
    """A Fetch, and the leader and leader epoch when it was sent. `is_committed`: only committed data is wanted."""

    place: Place
    offset: int
    is_committed: bool
    broker: int
    leader_epoch: int


class Reader:
    """A reader of `places`, one Fetch at a time, each place in turn.

    is_committed  True for isolation.level=read_committed
    positions     the next offset to read, by place
    kept          offset and value of each record that the application would get, by place
    """

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
        self._request: ReaderFetch | None = None
        self._correlation_id = self._not_before_ms = 0

    def act(self) -> bool:
        """Handle a response, and send the next Fetch if none is in flight. Return True if there was anything to do."""
        if self.is_paused:
            return False
        has_acted = False
        response = self._connection.take()
        if response is not None:
            has_acted = True
            if response.frame is None:
                self._back_off()
            else:
                self._on_fetched(frames.fetched(response.frame))
        if self._connection.is_idle and self._simulation.elapsed_ms >= self._not_before_ms:
            has_acted = self._fetch_next() or has_acted
        return has_acted

    def next_wake_ms(self) -> int | None:
        if self.is_paused:
            return None
        at_ms = self._not_before_ms if self._connection.is_idle else self._connection.gives_up_ms
        return at_ms if at_ms is not None and at_ms > self._simulation.elapsed_ms else None

    def _back_off(self) -> None:
        self._not_before_ms = self._simulation.elapsed_ms + BACKOFF_MS

    def _fetch_next(self) -> bool:
        self._correlation_id += 1
        place = self.places[self._correlation_id % len(self.places)]
        partition = self._simulation.partition(*place)
        if partition.leader_id < 0:
            self._back_off()
            return False
        offset = self.positions[place]
        self._request = ReaderFetch(place, offset, self.is_committed, partition.leader_id, partition.leader_epoch)
        frame = wire.fetch(self._correlation_id, *place, offset, WAIT_MS, self.is_committed, _MAX_BYTES)
        self._connection.ask(partition.leader_id, FETCH, frame, REQUEST_MS)
        return True

    def _on_fetched(self, fetched: PartitionFetchResult) -> None:
        request = self._request
        assert request is not None
        if fetched.error:
            self._back_off()
            return
        batches = batches_in(fetched.records)
        kept = committed(batches, fetched.aborted if self.is_committed else (), request.offset)
        for offset, value in kept:
            self._history.reads(self.name, request.place, offset, value, fetched.watermark, self.is_committed)
        self.kept[request.place] += kept
        if batches:
            self.positions[request.place] = batches[-1].last + 1
        self._history.passes(self.name, request.place, self.positions[request.place], self.is_committed)
        self._check(request, fetched)
