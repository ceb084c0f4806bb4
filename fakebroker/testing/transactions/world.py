"""Transactions among faults, in virtual time. Producers begin, are fenced, crash, pause and time out; requests are
late, responses are lost; brokers stop, leaders and coordinators move, followers freeze. At the end all faults are
healed, every transaction must end, and the readers' reports must be right.

    world = TransactionWorld(brokers=3, partitions=2, version=2)
    producer = world.producer("tx"); producer.transact({("t", 0): 2, ("t", 1): 1}, commits=True)
    world.reader(is_committed=True); world.advance(5_000); world.finish()
    assert not world.history.findings

Theory   Producers and readers are clients of the simulated cluster and exchange frames with it; the judge
         (`TransactionHistory`) gets their reports. In addition `LogOracle` checks every response to a reader against
         the log's bytes, and after every step the last stable offset of every leader. Liveness: SETTLES_MS of virtual
         time after the last fault no transaction is open, and no producer has anything to do.
Limit    With version 1 Kafka's protocol cannot tell a late request of one transaction from one of the next: both have
         the same epoch. So late requests (`Network.delivered`) may tear transactions there (`may_tear`). With version 2
         this is impossible.
Errors   Violation, if the broker contradicts the log's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing import wire
from fakebroker.testing.actors.world import Actor, World
from fakebroker.testing.messages import Violation
from fakebroker.testing.simulation import START_WALL_MS, Simulation
from fakebroker.testing.transactions import frames
from fakebroker.testing.transactions.frames import PartitionFetchResult, Place
from fakebroker.testing.transactions.judge import TransactionHistory
from fakebroker.testing.transactions.network import Network
from fakebroker.testing.transactions.oracle import LogOracle, batches_in, committed
from fakebroker.testing.transactions.processor import Processor
from fakebroker.testing.transactions.producer import TransactionalProducer
from fakebroker.testing.transactions.reader import Reader, ReaderFetch

STATE, OFFSETS, INPUT, TOPIC = "__transaction_state", "__consumer_offsets", "in", "t"
LAG_MAX_MS, CLEANUP_MS, MAX_TIMEOUT_MS = 4_000, 1_000, 15_000
# A transaction times out, its expiry is detected, and EndTxn is retried after requests that time out. Producers finish
# their work or give it up.
SETTLES_MS = 60_000
_STEP_MS = 500


class TransactionWorld(World):
    """A world. Producers write to the topic "t", a processor reads "in". `judge_alone`: do not compare the log's bytes.
    `on_event` gets all events of the journal."""

    def __init__(
        self,
        brokers: int = 3,
        partitions: int = 2,
        version: int = 2,
        seed: int = 0,
        min_isr: int = 1,
        check_every: int = 16,
        judge_alone: bool = False,
        schedule: str = "first-come",
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.version = version
        self._judge_alone = judge_alone
        self.journal = Journal(1_000_000, on_event)
        replicas = min(brokers, 3)
        config = {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": str(replicas),
            "transaction.state.log.num.partitions": "2",
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(min(2, replicas)),
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(CLEANUP_MS),
            "replica.lag.time.max.ms": str(LAG_MAX_MS),
            "auto.leader.rebalance.enable": "false",
            "connections.max.idle.ms": "-1",
        }
        self.simulation = Simulation(
            brokers, config=config, seed=seed, journal=self.journal, check_every=check_every, schedule=schedule
        )
        min_isr = max(1, min(min_isr, replicas))
        self.simulation.topic(TOPIC, partitions, replicas, retention_ms=-1, min_insync_replicas=min_isr)
        self.simulation.topic(INPUT, 1, replicas, retention_ms=-1)
        if version == 1:
            self.simulation.connect(1).send(frames.transaction_version(1))
        self.places: list[Place] = [(TOPIC, index) for index in range(partitions)]
        self.source: Place = (INPUT, 0)
        self.history = TransactionHistory()
        self.network = Network(self.simulation)
        self.producers: list[TransactionalProducer] = []
        self.readers: list[Reader] = []
        self.settled_ms = 0  # the time to settle after all faults were healed
        self._plain = 0
        self._logs: dict[Place, tuple[tuple[int, int], LogOracle]] = {}

    def stop(self, broker: int) -> None:
        """Stop the broker, unless it is the only in-sync replica of a partition while others run. Kafka writes no
        markers without a leader, so transactions would hang."""
        cluster = self.simulation.cluster
        others = [other for other in cluster.registry.broker_ids if other != broker and cluster.lives.is_running(other)]
        if not others or all(set(partition.isr) != {broker} for partition in cluster.metadata.partitions()):
            super().stop(broker)

    @property
    def actors(self) -> Sequence[Actor]:
        return [*self.producers, *self.readers]

    @property
    def alive(self) -> list[TransactionalProducer]:
        return [producer for producer in self.producers if producer.is_alive]

    @property
    def may_tear(self) -> bool:
        return self.version == 1 and self.network.delivered > 0

    # Actions.

    def producer(self, transactional_id: str, timeout_ms: int = 6_000, pace_ms: int = 5) -> TransactionalProducer:
        """Add a producer. It fences the previous one with this id."""
        name = f"{transactional_id}.{len(self.producers)}"
        made = TransactionalProducer(
            name, transactional_id, self.network, self.history, self.version, timeout_ms, pace_ms
        )
        return self._add(made)

    def processor(self, timeout_ms: int = 6_000, pace_ms: int = 5) -> TransactionalProducer:
        """Add a processor. It fences the previous one."""
        made = Processor(
            f"p.{len(self.producers)}",
            "processor",
            self.network,
            self.history,
            self.version,
            timeout_ms,
            self.source,
            self.places[0],
            pace_ms,
        )
        return self._add(made)

    def _add(self, made: TransactionalProducer) -> TransactionalProducer:
        self.producers.append(made)
        self.act()
        return made

    def reader(self, is_committed: bool) -> Reader:
        name = f"{'committed' if is_committed else 'all'}.{len(self.readers)}"
        places = [*self.places, self.source]
        made = Reader(name, self.simulation, self.history, places, is_committed, self._check_fetched)
        self.readers.append(made)
        self.act()
        return made

    def plain(self, place: Place, records: int) -> None:
        """Send records without a transaction to the leader with acks=all, and ignore the response."""
        leader = self.simulation.partition(*place).leader_id
        if leader < 0:
            return
        values = [b"plain %d" % number for number in range(self._plain, self._plain + records)]
        self._plain += records
        for value in values:
            self.history.writes(None, place, value)
        batch = encode_batch([Record(None, value) for value in values], base_timestamp_ms=START_WALL_MS)
        self.simulation.connect(leader).send(wire.produce(self._plain, -1, 2_000, [(place, batch)]))
        self.act()

    def deliver(self, which: int) -> None:
        """Deliver a request that was held back."""
        self.network.deliver(which)
        self.act()

    def heal(self) -> None:
        """Heal all faults, and deliver all held requests."""
        for broker in self.simulation.cluster.registry.broker_ids:
            self.start(broker)
        self.followers("instant")
        while self.network.held:
            self.deliver(0)
        for producer in self.producers:
            producer.is_paused, producer.line.fault = False, ""
        for reader in self.readers:
            reader.is_paused = False
        self.act()

    # Checks.

    def check(self) -> None:
        """Check after a step that the last stable offset of each leader is that of its log's bytes."""
        if self._judge_alone:
            return
        for place in (*self.places, self.source):
            partition = self.simulation.partition(*place)
            if partition.leader_id >= 0:
                stable = partition.leader_log.last_stable_offset
                by_log = self._log(place).stable(partition.high_watermark)
                if stable != by_log:
                    raise Violation(
                        f"{place}: the last stable offset is {stable}, but {by_log} by the log, at high watermark "
                        f"{partition.high_watermark}"
                    )

    def _log(self, place: Place) -> LogOracle:
        partition = self.simulation.partition(*place)
        log = partition.leader_log
        state = partition.leader_epoch, log.log_end_offset
        known = self._logs.get(place)
        if known is None or known[0] != state:
            data = log.read(log.log_start_offset, log.log_end_offset, 1 << 30).join()
            known = self._logs[place] = state, LogOracle(data)
        return known[1]

    def _check_fetched(self, request: ReaderFetch, fetched: PartitionFetchResult) -> None:
        """Check that a reader got the right records, all of them in order, and nothing else."""
        partition = self.simulation.partition(*request.place)
        if partition.leader_id < 0 or self._judge_alone:
            return
        log, batches = self._log(request.place), batches_in(fetched.records)
        to = batches[-1].last + 1 if batches else request.offset
        what = f"{request} was answered {fetched._replace(records=b'')} and {batches}"
        if fetched.stable != log.stable(fetched.watermark):
            raise Violation(f"{what}: by the log the last stable offset is {log.stable(fetched.watermark)}")
        limit = fetched.stable if request.is_committed else fetched.watermark
        if to > max(limit, request.offset) or (not batches and request.offset < limit):
            raise Violation(f"{what}: it should get all records below {limit}")
        if request.is_committed:
            if committed(batches, fetched.aborted, request.offset) != log.committed(request.offset, to):
                raise Violation(f"{what}: committed records are {log.committed(request.offset, to)}")
            same = (partition.leader_id, partition.leader_epoch) == (request.broker, request.leader_epoch)
            if same and not set(fetched.aborted) <= log.aborted(request.offset):
                raise Violation(f"{what}: aborted transactions are {sorted(log.aborted(request.offset))}")

    # The end.

    def finish(self) -> None:
        """Heal all faults. Check that all transactions end, and that readers get everything, within a limit of time."""
        self.heal()
        has_processor = any(isinstance(producer, Processor) for producer in self.producers)
        began_ms = self.now_ms
        while (left := self._unsettled()) and self.now_ms - began_ms < SETTLES_MS:
            if has_processor and not any(isinstance(producer, Processor) for producer in self.alive):
                self.processor()
            self.advance(_STEP_MS)
        self.settled_ms = self.now_ms - began_ms
        self.check()
        if left:
            self.history.unsettled(f"{SETTLES_MS} ms after the faults ended: {'; '.join(left)}")
            return
        last = [self.reader(is_committed=True), self.reader(is_committed=False)]
        while any(self._behind(reader) for reader in last) and self.now_ms - began_ms < 2 * SETTLES_MS:
            self.advance(_STEP_MS)
        for reader in last:
            if behind := self._behind(reader):
                self.history.unsettled(f"{reader.name} has not read {behind}")
        for place in (*self.places, self.source):
            given, expected = last[0].kept[place], self._log(place).committed(0, self._end(place))
            if given != expected and not self._judge_alone:
                raise Violation(f"{place}: the read_committed reader got {given}, but the log has {expected}")
        self.history.finish({self.source: self._end(self.source)} if has_processor else {})

    def _end(self, place: Place) -> int:
        return self.simulation.partition(*place).leader_log.log_end_offset

    def _unsettled(self) -> list[str]:
        """Return what is unfinished."""
        left = [f"{producer.name} is busy" for producer in self.alive if producer.is_busy]
        processors = [producer for producer in self.producers if isinstance(producer, Processor)]
        if processors and not any(
            processor.is_alive and processor.position == self._end(self.source) for processor in processors
        ):
            left.append("the input is not processed")
        for place in (*self.places, self.source, (OFFSETS, 0)):
            if self.simulation.cluster.metadata.topic(place[0]) is not None:
                partition = self.simulation.partition(*place)
                if partition.leader_log.last_stable_offset != self._end(place):
                    left.append(f"{place} is open from {partition.leader_log.last_stable_offset} on")
        return left

    def _behind(self, reader: Reader) -> list[Place]:
        return [place for place in reader.places if reader.positions[place] != self._end(place)]
