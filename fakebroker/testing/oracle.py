"""The oracle: the responses of a Kafka cluster and their times, by a second, simple version of its rules.

Theory   There are no timers, watch lists, decoders or callbacks. Time is a number, and after every event each waiting
         request is checked again. It imports nothing from the broker, so the two agree only if both are right. The
         broker chooses the order in which it serves free connections: it reports each one (`handle`), and the oracle
         checks that it is allowed. worlds.py handles what the rules leave open.
Rules    connection   one request in hand; the next is handled when this one completes, and its timeout starts then

         acks=-1      NONE (20 if the ISR is below the minimum) once the high watermark has passed; 6 if the broker no
                      longer leads; 3 if the topic is gone; 7 exactly at handled + timeout. What is replicated at that
                      time counts as in time. A timeout of 0 or less ends before any follower fetches

         ISR          checked every half of the maximum lag
         markers      like records with acks=-1, with a timeout of the broker's own
         the rest     oracle_partition.py, rules/transactions.py
Units    milliseconds since the start; offsets count records. Error codes are Kafka's numbers.
Source   the rules of core/.../server/ReplicaManager.scala, DelayedProduce.scala, DelayedFetch.scala and
         core/.../network/SocketServer.scala @ 4.0, as described.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from fakebroker.testing.oracle_partition import INSTANT, OraclePartition
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.lives import PAUSED, RUNNING, STOPPING, BrokerLives, OracleConnection, OracleParkedRequest
from fakebroker.testing.rules.transactions import committed

REFUSED_FIRST = {"empty": 87, "two batches": 87, "truncated": 87}  # before the replica manager gets it


SESSION: Key = ("", 0)  # instead of a partition: the session of a broker ends


class Oracle(BrokerLives):
    """One world. `outcomes` are what clients must have seen since the last comparison."""

    def __init__(self, brokers: Sequence[int], lag_max_ms: int, session_ms: int = 9_000) -> None:
        super().__init__(brokers, session_ms)
        self.brokers, self.lag_max_ms = list(brokers), lag_max_ms
        self.next_tick = max(lag_max_ms // 2, 1)
        self.default_lag: int | None = INSTANT
        self.outcomes: list[ClientOutcome] = []

    # Actions of users.

    def create_topic(self, topic: str, partitions: int, replicas: int, min_isr: int, unclean: bool = False) -> None:
        alive = [b for b in self.brokers if b in self.alive]
        dead = [b for b in self.brokers if b not in self.alive | self.going]
        for index in range(partitions):
            turned = [names[(index + i) % len(names)] for names in (alive, dead) for i in range(len(names))]
            partition = OraclePartition(turned[:replicas], self.alive, min_isr, unclean, self.lag_max_ms, self.working)
            for replica in partition.replicas.values():
                replica.lag_ms = self.default_lag
            in_sync = [b for b in partition.replicas if b in self.alive]
            partition.lead(in_sync[0], set(in_sync), self.now)
            self.partitions[topic, index] = partition
        self.all_partitions = list(self.partitions.values())

    def delete_topic(self, topic: str) -> None:
        for waiting in self.waiting:
            if self.states[waiting.broker] == PAUSED:
                request = waiting.request
                keys = [request.key] if isinstance(request, ClientFetch) else list(waiting.pending)
                waiting.gone.update(key for key in keys if key[0] == topic)
        self.forget(topic)
        self.partitions = {key: partition for key, partition in self.partitions.items() if key[0] != topic}
        self.all_partitions = list(self.partitions.values())
        self.look()

    def selected(self, topic: str | None, index: int | None, broker: int | None) -> list[tuple[OraclePartition, int]]:
        return [
            (partition, who)
            for (name, number), partition in self.partitions.items()
            if topic in (None, name) and index in (None, number)
            for who in partition.replicas
            if broker in (None, who)
        ]

    def set_followers(self, lag_ms: int | None, topic: str | None, index: int | None, broker: int | None) -> None:
        if (topic, index, broker) == (None, None, None):
            self.default_lag = lag_ms
        for partition, who in self.selected(topic, index, broker):
            replica = partition.replicas[who]
            replica.lag_ms = lag_ms
            replica.under_way.clear()
            is_following = who in (b for b, _ in partition.followers())
            if is_following and replica.end < partition.replicas[partition.leader].end:
                partition.take(who, self.now)
        self.look()

    def move_leader(self, key: Key, broker: int) -> None:
        partition = self.partitions[key]
        if partition.leader != broker:
            partition.lead(broker, partition.isr, self.now)
        self.look()

    # Actions of clients.

    def connect(self, connection: int, broker: int) -> None:
        self.connections[connection] = OracleConnection(broker)
        if self.states[broker] not in (RUNNING, PAUSED, STOPPING):
            self.close(connection)

    def disconnect(self, connection: int) -> None:
        self.connections[connection].is_open = False
        self.connections[connection].queue.clear()

    def send(self, connection: int, *requests: Request) -> None:
        if self.connections[connection].is_open:
            self.connections[connection].queue.extend(requests)
            self.look_at(connection)

    def look_at(self, number: int) -> None:
        """Close the connection if its next bytes are not a frame, as they need no handling."""
        connection = self.connections[number]
        if connection.in_hand is None and connection.queue and self.states[connection.broker] != PAUSED:
            first = connection.queue[0]
            if isinstance(first, Garbage) and not first.is_frame:
                self.close(number)

    # Actions of the broker.

    def handle(self, number: int) -> Request:
        """Handle the next request of a connection."""
        connection = self.connections[number]
        if not connection.is_open or connection.in_hand is not None or not connection.queue:
            raise Violation(f"a request of connection {number} is handled out of turn at {self.now} ms")
        request = connection.queue.popleft()
        connection.in_hand = request.number
        match request:
            case Garbage():
                self.close(number)
            case ClientFetch():
                self._fetch(number, connection.broker, request)
            case ClientProduce() | MarkersRequest():
                self._produce(number, connection.broker, request)
        return request

    def _produce(self, number: int, broker: int, request: ClientProduce | MarkersRequest) -> None:
        waiting = OracleParkedRequest(request, number, broker, self.now + max(request.timeout_ms, 0))
        appended: list[OraclePartition] = []
        for key, batch in request.parts:
            partition = self.partitions.get(key)
            if partition is None:
                waiting.decided[key] = RuleErrorCode.UNKNOWN_TOPIC, -1
            elif batch.fault in REFUSED_FIRST:
                waiting.decided[key] = REFUSED_FIRST[batch.fault], -1
            elif request.acks not in (-1, 0, 1):
                waiting.decided[key] = RuleErrorCode.INVALID_ACKS, -1
            elif partition.leader != broker:
                waiting.decided[key] = RuleErrorCode.NOT_LEADER, -1
            else:
                error, base = partition.append(batch, request.acks, self.now)
                waiting.decided[key] = error, base
                if error == RuleErrorCode.NONE:
                    appended.append(partition)
                    if request.acks == -1:
                        waiting.pending[key] = base + batch.size
        self._park(waiting, request.timeout_ms)
        self.look()
        if appended:
            self.writes(broker)
        for partition in appended:
            for follower, _ in partition.followers():
                partition.take(follower, self.now)
            self.look()

    def _fetch(self, number: int, broker: int, request: ClientFetch) -> None:
        self._park(OracleParkedRequest(request, number, broker, self.now + request.max_wait_ms), request.max_wait_ms)
        self.look()

    def _park(self, waiting: OracleParkedRequest, timeout_ms: int) -> None:
        if timeout_ms > 0:
            self.waiting.append(waiting)
            return
        self._decide(waiting)
        if not waiting.is_done:
            self.expire(waiting)

    def look(self) -> None:
        """Check all waiting requests again."""
        for waiting in self.waiting:
            if self.states[waiting.broker] != PAUSED:
                self._decide(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]

    def _decide(self, waiting: OracleParkedRequest) -> None:
        if isinstance(waiting.request, ClientFetch):
            result, is_final = self._read(waiting.request, waiting.broker, waiting.gone)
            if is_final:
                self._answer(waiting, result)
            return
        for key, required in list(waiting.pending.items()):
            partition = None if key in waiting.gone else self.partitions.get(key)
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
        partition = None if request.key in gone else self.partitions.get(request.key)
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

    def expire(self, waiting: OracleParkedRequest) -> None:
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
            self.close(waiting.connection)
        else:
            self.connections[waiting.connection].in_hand = None
            self.look_at(waiting.connection)

    def _answer(self, waiting: OracleParkedRequest, result: tuple[object, ...]) -> None:
        waiting.is_done = True
        connection = self.connections[waiting.connection]
        connection.in_hand = None
        if connection.is_open:
            self.outcomes.append(ClientOutcome(waiting.connection, self.now, waiting.request.number, result))
            self.look_at(waiting.connection)

    def close(self, number: int) -> None:
        self.disconnect(number)
        self.outcomes.append(ClientOutcome(number, self.now, -1, None))

    # Time.

    def next_due(self) -> int:
        times = [self.next_tick]
        times += [w.deadline for w in self.waiting if self.states[w.broker] != PAUSED]
        times += self.sessions.values()
        times += [r.under_way[0][0] for p in self.partitions.values() for r in p.replicas.values() if r.under_way]
        return min(times)

    def run(self, at: int, order: Sequence[tuple[Key, int]]) -> None:
        """Apply what is due now, in this order, then the timeouts."""
        self.now = at
        for key, broker in order:
            if key == SESSION:
                self.session_over(broker)
                continue
            partition = self.partitions[key]
            if broker == NOBODY:
                if lagging := partition.lagging(at):
                    partition.change_isr(partition.isr - lagging)
                    partition.move_watermark(at)
            else:
                under_way = partition.replicas[broker].under_way
                end = 0
                while under_way and under_way[0][0] <= at:
                    end = under_way.popleft()[1]
                partition.fetch(broker, end, at)
            self.look()
        if self.next_tick <= at:
            self.next_tick += max(self.lag_max_ms // 2, 1)
        for waiting in [waiting for waiting in self.waiting if waiting.deadline <= at]:
            if self.states[waiting.broker] != PAUSED:
                self.expire(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]
