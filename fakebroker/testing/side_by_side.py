"""A simulated cluster and the oracle side by side: both get all actions, and their outcomes are compared.

Theory   Whenever the core has something to do, the oracle does it first. What clients saw must equal the outcomes of a
         world of the oracle, response by response and to the millisecond. The state must be equal too (`compare.py`).
Errors   `Violation`, with the place, the time and the first difference.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from fakebroker.core.journal.journal import Journal
from fakebroker.testing import wire
from fakebroker.testing.clients import ModelClient
from fakebroker.testing.compare import by_connection, outcome_difference, state_difference
from fakebroker.testing.connection_lifetime import ConnectionLifetime, lifetime_of
from fakebroker.testing.invariants import Invariants
from fakebroker.testing.messages import (
    ClientFetch,
    ClientOutcome,
    ClientProduce,
    Key,
    MarkersRequest,
    Request,
    Violation,
)
from fakebroker.testing.oracle import Oracle
from fakebroker.testing.plan import MAX_CLIENTS, MAX_TRANSACTIONAL
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.simulation import SimulatedClient, Simulation
from fakebroker.testing.transactions.txn_markers import read_committed_answer, read_markers_response
from fakebroker.testing.worlds import Worlds
from timingwheel.mypyc import mypyc_attr

MAX_CHAIN = 200  # reactions of clients to one event: more would be a loop


@mypyc_attr(allow_interpreted_subclasses=True)
class SideBySide:
    """The pair. `where` names the current step, for violations; `requests` counts those of all clients."""

    def __init__(
        self, brokers: int, config: dict[str, str], lag_max_ms: int, seed: int, look_every: int, journal: Journal | None
    ) -> None:
        self.where = ""
        self.requests = 0
        self.brokers = range(1, brokers + 1)
        self.simulation = Simulation(
            brokers,
            config=config,
            seed=seed,
            check_every=look_every,
            with_tape=True,
            journal=journal,
        )
        self.simulation.on_handling(self._handled)
        self.worlds = Worlds(Oracle(self.brokers, lag_max_ms))
        self.clients = [ModelClient(number, self) for number in range(MAX_CLIENTS + MAX_TRANSACTIONAL)]
        self._impatient = [client for client in self.clients if client.is_impatient]
        self._links: dict[int, tuple[SimulatedClient, ModelClient]] = {}
        self._asked: dict[int, Request] = {}
        self._number = 0
        self._invariants = Invariants(self.simulation)

    @property
    def now_ms(self) -> int:
        return self.simulation.elapsed_ms

    # Actions of clients (clients.Surroundings).

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def leader_of(self, key: Key) -> int:
        partition = self.worlds.open[0].partitions.get(key)
        return self.brokers[0] if partition is None or partition.leader == NOBODY else partition.leader

    def connect(self, client: ModelClient, broker: int) -> SimulatedClient:
        link = self.simulation.connect(broker)
        for world in self.worlds.open:
            world.requests.connect(link.number, broker)
        self._links[link.number] = link, client
        return link

    def send(self, link: SimulatedClient, requests: Sequence[tuple[Request, bytes]]) -> None:
        self.requests += len(requests)
        for request, _ in requests:
            self._asked[request.number] = request
        for world in self.worlds.open:
            world.requests.send(link.number, *(request for request, _ in requests))
        link.send(*(frame for _, frame in requests))

    def waits_at_broker(self, client: ModelClient) -> bool:
        """Return True if a request of the client is not handled yet."""
        connections = self.worlds.open[0].requests.connections
        return any(connections[link.number].queue for link in client.links.values())

    def disconnect(self, link: SimulatedClient) -> None:
        for world in self.worlds.open:
            world.requests.disconnect(link.number)
        link.disconnect()
        link.closed = link.closed or "the client has gone"

    # Time.

    def advance(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        self.settle()
        event_ms = self.simulation.next_event_ms()
        while True:
            wakes = [wake for client in self._impatient if (wake := client.next_wake_ms()) is not None]
            at_ms = min([end_ms, *wakes, *([] if event_ms is None else [event_ms])])
            at_ms = max(at_ms, self.now_ms)
            self.worlds.advance_to(at_ms)
            self.simulation.run_until(at_ms)
            self.settle()
            for client in self._impatient:
                client.wake()
            self.settle()
            event_ms = self.simulation.next_event_ms()
            if at_ms >= end_ms and (event_ms is None or event_ms > end_ms):
                return

    def _handled(self, number: int) -> None:
        request = self.worlds.handle(number)
        if isinstance(request, ClientProduce):
            self._invariants.handled(request)

    # Comparison.

    def settle(self) -> None:
        """Compare what clients saw with what they had to see, and let them react, until there is nothing new."""
        for _ in range(MAX_CHAIN):
            outcomes = self._compare_outcomes()
            if not outcomes:
                return
            for outcome in outcomes:
                self._tell(outcome)
        raise Violation(f"clients and broker do not come to rest at {self.now_ms} ms")

    def _tell(self, outcome: ClientOutcome) -> None:
        link, client = self._links[outcome.connection]
        if outcome.result is None:
            del self._links[outcome.connection]
            client.on_closed(link)
            return
        request = self._asked.pop(outcome.number)
        if isinstance(request, ClientProduce):
            result: Sequence[wire.PartitionResult] = outcome.result  # type: ignore[assignment]
            self._invariants.answered(request, result)
            client.on_produced(request.number, result)

    def _compare_outcomes(self) -> list[ClientOutcome]:
        seen = self._seen()
        if not seen and not any(world.requests.outcomes for world in self.worlds.open):
            return seen
        actual = sorted(seen, key=by_connection)
        expected = [sorted(world.requests.outcomes, key=by_connection) for world in self.worlds.open]
        self.worlds.keep([outcomes == actual for outcomes in expected])
        if not self.worlds.open:
            raise Violation(f"{self._where()}{outcome_difference(expected[0], actual)}")
        for world in self.worlds.open:
            world.requests.outcomes.clear()
        return seen

    def _seen(self) -> list[ClientOutcome]:
        """Return what clients saw since the last call."""
        seen: list[ClientOutcome] = []
        for at_ms, number, frame in self.simulation.arrivals:
            if frame is None:
                seen.append(ClientOutcome(number, at_ms, -1, None))
                continue
            answered = wire.correlation_id_of(frame)
            request = self._asked.get(answered)
            if request is None:
                raise Violation(
                    f"{self._where()}connection {number} got a response to {answered}, which it did not request"
                )
            seen.append(ClientOutcome(number, at_ms, answered, _read(request, frame)))
        self.simulation.arrivals.clear()
        return seen

    def check(self, closely: bool) -> None:
        """Check that the state is that of a world, and that the invariants hold."""
        links = [link for link, _ in self._links.values()]
        tasks = self._invariants.periodic_tasks
        differences = [state_difference(self.simulation, world, links, tasks, closely) for world in self.worlds.open]
        self.worlds.keep([difference is None for difference in differences])
        if not self.worlds.open:
            raise Violation(f"{self._where()}{differences[0]}")
        self.worlds.merge()
        self._invariants.check(closely)

    def nothing_is_left(self) -> None:
        """Check at the end, without clients, that nothing is left."""
        self._invariants.nothing_is_left()

    def forget_all(self) -> list[weakref.ref[ConnectionLifetime]]:
        """Drop all references to clients. Return weak references that live as long as their connections."""
        lifetimes = [lifetime_of(connection) for connection in self.simulation._clients]
        self.clients.clear()
        self._links.clear()
        self.simulation._clients.clear()
        return lifetimes

    def _where(self) -> str:
        return f"{self.where} at {self.now_ms} ms: "


def _read(request: Request, frame: bytes) -> tuple[object, ...]:
    if isinstance(request, ClientFetch):
        return read_committed_answer(frame) if request.is_committed else wire.read_fetch_answer(frame)
    return read_markers_response(frame) if isinstance(request, MarkersRequest) else wire.read_produce_answer(frame)
