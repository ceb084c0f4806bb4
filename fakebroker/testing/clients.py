"""The clients of a simulated cluster: models of different behaviours.

    well-behaved    one request at a time; retries retriable errors with the same bytes
    pipelining      up to five requests on one connection, idempotent like Kafka's producers
    impatient       waits a third of the requested timeout, then closes the connection and sends again
    disconnecting   closes its connection right after every third request, and never sees the response
    malformed       like well-behaved, but with invalid bytes wherever its plan says so
    transactional   pipelining with transactional batches; it writes the transaction markers itself, like a coordinator

Every second client of a model is an idempotent producer; all pipelining ones are. After an error for its sequence or
epoch, a producer continues with the next epoch from sequence 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.testing import wire
from fakebroker.testing.messages import (
    ClientBatch,
    ClientFetch,
    ClientProduce,
    Garbage,
    Key,
    MarkersRequest,
    Request,
    RuleErrorCode,
)
from fakebroker.testing.plan import MAX_CLIENTS, MODELS
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.simulation import START_WALL_MS, SimulatedClient
from fakebroker.testing.transactions.txn_markers import write_markers

RETRIABLE = frozenset(
    {
        RuleErrorCode.UNKNOWN_TOPIC,
        RuleErrorCode.NOT_LEADER,
        RuleErrorCode.TIMED_OUT,
        RuleErrorCode.NOT_ENOUGH,
        RuleErrorCode.NOT_ENOUGH_AFTER,
    }
)
MAX_RETRIES = 2
IN_FLIGHT = 5
FIRST_PRODUCER_ID = 1_000
MARKERS_TIMEOUT_MS = 1_500  # request.timeout.ms of the brokers


class Surroundings(Protocol):
    """The interface of the run for its clients."""

    @property
    def now_ms(self) -> int: ...
    def next_number(self) -> int: ...
    def leader_of(self, key: Key) -> int: ...
    def connect(self, client: ModelClient, broker: int) -> SimulatedClient: ...
    def send(self, link: SimulatedClient, requests: Sequence[tuple[Request, bytes]]) -> None: ...
    def disconnect(self, link: SimulatedClient) -> None: ...


class InFlightProduce:
    """A Produce request in flight, with what is needed to send it again."""

    def __init__(
        self, request: ClientProduce, records: dict[Key, bytes], retries_left: int, gives_up_ms: int | None
    ) -> None:
        self.request, self.records = request, records
        self.retries_left, self.gives_up_ms = retries_left, gives_up_ms
        self.link: SimulatedClient | None = None


class ModelClient:
    """A client. `links` are its connections by broker, `leaders` the leaders as it knows them."""

    def __init__(self, number: int, around: Surroundings) -> None:
        self.number, self.around = number, around
        self.is_transactional = number >= MAX_CLIENTS
        self.transactional_id = f"tx{number}" if self.is_transactional else ""
        self.model = "pipelining" if self.is_transactional else MODELS[number % len(MODELS)]
        self.is_idempotent = self.model == "pipelining" or number >= len(MODELS)
        self.is_impatient = self.model == "impatient"
        self.links: dict[int, SimulatedClient] = {}
        self.leaders: dict[Key, int] = {}
        self.sent: dict[int, InFlightProduce] = {}
        self.sequences: dict[Key, int] = {}
        self.epoch = self.count = 0

    # Actions of a plan.

    def produce(self, acks: int, timeout_ms: int, keys: Sequence[Key], count: int, fault: str) -> None:
        """Send a request to each broker that the client takes for the leader of some of these partitions."""
        if len(self.sent) >= (IN_FLIGHT if self.model == "pipelining" else 1):
            return
        for broker, led in self._by_broker(keys).items():
            self._send(broker, [self._new(acks, timeout_ms, led, count, fault if self.model == "malformed" else "")])

    def burst(self, acks: int, timeout_ms: int, key: Key, requests: int) -> int:
        """Send requests in one write. Return their number."""
        room = (IN_FLIGHT if self.model == "pipelining" else 1) - len(self.sent)
        made = [self._new(acks, timeout_ms, [key], 1, "") for _ in range(min(requests, room))]
        if made:
            self._send(self._leader(key), made)
        return len(made)

    def reaches(self, key: Key) -> bool:
        """Return True if the client has a connection to the broker that it takes for the leader."""
        link = self.links.get(self.leaders.get(key, NOBODY))
        return link is not None and link.closed is None

    def fetch(self, key: Key, offset: int, max_wait_ms: int, is_committed: bool = False) -> None:
        request = ClientFetch(self.around.next_number(), key, offset, max_wait_ms, is_committed)
        link = self._link(self._leader(key))
        self.around.send(link, [(request, wire.fetch(request.number, *key, offset, max_wait_ms, is_committed))])

    def end(self, commits: bool, is_fenced: bool, keys: Sequence[Key]) -> None:
        """Write transaction markers that end its transaction. `is_fenced`: they have the next epoch, in which the
        client continues."""
        if is_fenced:
            self._next_epoch()
        producer_id = FIRST_PRODUCER_ID + self.number
        ident = wire.marker_ident(producer_id, self.epoch, commits)
        marker = ClientBatch(ident, 1, (producer_id, self.epoch, -1), is_transactional=True, commits=commits)
        for broker, led in self._by_broker(keys).items():
            request = MarkersRequest(
                self.around.next_number(), -1, MARKERS_TIMEOUT_MS, tuple((key, marker) for key in led)
            )
            frame = write_markers(request.number, producer_id, self.epoch, commits, led)
            self.around.send(self._link(broker), [(request, frame)])

    def garbage(self, kind: str, broker: int) -> None:
        number = self.around.next_number()
        request = Garbage(number, is_frame=not kind.endswith("size"))
        self.around.send(self._link(broker), [(request, wire.garbage(kind))])

    def disconnect(self) -> None:
        for link in self.links.values():
            if link.closed is None:
                self.around.disconnect(link)
        self.links.clear()
        self.sent.clear()

    # Events.

    def on_produced(self, number: int, result: Sequence[wire.PartitionResult]) -> None:
        """Handle the response to a Produce request."""
        sent = self.sent.pop(number, None)
        again = []
        for key, error, _ in result:
            if error in (RuleErrorCode.OUT_OF_ORDER, RuleErrorCode.INVALID_EPOCH):
                self._next_epoch()
            if error in (RuleErrorCode.NOT_LEADER, RuleErrorCode.UNKNOWN_TOPIC):
                self.leaders.pop(key, None)
            if error in RETRIABLE:
                again.append(key)
        if sent is not None and again:
            self._retry(sent, again)

    def on_closed(self, link: SimulatedClient) -> None:
        """Send again all requests of a connection that the broker closed."""
        lost = [number for number, sent in self.sent.items() if sent.link is link]
        for sent in [self.sent.pop(number) for number in lost]:
            self.leaders.clear()
            self._retry(sent, list(sent.records))

    def next_wake_ms(self) -> int | None:
        """Return when the patience of an impatient client ends, None for all others."""
        return min((sent.gives_up_ms for sent in self.sent.values() if sent.gives_up_ms is not None), default=None)

    def wake(self) -> None:
        """Close and send again what has waited long enough."""
        now_ms = self.around.now_ms
        late = [sent for sent in self.sent.values() if sent.gives_up_ms is not None and sent.gives_up_ms <= now_ms]
        for sent in late:
            self.sent.pop(sent.request.number, None)
            if sent.link is not None and sent.link.closed is None:
                self._drop(sent.link)
            self._retry(sent, list(sent.records))

    def _new(self, acks: int, timeout_ms: int, keys: Sequence[Key], count: int, fault: str) -> InFlightProduce:
        records, parts = {}, []
        for key in keys:
            data, batch = self._batch(key, count, fault)
            records[key] = data
            parts.append((key, batch))
        return self._sent(acks, timeout_ms, parts, records, MAX_RETRIES)

    def _sent(
        self,
        acks: int,
        timeout_ms: int,
        parts: Sequence[tuple[Key, ClientBatch]],
        records: dict[Key, bytes],
        retries_left: int,
    ) -> InFlightProduce:
        request = ClientProduce(self.around.next_number(), acks, timeout_ms, tuple(parts))
        patience = self.around.now_ms + max(timeout_ms // 3, 1) if self.is_impatient and acks else None
        return InFlightProduce(request, records, retries_left, patience)

    def _batch(self, key: Key, count: int, fault: str) -> tuple[bytes, ClientBatch]:
        self.count += 1
        value = b"%d/%d" % (self.number, self.count)
        if fault or not self.is_idempotent:
            data = wire.batch(value, count, START_WALL_MS)
            return damaged(data, fault), ClientBatch(wire.ident(data), count, None, fault)
        first = self.sequences.get(key, 0)
        self.sequences[key] = first + count
        producer_id = FIRST_PRODUCER_ID + self.number
        attributes = TRANSACTIONAL_FLAG if self.is_transactional else 0
        data = wire.batch(value, count, START_WALL_MS, producer_id, self.epoch, first, attributes)
        producer = producer_id, self.epoch, first
        return data, ClientBatch(wire.ident(data), count, producer, is_transactional=self.is_transactional)

    def _next_epoch(self) -> None:
        self.epoch += 1
        self.sequences.clear()

    def _retry(self, sent: InFlightProduce, keys: Sequence[Key]) -> None:
        """Send the same batches again, each in a request to the broker that the client takes for the leader now."""
        request = sent.request
        if sent.retries_left == 0:
            if self.is_idempotent:
                self._next_epoch()
            return
        for broker, led in self._by_broker(keys).items():
            parts = [(key, batch) for key, batch in request.parts if key in led]
            records = {key: sent.records[key] for key in led}
            self._send(broker, [self._sent(request.acks, request.timeout_ms, parts, records, sent.retries_left - 1)])

    def _send(self, broker: int, made: Sequence[InFlightProduce]) -> None:
        link = self._link(broker)
        frames: list[tuple[Request, bytes]] = []
        for sent in made:
            sent.link = link
            request = sent.request
            if request.acks != 0:
                self.sent[request.number] = sent
            parts = [(key, sent.records[key]) for key, _ in request.parts]
            acks, timeout_ms = request.acks, request.timeout_ms
            frames.append((request, wire.produce(request.number, acks, timeout_ms, parts, self.transactional_id)))
        self.around.send(link, frames)
        if self.model == "disconnecting" and self.count % 3 == 0 and link.closed is None:
            self._drop(link)

    def _drop(self, link: SimulatedClient) -> None:
        """Close a connection, and forget its requests in flight."""
        self.sent = {number: sent for number, sent in self.sent.items() if sent.link is not link}
        self.links = {broker: other for broker, other in self.links.items() if other is not link}
        self.around.disconnect(link)

    def _by_broker(self, keys: Sequence[Key]) -> dict[int, list[Key]]:
        """Group partitions by the leaders as the client knows them."""
        by_broker: dict[int, list[Key]] = {}
        for key in keys:
            by_broker.setdefault(self._leader(key), []).append(key)
        return by_broker

    def _leader(self, key: Key) -> int:
        if key not in self.leaders:
            self.leaders[key] = self.around.leader_of(key)
        return self.leaders[key]

    def _link(self, broker: int) -> SimulatedClient:
        link = self.links.get(broker)
        if link is None or link.closed is not None:
            link = self.links[broker] = self.around.connect(self, broker)
        return link


def damaged(data: bytes, fault: str) -> bytes:
    """Return the batch with one defect; `plan.FAULTS` has the names."""
    match fault:
        case "":
            return data
        case "empty":
            return b""
        case "two batches":
            return data + data
        case "truncated":
            return data[:-1]
        case "crc":
            return data[:-1] + bytes([data[-1] ^ 1])
        case "no records":
            return wire.batch(b"", 0, START_WALL_MS)
    raise ValueError(f"there is no fault called {fault!r}")
