"""The rules of requests in their simplest form: connections, parked requests, and what clients see.

Rules    connection   one request in hand; the next is handled when this one completes, and its timeout starts then

         acks=-1      NONE (20 if the ISR is below the minimum) once the high watermark has passed; 6 if the broker no
                      longer leads; 3 if the topic is gone; 7 exactly at handled + timeout. What is replicated at that
                      time counts as in time. A timeout of 0 or less ends before any follower fetches

         markers      like records with acks=-1, with a timeout of the broker's own
Units    milliseconds since the start; offsets count records. Error codes are Kafka's numbers.
Source   the rules of core/.../server/ReplicaManager.scala, DelayedProduce.scala, DelayedFetch.scala and
         core/.../network/SocketServer.scala @ 4.0, as described.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from fakebroker.testing.messages import (
    ClientFetch,
    ClientOutcome,
    ClientProduce,
    Garbage,
    Key,
    MarkersRequest,
    Request,
    RuleErrorCode,
    Violation,
)
from fakebroker.testing.oracle_partition import OraclePartition
from fakebroker.testing.rules.transactions import committed

RUNNING, PAUSED, STOPPING, STOPPED, KILLED, STARTING = "running", "paused", "stopping", "stopped", "killed", "starting"
REFUSED_FIRST = {"empty": 87, "two batches": 87, "truncated": 87}  # before the replica manager gets it


class OracleConnection:
    def __init__(self, broker: int) -> None:
        self.broker, self.is_open = broker, True
        self.queue: deque[Request] = deque()
        self.in_hand: int | None = None


class OracleParkedRequest:
    """A parked request of a broker. `pending` has the offsets that the high watermark must reach. `gone` are partitions
    deleted while the broker was paused, which it learns before it learns of a new topic of that name."""

    def __init__(
        self, request: ClientProduce | MarkersRequest | ClientFetch, connection: int, broker: int, deadline: int
    ) -> None:
        self.request, self.connection, self.broker, self.deadline = request, connection, broker, deadline
        self.pending: dict[Key, int] = {}
        self.decided: dict[Key, tuple[int, int]] = {}
        self.gone: set[Key] = set()
        self.is_done = False


class OracleBrokers:
    """The brokers and partitions, as far as requests depend on them. The oracle implements it."""

    now: int
    states: dict[int, str]
    partitions: dict[Key, OraclePartition]

    def writes(self, broker: int) -> None:
        """Record that the broker has handled a request that wrote records."""
        raise NotImplementedError


class OracleRequests:
    """The connections and their requests. `outcomes` are what clients must have seen since the last comparison."""

    def __init__(self, brokers: OracleBrokers) -> None:
        self.connections: dict[int, OracleConnection] = {}
        self.waiting: list[OracleParkedRequest] = []
        self.outcomes: list[ClientOutcome] = []
        self._brokers = brokers

    # Actions of clients.

    def connect(self, connection: int, broker: int) -> None:
        self.connections[connection] = OracleConnection(broker)
        if self._brokers.states[broker] not in (RUNNING, PAUSED, STOPPING):
            self._close(connection)

    def disconnect(self, connection: int) -> None:
        self.connections[connection].is_open = False
        self.connections[connection].queue.clear()

    def send(self, connection: int, *requests: Request) -> None:
        if self.connections[connection].is_open:
            self.connections[connection].queue.extend(requests)
            self._look_at(connection)

    # Actions of brokers.

    def handle(self, number: int) -> Request:
        """Handle the next request of a connection."""
        connection = self.connections[number]
        if not connection.is_open or connection.in_hand is not None or not connection.queue:
            raise Violation(f"a request of connection {number} is handled out of turn at {self._brokers.now} ms")
        request = connection.queue.popleft()
        connection.in_hand = request.number
        match request:
            case Garbage():
                self._close(number)
            case ClientFetch():
                self._fetch(number, connection.broker, request)
            case ClientProduce() | MarkersRequest():
                self._produce(number, connection.broker, request)
        return request

    def look(self) -> None:
        """Check all waiting requests again."""
        for waiting in self.waiting:
            if self._brokers.states[waiting.broker] != PAUSED:
                self._decide(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]

    def drop(self, broker: int) -> None:
        """Close the connections of a broker that has stopped, and forget its parked requests."""
        for number, connection in self.connections.items():
            if connection.broker == broker and connection.is_open:
                self._close(number)
        self.waiting = [waiting for waiting in self.waiting if waiting.broker != broker]

    def serve(self, broker: int) -> None:
        """Handle what was sent to a broker while it was paused, as far as it needs no handling by the broker."""
        for number, connection in self.connections.items():
            if connection.broker == broker and connection.is_open:
                self._look_at(number)

    def forget(self, topic: str) -> None:
        """Let the requests of paused brokers keep in mind that a topic is deleted."""
        for waiting in self.waiting:
            if self._brokers.states[waiting.broker] == PAUSED:
                request = waiting.request
                keys = [request.key] if isinstance(request, ClientFetch) else list(waiting.pending)
                waiting.gone.update(key for key in keys if key[0] == topic)

    def expire(self, brokers: Collection[int]) -> None:
        """Expire the requests at these brokers that have reached their deadline."""
        for waiting in [waiting for waiting in self.waiting if waiting.broker in brokers]:
            if waiting.deadline <= self._brokers.now:
                self._expire(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]

    def deadlines(self) -> list[int]:
        return [waiting.deadline for waiting in self.waiting if self._brokers.states[waiting.broker] != PAUSED]

    # Rules.

    def _look_at(self, number: int) -> None:
        """Close the connection if its next bytes are not a frame, as they need no handling."""
        connection = self.connections[number]
        if connection.in_hand is None and connection.queue and self._brokers.states[connection.broker] != PAUSED:
            first = connection.queue[0]
            if isinstance(first, Garbage) and not first.is_frame:
                self._close(number)

    def _produce(self, number: int, broker: int, request: ClientProduce | MarkersRequest) -> None:
        waiting = OracleParkedRequest(request, number, broker, self._brokers.now + max(request.timeout_ms, 0))
        appended: list[OraclePartition] = []
        for key, batch in request.parts:
            partition = self._brokers.partitions.get(key)
            if partition is None:
                waiting.decided[key] = RuleErrorCode.UNKNOWN_TOPIC, -1
            elif batch.fault in REFUSED_FIRST:
                waiting.decided[key] = REFUSED_FIRST[batch.fault], -1
            elif request.acks not in (-1, 0, 1):
                waiting.decided[key] = RuleErrorCode.INVALID_ACKS, -1
            elif partition.leader != broker:
                waiting.decided[key] = RuleErrorCode.NOT_LEADER, -1
            else:
                error, base = partition.append(batch, request.acks, self._brokers.now)
                waiting.decided[key] = error, base
                if error == RuleErrorCode.NONE:
                    appended.append(partition)
                    if request.acks == -1:
                        waiting.pending[key] = base + batch.size
        self._park(waiting, request.timeout_ms)
        self.look()
        if appended:
            self._brokers.writes(broker)
        for partition in appended:
            for follower, _ in partition.followers():
                partition.take(follower, self._brokers.now)
            self.look()

    def _fetch(self, number: int, broker: int, request: ClientFetch) -> None:
        deadline = self._brokers.now + request.max_wait_ms
        self._park(OracleParkedRequest(request, number, broker, deadline), request.max_wait_ms)
        self.look()

    def _park(self, waiting: OracleParkedRequest, timeout_ms: int) -> None:
        if timeout_ms > 0:
            self.waiting.append(waiting)
            return
        self._decide(waiting)
        if not waiting.is_done:
            self._expire(waiting)

    def _decide(self, waiting: OracleParkedRequest) -> None:
        if isinstance(waiting.request, ClientFetch):
            result, is_final = self._read(waiting.request, waiting.broker, waiting.gone)
            if is_final:
                self._answer(waiting, result)
            return
        for key, required in list(waiting.pending.items()):
            partition = None if key in waiting.gone else self._brokers.partitions.get(key)
            base = waiting.decided[key][1]
            if partition is None or partition.leader != waiting.broker:
                error = RuleErrorCode.UNKNOWN_TOPIC if partition is None else RuleErrorCode.NOT_LEADER
                waiting.decided[key] = error, base
            elif partition.watermark < required:
                continue
            elif len(partition.isr) < partition.min_isr:
                waiting.decided[key] = RuleErrorCode.NOT_ENOUGH_AFTER, base
            del waiting.pending[key]
        if not waiting.pending:
            self._answer_produce(waiting)

    def _read(self, request: ClientFetch, broker: int, gone: set[Key]) -> tuple[tuple[object, ...], bool]:
        """Return the result for a consumer, and whether it is final."""
        partition = None if request.key in gone else self._brokers.partitions.get(request.key)
        nothing: tuple[object, ...] = (-1, -1, ()) if request.is_committed else (-1, ())
        if partition is None or partition.leader != broker:
            return (RuleErrorCode.UNKNOWN_TOPIC if partition is None else RuleErrorCode.NOT_LEADER, *nothing), True
        if not 0 <= request.offset <= partition.replicas[partition.leader].end:
            return (RuleErrorCode.OUT_OF_RANGE, *nothing), True
        watermark = partition.watermark
        if request.is_committed:
            stable = partition.last_stable_offset
            is_any = any(logged.end > request.offset and logged.end <= stable for logged in partition.log)
            kept = committed(partition.log, request.offset, stable)
            return (RuleErrorCode.NONE, watermark, stable, kept), is_any or request.offset > stable
        idents = tuple(
            logged.batch.ident for logged in partition.log if logged.end > request.offset and logged.end <= watermark
        )
        return (RuleErrorCode.NONE, watermark, idents), bool(idents) or request.offset > watermark

    def _expire(self, waiting: OracleParkedRequest) -> None:
        if isinstance(waiting.request, ClientFetch):
            self._answer(waiting, self._read(waiting.request, waiting.broker, waiting.gone)[0])
            return
        for key in waiting.pending:
            waiting.decided[key] = RuleErrorCode.TIMED_OUT, waiting.decided[key][1]
        self._answer_produce(waiting)

    def _answer_produce(self, waiting: OracleParkedRequest) -> None:
        assert not isinstance(waiting.request, ClientFetch)
        waiting.is_done = True
        if isinstance(waiting.request, MarkersRequest):
            self._answer(waiting, tuple([(key, error, -1) for key, (error, _) in sorted(waiting.decided.items())]))
        elif waiting.request.acks != 0:
            self._answer(waiting, tuple([(key, error, base) for key, (error, base) in sorted(waiting.decided.items())]))
        elif any(error for error, _ in waiting.decided.values()):
            self._close(waiting.connection)
        else:
            self.connections[waiting.connection].in_hand = None
            self._look_at(waiting.connection)

    def _answer(self, waiting: OracleParkedRequest, result: tuple[object, ...]) -> None:
        waiting.is_done = True
        connection = self.connections[waiting.connection]
        connection.in_hand = None
        if connection.is_open:
            self.outcomes.append(ClientOutcome(waiting.connection, self._brokers.now, waiting.request.number, result))
            self._look_at(waiting.connection)

    def _close(self, number: int) -> None:
        self.disconnect(number)
        self.outcomes.append(ClientOutcome(number, self._brokers.now, -1, None))
