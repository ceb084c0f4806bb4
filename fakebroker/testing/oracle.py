"""What a Kafka cluster must answer, and when: the rules of produce and replication once more, as simply as they can be.

Theory   No timers, watch lists, decoders or callbacks: a partition is lists of batches, time is a number, and after every
         event each request that waits is looked at again. It imports nothing of the broker, so the two agree only if
         both are right. The order in which free connections are served is the broker's choice: it tells (`handle`), and
         is held to what is allowed. Events of one partition at the same millisecond have no order by the rules; where
         that matters the oracle goes on in several worlds (`Oracles`), and those that are contradicted end.
Rules    connection   one request in hand; the next is handled in the moment that one is answered, and its timeout starts
         append       ISR below the minimum and acks=-1: 19. Then the batch, its producer, the log
         producer     the same (first, last) among the last five of its epoch: the old offset. Else it must continue: 45; 47
         watermark    the least log end of the leader, the ISR, and those caught up within the lag who may join it; only
                      upwards; not while the ISR is below the minimum
         acks=-1      NONE (20 if the ISR is below the minimum) once the watermark has passed; 6 if the broker leads no
                      more; 3 if the topic is gone; 7 exactly at handled + timeout, what was replicated then counting as
                      in time, and a timeout of 0 or less being over before any follower fetches
         ISR          every lag/2: out goes who lacks something and was last caught up more than lag ago; in comes who
                      has reached the watermark and the start of the leadership
         election     the first replica in order of assignment that is alive and in the ISR; followers drop what the
                      leader does not have
Units    milliseconds since the start; offsets count records. Error codes are Kafka's numbers.
Source   the rules of core/.../server/ReplicaManager.scala, core/.../cluster/Partition.scala, DelayedProduce.scala and
         storage/.../log/ProducerStateManager.java @ 4.0, as described; ElectionStrategy of KRaft.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import permutations, product
from typing import NamedTuple

NONE, OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, TIMED_OUT = 0, 1, 3, 6, 7
NOT_ENOUGH, NOT_ENOUGH_AFTER, INVALID_ACKS, OUT_OF_ORDER, INVALID_EPOCH = 19, 20, 21, 45, 47
# What is wrong with a batch, and how it is refused: before the replica manager sees it, or by the leader's log.
REFUSED_FIRST = {"empty": 87, "two batches": 87, "truncated": 87}
REFUSED_BY_LOG = {"crc": 2, "no records": 87}
INSTANT, FROZEN = -1, None  # what a follower does, or its lag
NEVER = -(1 << 62)
NOBODY = -1
CACHED_BATCHES = 5
SEQUENCES = 1 << 31

Key = tuple[str, int]  # topic and partition


class Violation(AssertionError):
    """The broker did what no rule allows, or did not what one demands."""


class Batch(NamedTuple):
    """What a producer sends: `ident` tells it from all others, `producer` is (id, epoch, first sequence)."""

    ident: bytes
    count: int = 1
    producer: tuple[int, int, int] | None = None
    fault: str = ""


class Produce(NamedTuple):
    number: int
    acks: int
    timeout_ms: int
    parts: tuple[tuple[Key, Batch], ...]


class Fetch(NamedTuple):
    """Of a consumer, from the leader, of at least one byte."""

    number: int
    key: Key
    offset: int
    max_wait_ms: int


class Garbage(NamedTuple):
    """What closes the connection when its turn comes; if it is no frame, nobody takes it in hand before."""

    number: int
    is_frame: bool = True


Request = Produce | Fetch | Garbage


class Outcome(NamedTuple):
    """What a client sees. `result` is (key, error, base offset) by partition of a Produce, (error, watermark, idents) of
    a Fetch, and None if the connection is closed."""

    connection: int
    at_ms: int
    number: int
    result: tuple[object, ...] | None


class Logged(NamedTuple):
    base: int
    batch: Batch
    epoch: int
    at_ms: int

    @property
    def end(self) -> int:
        return self.base + self.batch.count


class Replica:
    """One log, and what the leader knows of it: `known` end, and when it last had everything."""

    def __init__(self, lag_ms: int | None) -> None:
        self.log: list[Logged] = []
        self.watermark = 0
        self.known: int | None = None
        self.caught_up = NEVER
        self.lag_ms = lag_ms
        self.under_way: deque[tuple[int, int]] = deque()  # (arrives, log end)

    @property
    def end(self) -> int:
        return self.log[-1].end if self.log else 0


class Partition:
    def __init__(self, replicas: Sequence[int], alive: set[int], min_isr: int, unclean: bool, lag_max_ms: int) -> None:
        self.replicas: dict[int, Replica] = {broker: Replica(INSTANT) for broker in replicas}
        self.alive, self.lag_max_ms, self.unclean = alive, lag_max_ms, unclean
        self.min_isr = min(min_isr, len(replicas))
        self.leader, self.epoch, self.epoch_start = NOBODY, -1, 0
        self.isr: set[int] = set()

    @property
    def log(self) -> list[Logged]:
        return self.replicas[self.leader].log

    @property
    def watermark(self) -> int:
        return self.replicas[self.leader].watermark

    def followers(self) -> Iterator[tuple[int, Replica]]:
        """Those that are alive."""
        if self.leader != NOBODY:
            yield from ((b, r) for b, r in self.replicas.items() if b != self.leader and b in self.alive)

    def lead(self, broker: int, isr: set[int], now: int) -> None:
        self.leader, self.isr = broker, set(isr)
        self.epoch += 1
        self.epoch_start = self.replicas[broker].end
        for other, replica in self.replicas.items():
            replica.known, replica.caught_up = None, now if other in isr else NEVER
            replica.under_way.clear()
        self.move_watermark(now)
        for other, _ in self.followers():
            self.start_over(other, now)

    def elect(self, target: set[int], now: int) -> None:
        living = [broker for broker in self.replicas if broker in self.alive]
        candidates = [broker for broker in living if broker in target]
        if self.leader in candidates:
            self.isr = set(target)
            self.move_watermark(now)
        elif candidates:
            self.lead(candidates[0], target, now)
        elif living and self.unclean:
            self.lead(living[0], {living[0]}, now)
        elif self.leader != NOBODY:
            self.leader, self.epoch = NOBODY, self.epoch + 1
            for replica in self.replicas.values():
                replica.under_way.clear()

    def start_over(self, broker: int, now: int) -> None:
        """A follower drops what the leader does not have, and fetches from there."""
        replica, leader = self.replicas[broker], self.log
        replica.under_way.clear()
        same = 0
        while same < min(len(replica.log), len(leader)) and replica.log[same][:3] == leader[same][:3]:
            same += 1
        del replica.log[same:]
        replica.watermark = min(replica.watermark, replica.end)
        self.fetch(broker, replica.end, now, resumes=True)
        self.take(broker, now)

    def take(self, broker: int, now: int) -> None:
        """A follower that lacks something copies it in its rhythm."""
        replica, end = self.replicas[broker], self.replicas[self.leader].end
        taken = replica.under_way[-1][1] if replica.under_way else replica.end
        if replica.lag_ms == INSTANT:
            self.fetch(broker, end, now)
        elif replica.lag_ms is not FROZEN and taken < end:
            replica.under_way.append((now + replica.lag_ms, end))

    def fetch(self, broker: int, up_to: int, now: int, resumes: bool = False) -> None:
        """A follower has everything below `up_to`, and says so."""
        replica = self.replicas[broker]
        replica.log += [logged for logged in self.log[len(replica.log) :] if logged.end <= up_to]
        replica.known = replica.end
        if replica.known == self.replicas[self.leader].end:
            replica.caught_up = now
        elif not resumes:
            replica.caught_up = max(replica.caught_up, self.log[len(replica.log)].at_ms)
        if broker not in self.isr and replica.known >= max(self.watermark, self.epoch_start):
            self.isr.add(broker)
        self.move_watermark(now)
        replica.watermark = min(self.watermark, replica.end)

    def is_caught_up(self, replica: Replica, now: int) -> bool:
        return replica.known == self.replicas[self.leader].end or now - replica.caught_up <= self.lag_max_ms

    def move_watermark(self, now: int) -> None:
        if len(self.isr) < self.min_isr:
            return
        leader = self.replicas[self.leader]
        ends = [leader.end]
        for broker, replica in self.replicas.items():
            may_join = broker in self.alive and replica.known is not None and self.is_caught_up(replica, now)
            if broker != self.leader and (broker in self.isr or may_join):
                ends.append(-1 if replica.known is None else replica.known)
        leader.watermark = max(leader.watermark, min(ends))
        for _, replica in self.followers():
            replica.watermark = max(replica.watermark, min(leader.watermark, replica.end))

    def lagging(self, now: int) -> set[int]:
        """Who must leave the ISR."""
        return {b for b, r in self.followers() if b in self.isr and not self.is_caught_up(r, now)}

    def append(self, batch: Batch, acks: int, now: int) -> tuple[int, int]:
        """(error, base offset)."""
        if acks == -1 and len(self.isr) < self.min_isr:
            return NOT_ENOUGH, -1
        if batch.fault:
            return REFUSED_BY_LOG[batch.fault], -1
        base = self.replicas[self.leader].end
        if batch.producer is not None:
            error, known_base = self._check_producer(batch)
            if known_base >= 0:
                self.move_watermark(now)
            if error or known_base >= 0:
                return error, known_base
        for _, replica in self.followers():
            if replica.known == base:
                replica.caught_up = max(replica.caught_up, now)
        self.log.append(Logged(base, batch, self.epoch, now))
        self.move_watermark(now)
        return NONE, base

    def _check_producer(self, batch: Batch) -> tuple[int, int]:
        """(error, offset of the same batch if it is there)."""
        assert batch.producer is not None
        producer, epoch, first = batch.producer
        known: list[tuple[int, int, int, int]] = []  # (epoch, first, count, base), the newest first
        for logged in reversed(self.log):
            if logged.batch.producer is not None and logged.batch.producer[0] == producer:
                known.append((*logged.batch.producer[1:], logged.batch.count, logged.base))
                if len(known) == CACHED_BATCHES:
                    break
        if not known:
            return NONE, -1
        last_epoch, last_first, last_count, _ = known[0]
        for entry in reversed(known):
            if entry[:3] == (epoch, first, batch.count) and epoch == last_epoch:
                return NONE, entry[3]
        if epoch < last_epoch:
            return INVALID_EPOCH, -1
        wanted = 0 if epoch > last_epoch else (last_first + last_count) % SEQUENCES
        return (NONE if first == wanted else OUT_OF_ORDER), -1


class Connection:
    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.queue: deque[Request] = deque()
        self.in_hand: int | None = None
        self.is_open = True


class Waiting:
    """A request in the purgatory of a broker."""

    def __init__(self, request: Produce | Fetch, connection: int, broker: int, deadline: int) -> None:
        self.request, self.connection, self.broker, self.deadline = request, connection, broker, deadline
        self.pending: dict[Key, int] = {}  # the offset that the watermark must reach
        self.decided: dict[Key, tuple[int, int]] = {}
        self.is_done = False


class Oracle:
    """One world. `outcomes` are what clients must have seen since they were last taken."""

    def __init__(self, brokers: Sequence[int], lag_max_ms: int) -> None:
        self.brokers, self.lag_max_ms = list(brokers), lag_max_ms
        self.alive = set(brokers)
        self.now = 0
        self.next_tick = max(lag_max_ms // 2, 1)
        self.partitions: dict[Key, Partition] = {}
        self.connections: dict[int, Connection] = {}
        self.waiting: list[Waiting] = []
        self.default_lag: int | None = INSTANT
        self.outcomes: list[Outcome] = []

    # What users do.

    def create_topic(self, topic: str, partitions: int, replicas: int, min_isr: int, unclean: bool = False) -> None:
        alive = [b for b in self.brokers if b in self.alive]
        dead = [b for b in self.brokers if b not in self.alive]
        for index in range(partitions):
            turned = [names[(index + i) % len(names)] for names in (alive, dead) for i in range(len(names))]
            partition = Partition(turned[:replicas], self.alive, min_isr, unclean, self.lag_max_ms)
            for replica in partition.replicas.values():
                replica.lag_ms = self.default_lag
            in_sync = [b for b in partition.replicas if b in self.alive]
            partition.lead(in_sync[0], set(in_sync), self.now)
            self.partitions[topic, index] = partition

    def delete_topic(self, topic: str) -> None:
        self.partitions = {key: partition for key, partition in self.partitions.items() if key[0] != topic}
        self.look()

    def selected(self, topic: str | None, index: int | None, broker: int | None) -> list[tuple[Partition, int]]:
        return [
            (partition, who)
            for (name, number), partition in self.partitions.items()
            if topic in (None, name) and index in (None, number)
            for who in partition.replicas
            if broker in (None, who)
        ]

    def set_followers(self, lag_ms: int | None, topic: str | None, index: int | None, broker: int | None) -> None:
        if topic is index is broker is None:
            self.default_lag = lag_ms
        for partition, who in self.selected(topic, index, broker):
            replica = partition.replicas[who]
            replica.lag_ms = lag_ms
            replica.under_way.clear()
            is_following = who in (b for b, _ in partition.followers())
            if is_following and replica.end < partition.replicas[partition.leader].end:
                partition.take(who, self.now)
        self.look()

    def stop(self, broker: int) -> None:
        for number, connection in self.connections.items():
            if connection.broker == broker and connection.is_open:
                self._close(number)
        self.waiting = [waiting for waiting in self.waiting if waiting.broker != broker]
        for partition in self.partitions.values():
            replica = partition.replicas.get(broker)
            if replica is not None:
                if (
                    partition.leader not in (NOBODY, broker)
                    and replica.known == partition.replicas[partition.leader].end
                ):
                    replica.caught_up = self.now
                replica.under_way.clear()
        self.alive.discard(broker)
        for partition in self.partitions.values():
            if broker in partition.isr:
                partition.elect(partition.isr - {broker}, self.now)
        self.look()

    def start(self, broker: int) -> None:
        self.alive.add(broker)
        for partition in self.partitions.values():
            if broker in partition.replicas:
                if partition.leader == NOBODY:
                    partition.elect(set(partition.isr), self.now)
                else:
                    partition.start_over(broker, self.now)
        self.look()

    def move_leader(self, key: Key, broker: int) -> None:
        partition = self.partitions[key]
        if partition.leader != broker:
            partition.lead(broker, partition.isr, self.now)
        self.look()

    # What clients do.

    def connect(self, connection: int, broker: int) -> None:
        self.connections[connection] = Connection(broker)
        if broker not in self.alive:
            self._close(connection)

    def disconnect(self, connection: int) -> None:
        self.connections[connection].is_open = False
        self.connections[connection].queue.clear()

    def send(self, connection: int, *requests: Request) -> None:
        if self.connections[connection].is_open:
            self.connections[connection].queue.extend(requests)
            self._serve(connection)

    def _serve(self, number: int) -> None:
        """What is no frame needs nobody to handle it."""
        connection = self.connections[number]
        if connection.in_hand is None and connection.queue:
            first = connection.queue[0]
            if isinstance(first, Garbage) and not first.is_frame:
                self._close(number)

    # What the broker does.

    def handle(self, number: int) -> Request:
        """The broker takes the next request of a connection in hand."""
        connection = self.connections[number]
        if not connection.is_open or connection.in_hand is not None or not connection.queue:
            raise Violation(f"a request of connection {number} is handled out of turn at {self.now} ms")
        request = connection.queue.popleft()
        connection.in_hand = request.number
        match request:
            case Garbage():
                self._close(number)
            case Fetch():
                self._fetch(number, connection.broker, request)
            case Produce():
                self._produce(number, connection.broker, request)
        return request

    def _produce(self, number: int, broker: int, request: Produce) -> None:
        waiting = Waiting(request, number, broker, self.now + max(request.timeout_ms, 0))
        appended: list[Partition] = []
        for key, batch in request.parts:
            partition = self.partitions.get(key)
            if partition is None:
                waiting.decided[key] = UNKNOWN_TOPIC, -1
            elif batch.fault in REFUSED_FIRST:
                waiting.decided[key] = REFUSED_FIRST[batch.fault], -1
            elif request.acks not in (-1, 0, 1):
                waiting.decided[key] = INVALID_ACKS, -1
            elif partition.leader != broker:
                waiting.decided[key] = NOT_LEADER, -1
            else:
                error, base = partition.append(batch, request.acks, self.now)
                waiting.decided[key] = error, base
                if error == NONE:
                    appended.append(partition)
                    if request.acks == -1:
                        waiting.pending[key] = base + batch.count
        self._decide(waiting)
        if waiting.pending and request.timeout_ms <= 0:
            self._expire(waiting)
        elif waiting.pending:
            self.waiting.append(waiting)
        self.look()
        for partition in appended:
            for follower, _ in partition.followers():
                partition.take(follower, self.now)
            self.look()

    def _fetch(self, number: int, broker: int, request: Fetch) -> None:
        waiting = Waiting(request, number, broker, self.now + request.max_wait_ms)
        self._decide(waiting)
        if not waiting.is_done and request.max_wait_ms <= 0:
            self._expire(waiting)
        elif not waiting.is_done:
            self.waiting.append(waiting)

    def look(self) -> None:
        """Whoever waits is looked at again."""
        for waiting in self.waiting:
            self._decide(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]

    def _decide(self, waiting: Waiting) -> None:
        if isinstance(waiting.request, Fetch):
            result, is_final = self._read(waiting.request, waiting.broker)
            if is_final:
                self._answer(waiting, result)
            return
        for key, required in list(waiting.pending.items()):
            partition = self.partitions.get(key)
            base = waiting.decided[key][1]
            if partition is None or partition.leader != waiting.broker:
                waiting.decided[key] = (UNKNOWN_TOPIC if partition is None else NOT_LEADER), base
            elif partition.watermark < required:
                continue
            elif len(partition.isr) < partition.min_isr:
                waiting.decided[key] = NOT_ENOUGH_AFTER, base
            del waiting.pending[key]
        if not waiting.pending:
            self._answer_produce(waiting)

    def _read(self, request: Fetch, broker: int) -> tuple[tuple[object, ...], bool]:
        """What a consumer gets, and whether it need not wait for more."""
        partition = self.partitions.get(request.key)
        if partition is None or partition.leader != broker:
            hosted = partition is not None
            return (NOT_LEADER if hosted else UNKNOWN_TOPIC, -1, ()), True
        if not 0 <= request.offset <= partition.replicas[partition.leader].end:
            return (OUT_OF_RANGE, -1, ()), True
        watermark = partition.watermark
        found = tuple(
            logged.batch.ident for logged in partition.log if logged.end > request.offset and logged.end <= watermark
        )
        return (NONE, watermark, found), bool(found) or request.offset > watermark

    def _expire(self, waiting: Waiting) -> None:
        if isinstance(waiting.request, Fetch):
            self._answer(waiting, self._read(waiting.request, waiting.broker)[0])
            return
        for key in waiting.pending:
            waiting.decided[key] = TIMED_OUT, waiting.decided[key][1]
        self._answer_produce(waiting)

    def _answer_produce(self, waiting: Waiting) -> None:
        assert isinstance(waiting.request, Produce)
        failed = any(error for error, _ in waiting.decided.values())
        if waiting.request.acks != 0:
            self._answer(waiting, tuple((key, *decided) for key, decided in sorted(waiting.decided.items())))
        elif failed:
            self._close(waiting.connection)
        else:
            self.connections[waiting.connection].in_hand = None
            self._serve(waiting.connection)

    def _answer(self, waiting: Waiting, result: tuple[object, ...]) -> None:
        waiting.is_done = True
        connection = self.connections[waiting.connection]
        connection.in_hand = None
        if connection.is_open:
            self.outcomes.append(Outcome(waiting.connection, self.now, waiting.request.number, result))
            self._serve(waiting.connection)

    def _close(self, number: int) -> None:
        self.disconnect(number)
        self.outcomes.append(Outcome(number, self.now, -1, None))

    # Time.

    def next_due(self) -> int:
        times = [self.next_tick]
        times += [w.deadline for w in self.waiting]
        times += [r.under_way[0][0] for p in self.partitions.values() for _, r in p.followers() if r.under_way]
        return min(times)

    def due_at(self, at: int) -> list[list[tuple[tuple[Key, int], ...]]]:
        """By partition, the orders that its events of this moment may have. An event is (key, follower), or (key,
        NOBODY) for the look at the ISR. Where no order differs from another, there is one."""
        found = []
        for key, partition in self.partitions.items():
            arriving = [b for b, r in partition.followers() if r.under_way and r.under_way[0][0] <= at]
            events = [(key, broker) for broker in arriving]
            ticks = self.next_tick <= at and partition.leader != NOBODY
            shrinks = ticks and bool(partition.lagging(at))
            if ticks:
                events.append((key, NOBODY))
            differ = len(events) > 1 and (shrinks or not partition.isr.issuperset(arriving))
            if events:
                found.append(list(permutations(events)) if differ else [tuple(events)])
        return found

    def run(self, at: int, order: Sequence[tuple[Key, int]]) -> None:
        """What is due at this moment, in this order; then the timeouts."""
        self.now = at
        for key, broker in order:
            partition = self.partitions[key]
            if broker == NOBODY:
                if lagging := partition.lagging(at):
                    partition.isr -= lagging
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
        expired = [waiting for waiting in self.waiting if waiting.deadline <= at]
        for waiting in expired:
            self._expire(waiting)
        self.waiting = [waiting for waiting in self.waiting if not waiting.is_done]


class Oracles:
    """All worlds that nothing has contradicted yet; mostly one."""

    def __init__(self, oracle: Oracle) -> None:
        self.worlds = [oracle]

    def advance_to(self, at: int) -> None:
        """Let everything happen that is due by `at`, each event at its own time."""
        while (due := min(world.next_due() for world in self.worlds)) <= at:
            self.worlds = [after for world in self.worlds for after in _successors(world, max(due, world.now))]
        for world in self.worlds:
            world.now = at

    def keep(self, agrees: Sequence[bool]) -> None:
        self.worlds = [world for world, agreed in zip(self.worlds, agrees, strict=True) if agreed]


def _successors(world: Oracle, at: int) -> Iterator[Oracle]:
    if world.next_due() > at:
        yield world
        return
    orders = [sum(parts, ()) for parts in product(*world.due_at(at))]
    for order in orders[1:]:
        other = deepcopy(world)
        other.run(at, order)
        yield other
    world.run(at, orders[0])
    yield world
