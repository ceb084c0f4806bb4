"""Transactional producers beside a cluster: what read_committed sees of a transaction is all of it or nothing."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_doors import TransactionCall
from fakebroker.producer.errors import (
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerError,
    ProducerTimeoutError,
)
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.simulation import Simulation

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
all_kinds = pytest.mark.parametrize("generation", ["2.0", "2.4", "3.0", "4.3"])
_PARTITIONS = 2
_SEEDS = 6
_STEPS = 60
_MAX_BLOCK_MS = 5_000


class World:
    """A cluster, and producers with one transactional id each. `told`: what became of each record."""

    def __init__(self, generation: str, seed: int = 0, brokers: int = 3) -> None:
        self.generation = generation
        self.simulation = Simulation(brokers, seed=seed, check_every=50, with_tape=True)
        self.simulation.topic("t", _PARTITIONS, min(brokers, 3))
        self.producers = SimulatedProducers(self.simulation)
        self.told: dict[int, int | ProducerError] = {}

    def add(self, transactional_id: str, seed: int = 0, **settings: object) -> SimulatedProducer:
        given: dict[str, object] = {
            "transactional.id": transactional_id, "linger.ms": 0, "max.block.ms": _MAX_BLOCK_MS,
        }  # fmt: skip
        given |= {name.replace("_", "."): value for name, value in settings.items()}
        return self.producers.add(ProducerConfig(self.generation, given), seed)

    def wait(self, client: SimulatedProducer, call: TransactionCall, most_ms: int = 60_000) -> TransactionCall:
        """Let time pass until the caller would go on."""
        client.settle()
        left_ms = most_ms
        while not call.is_done and left_ms > 0:
            self.producers.advance(1)
            left_ms -= 1
        return call

    def init(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.init_transactions(self.producers.now_ms))

    def commit(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.commit_transaction(self.producers.now_ms))

    def abort(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.abort_transaction(self.producers.now_ms))

    def send(self, client: SimulatedProducer, record: int, partition_: int = 0) -> Sending:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            found = metadata.offset if metadata is not None else error
            assert found is not None
            self.told[record] = found

        sending = client.producer.send(
            "t", b"%d" % record, self.simulation.now.wall_ms, self.producers.now_ms, partition=partition_, callback=told
        )
        client.settle()
        return sending

    def committed(self) -> list[int]:
        """The records that read_committed sees, partition by partition: all before the last stable offset that no
        marker aborts."""
        return [record for at in range(_PARTITIONS) for record in self._committed(at)]

    def _committed(self, at: int) -> list[int]:
        seen: list[tuple[int, int]] = []
        open_: dict[int, list[tuple[int, int]]] = {}
        for batch in self.simulation.partition("t", at).leader_log.batches_from(0):
            producer_id = int.from_bytes(bytes(batch.data[43:51]), "big", signed=True)
            attributes = int.from_bytes(bytes(batch.data[21:23]), "big")
            records = list(decode_records(batch.data))
            if attributes & 0x20:
                key = records[0].key
                assert key is not None
                ended = open_.pop(producer_id, [])
                seen += ended if key[3] == 1 else []
            else:
                values = [(batch.base_offset + index, int(one.value or b"")) for index, one in enumerate(records)]
                open_.setdefault(producer_id, []).extend(values)
        return [record for _, record in sorted(seen)]


@all_kinds
def test_committed_is_seen_and_aborted_is_not(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    assert world.init(client).error is None
    for number in range(4):
        client.producer.begin_transaction()
        world.send(client, 2 * number, 0)
        world.send(client, 2 * number + 1, 1)
        world.producers.advance(50)
        call = world.abort(client) if number % 2 else world.commit(client)
        assert (call.is_done, call.error) == (True, None)
    assert world.committed() == [0, 4, 1, 5]
    assert client.producer.sender.uncaught is None


@all_kinds
def test_offsets_are_committed_with_the_transaction(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    world.init(client)
    client.producer.begin_transaction()
    world.send(client, 1)
    world.producers.advance(50)
    offsets = {TopicPartition("t", 0): 7}
    call = client.producer.send_offsets_to_transaction(offsets, GroupMetadata("g"), world.producers.now_ms)
    assert world.wait(client, call).error is None
    assert world.commit(client).error is None
    world.producers.advance(50)
    assert world.committed() == [1]


@both
def test_a_second_producer_fences_the_first(generation: str) -> None:
    world = World(generation)
    first, second = world.add("tx"), world.add("tx", 1)
    world.init(first)
    first.producer.begin_transaction()
    world.send(first, 1)
    world.producers.advance(50)
    assert world.init(second).error is None
    world.send(first, 2, 1)
    call = world.commit(first)
    assert call.is_done
    told: BaseException | None = call.error
    while told is not None and not isinstance(told, BrokerError):
        told = told.__cause__
    assert isinstance(told, BrokerError)
    assert told.code == ErrorCode.invalid_producer_epoch  # which is ProducerFencedException in 2.0
    if generation != "2.0":  # its record was refused; whether it is fenced the coordinator says
        aborted = world.abort(first).error
        assert isinstance(aborted, BrokerError)
        assert aborted.code == ErrorCode.producer_fenced
        with pytest.raises(BrokerError, match="was fenced by another"):
            first.producer.begin_transaction()
    second.producer.begin_transaction()
    world.send(second, 3)
    world.producers.advance(50)  # whoever sends waits for metadata, and commits after that
    assert world.commit(second).error is None
    world.producers.advance(50)
    assert world.committed() == [3]


@both
def test_who_calls_at_the_wrong_time_is_told(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    with pytest.raises(ProducerError):
        client.producer.begin_transaction()
    world.init(client)
    assert world.commit(client).error is not None
    client.producer.begin_transaction()
    with pytest.raises(ProducerError):
        client.producer.begin_transaction()
    plain = world.producers.add(ProducerConfig(generation, {"enable.idempotence": False}))
    call = plain.producer.init_transactions(world.producers.now_ms)
    assert isinstance(call.error, IllegalProducerStateError)
    client.producer.close(world.producers.now_ms, 0)
    with pytest.raises(ProducerClosedError):
        client.producer.begin_transaction()


@both
def test_nobody_answers_for_max_block_ms_and_then_somebody_does(generation: str) -> None:
    world = World(generation)
    client = world.add("tx", max_block_ms=700)
    for broker_id in (1, 2, 3):
        world.simulation.stop(broker_id)
    call = client.producer.init_transactions(world.producers.now_ms)
    client.settle()
    world.producers.advance(699)
    assert not call.is_done
    world.producers.advance(1)
    assert isinstance(call.error, ProducerTimeoutError)
    for broker_id in (1, 2, 3):
        world.simulation.start(broker_id)
    world.producers.advance(5_000)
    again = world.init(client)
    assert again.error is None, "the same call is made again, and gets what the first asked for"


def test_who_is_closed_in_a_transaction_aborts_it() -> None:
    world = World("4.3")
    client = world.add("tx")
    world.init(client)
    client.producer.begin_transaction()
    world.send(client, 1)
    world.producers.advance(50)
    client.producer.close(world.producers.now_ms, 5_000)
    client.settle()
    world.producers.advance(1_000)
    assert client.producer.is_closed
    assert world.committed() == []
    partition = world.simulation.partition("t", 0)
    assert partition.leader_log.log_end_offset == 2, "the record, and the marker that aborts it"


class Run:
    """Two producers that begin, send, commit and abort, while brokers die and leaders move. `ended`: the records of
    each transaction, and whether its commit was confirmed (True), its abort (False), or nobody knows (None)."""

    def __init__(self, generation: str, seed: int) -> None:
        self._random = Random(seed)
        self.world = World(generation, seed)
        settings: dict[str, object] = {"request_timeout_ms": 400, "max_block_ms": 60_000}
        if generation != "2.0":
            settings["delivery_timeout_ms"] = 30_000
        self.clients = [self.world.add(f"tx{at}", at, **settings) for at in range(2)]
        self.calls: list[TransactionCall | None] = [None, None]
        self.records: list[list[int] | None] = [None, None]  # of the transaction that is open
        self.is_dead = [False, False]
        self._sending: list[Sending | None] = [None, None]  # the last: whoever sends waits for metadata
        self.ended: list[tuple[list[int], bool | None]] = []
        self._down: int | None = None
        self._count = 0
        for at in range(2):
            assert self.world.init(self.clients[at]).error is None

    def step(self) -> None:
        random = self._random
        match random.randrange(12):
            case 0:
                self._fault(random.randint(1, 3))
            case 1:
                in_sync = set(self.world.simulation.partition("t", 0).isr) - {self._down}
                if in_sync:
                    self.world.simulation.move_leader(random.choice(sorted(in_sync)), "t", 0)
            case 2:
                self.world.producers.advance(random.choice([100, 500]))
            case _:
                self._use(random.randrange(2))
                self.world.producers.advance(random.choice([0, 1, 10]))
        for client in self.clients:
            client.producer.check_invariants()

    def end(self) -> None:
        if self._down is not None:
            self.world.simulation.start(self._down)
        self.world.producers.advance(20_000)
        for at, client in enumerate(self.clients):
            if self.records[at] is not None and self.calls[at] is None:
                self._end(at, False)
            client.producer.close(self.world.producers.now_ms, 60_000)
            client.settle()
        self.world.producers.advance(90_000)  # a transaction that nobody ends times out

    def _use(self, at: int) -> None:
        if self.is_dead[at] or self.calls[at] is not None:
            return
        client, records, sending = self.clients[at], self.records[at], self._sending[at]
        if sending is not None and not sending.is_done:
            return
        if records is None:
            client.producer.begin_transaction()
            self.records[at] = []
            return
        match self._random.randrange(6):
            case 0:
                self._end(at, True)
            case 1:
                self._end(at, False)
            case _:
                self._count += 1
                records.append(self._count)
                self._sending[at] = self.world.send(client, self._count, self._random.randrange(_PARTITIONS))

    def _end(self, at: int, commits: bool) -> None:
        records = self.records[at]
        assert records is not None
        producer = self.clients[at].producer
        now_ms = self.world.producers.now_ms
        done = partial(self._ended, at, commits)
        call = producer.commit_transaction(now_ms, done) if commits else producer.abort_transaction(now_ms, done)
        if not call.is_done:
            self.calls[at] = call
        self.clients[at].settle()

    def _ended(self, at: int, commits: bool, call: TransactionCall) -> None:
        self.calls[at] = None
        records = self.records[at]
        assert records is not None
        if call.error is None:
            self.ended.append((records, commits))
            self.records[at] = None
        elif commits and not isinstance(call.error, ProducerTimeoutError):
            self.world.producers.later(partial(self._abort_failed, at))  # from without, as an application does
        else:
            self._give_up(at)

    def _abort_failed(self, at: int) -> None:
        if self.records[at] is not None and self.calls[at] is None and not self.clients[at].producer.is_closed:
            self._end(at, False)

    def _give_up(self, at: int) -> None:
        records = self.records[at]
        assert records is not None
        self.is_dead[at] = True
        self.ended.append((records, None))
        self.records[at] = None

    def _fault(self, broker_id: int) -> None:
        simulation = self.world.simulation
        if self._down is not None:
            simulation.start(self._down)
            self._down = None
        else:
            self._random.choice([simulation.stop, simulation.kill])(broker_id)
            self._down = broker_id


@both
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_all_or_nothing_whatever_happens_to_the_brokers(generation: str, seed: int) -> None:
    run = Run(generation, seed)
    for _ in range(_STEPS):
        run.step()
    run.end()
    seen = run.world.committed()
    assert len(seen) == len(set(seen)), "no record is seen twice"
    for records, is_committed in run.ended:
        found = [record for record in records if record in seen]
        match is_committed:
            case True:
                assert found == records
            case False:
                assert found == []
            case None:
                assert found in ([], records)
    assert set(seen) <= {record for records, _ in run.ended for record in records}


@both
def test_a_seed_always_gives_the_same(generation: str) -> None:
    tapes = []
    for _ in range(2):
        run = Run(generation, 1)
        for _ in range(_STEPS):
            run.step()
        run.end()
        tapes.append(run.world.simulation.tape_text())
    assert tapes[0] == tapes[1]
