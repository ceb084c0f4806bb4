"""Requests of producers to a transaction coordinator, response by response (TransactionCoordinatorTest)."""

from __future__ import annotations

import pytest
from support.transaction_harness import TransactionHarness

from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.log_records import transaction_record
from fakebroker.core.transactions.metadata import MAX_EPOCH, TransitMetadata
from fakebroker.core.transactions.states import TransactionState
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import finish
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT
from fakebroker.testing.transactions.world import STATE, TransactionWorld

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOBODY = ProducerIdAndEpoch()
NONE, FENCED_EPOCH, INVALID_STATE, MAPPING, CONCURRENT, NOT_AVAILABLE = 0, 47, 48, 49, 51, 15
INVALID_REQUEST, INVALID_TIMEOUT, FENCED, NOT_COORDINATOR, ABORTABLE = 42, 50, 90, 16, 120


@pytest.fixture(params=[1, 2])
def harness(request: pytest.FixtureRequest) -> TransactionHarness:
    return TransactionHarness(version=request.param)


def begun(harness: TransactionHarness) -> ProducerIdAndEpoch:
    [(error, producer)] = harness.init()
    assert error == NONE
    return producer


def committed(harness: TransactionHarness, producer: ProducerIdAndEpoch, sequence: int = 0) -> ProducerIdAndEpoch:
    """Commit a transaction of one record."""
    assert harness.add(producer, T0) == [NONE]
    harness.write(producer, T0, sequence)
    [(error, given)] = harness.end(producer, COMMIT)
    assert error == NONE
    return given if harness.version == 2 else producer


def test_version_0_cannot_tell_of_version_2() -> None:
    """The transaction of such a client stays pending, as in Kafka 4.4."""
    transit = TransitMetadata(
        7, -1, -1, 0, -1, 60_000, TransactionState.ONGOING, frozenset({T0}), 5, 5, transaction_version=2
    )
    with pytest.raises(KafkaError) as refused:
        transaction_record("tx", transit, 0)
    assert refused.value.code == 35
    assert transaction_record("tx", transit, 1)[1] is not None
    assert transaction_record("tx", transit.but(transaction_version=0), 0)[1] is not None


class TestInit:
    def test_each_time_the_next_epoch(self, harness: TransactionHarness) -> None:
        assert harness.init() == [(NONE, ProducerIdAndEpoch(100, 0))]
        assert harness.init() == [(NONE, ProducerIdAndEpoch(100, 1))]

    @pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
    def test_a_timeout_that_is_none(self, harness: TransactionHarness, timeout_ms: int) -> None:
        assert harness.init(timeout_ms=timeout_ms) == [(INVALID_TIMEOUT, NOBODY)]

    def test_init_producer_id_with_the_current_id_bumps_the_epoch(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        assert harness.init(producer) == [(NONE, ProducerIdAndEpoch(100, 1))]
        assert harness.init(producer) == [(NONE, ProducerIdAndEpoch(100, 1))]  # once more
        assert harness.init(ProducerIdAndEpoch(7, 0)) == [(FENCED, NOBODY)]

    def test_an_open_transaction_is_aborted_first(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0)
        harness.write(producer, T0)
        assert harness.init() == [(CONCURRENT, NOBODY)]
        assert harness.state == "CompleteAbort"
        assert harness.partition(T0).leader_log.aborted_transactions(0, 1) == ((100, 0),)
        [(error, given)] = harness.init()
        assert (error, given.producer_id) == (NONE, 100)
        assert given.producer_epoch == 2
        assert harness.end(producer, COMMIT) == [(FENCED, NOBODY)]


class TestTransaction:
    def test_a_commit_is_marked_where_it_wrote(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        assert harness.add(producer, T0) == [NONE]
        assert harness.add(producer, T0) == [NONE]  # known already
        harness.write(producer, T0)
        log = harness.partition(T0).leader_log
        assert (log.last_stable_offset, harness.state) == (0, "Ongoing")
        expected = ProducerIdAndEpoch(100, 1) if harness.version == 2 else NOBODY
        assert harness.end(producer, COMMIT) == [(NONE, expected)]
        assert (log.last_stable_offset, log.log_end_offset, harness.state) == (2, 2, "CompleteCommit")
        assert harness.partition(T1).leader_log.log_end_offset == 0
        assert log.aborted_transactions(0, 1) == ()

    def test_one_after_the_other(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        for number in range(3):
            sequence = number if harness.version == 1 else 0
            producer = committed(harness, producer, sequence)
        assert producer == ProducerIdAndEpoch(100, 3 if harness.version == 2 else 0)

    def test_sent_again(self, harness: TransactionHarness) -> None:
        """The response is that of the first request, whether its producer got it or not."""
        producer = begun(harness)
        committed(harness, producer)
        expected = ProducerIdAndEpoch(100, 1) if harness.version == 2 else ProducerIdAndEpoch(100, 0)
        assert harness.end(producer, COMMIT) == [(NONE, expected)]
        assert harness.end(producer, ABORT) == [(INVALID_STATE, NOBODY)]

    def test_what_was_not_begun(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        assert harness.end(producer, COMMIT) == [(INVALID_STATE, NOBODY)]
        if harness.version == 1:
            assert harness.end(producer, ABORT) == [(INVALID_STATE, NOBODY)]
        else:
            assert harness.end(producer, ABORT) == [(NONE, ProducerIdAndEpoch(100, 1))]
            assert harness.state == "CompleteAbort"

    def test_a_transaction_refuses_another_producer_id_or_epoch(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        others = {ProducerIdAndEpoch(7, 0): MAPPING, ProducerIdAndEpoch(100, 5): FENCED}
        for other, error in others.items():
            assert harness.add(other, T0) == [error]
            assert harness.end(other, ABORT) == [(error, NOBODY)]
            assert set(harness.coordinator.verify_partitions("tx", other, frozenset({T0})).values()) == {error}
        assert set(harness.coordinator.verify_partitions("else", producer, frozenset({T0})).values()) == {MAPPING}

    def test_verification(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0)
        verified = harness.coordinator.verify_partitions("tx", producer, frozenset({T0, T1}))
        assert verified == {T0: NONE, T1: ABORTABLE}

    def test_a_timeout(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0)
        harness.simulation.advance(60_000)
        finish(harness.coordinator.abort_timed_out_transactions())
        assert harness.state == "Ongoing"
        harness.simulation.advance(1)
        finish(harness.coordinator.abort_timed_out_transactions())
        assert harness.state == "CompleteAbort"
        assert harness.end(producer, COMMIT)[0][0] in (FENCED, INVALID_STATE)
        assert harness.add(producer, T0) == [FENCED]


class TestReplication:
    @pytest.fixture(params=[1, 2])
    def harness(self, request: pytest.FixtureRequest) -> TransactionHarness:
        return TransactionHarness(brokers=3, version=request.param)

    def test_a_frozen_follower_delays_all(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.simulation.followers("frozen", "__transaction_state", broker=3)
        added = harness.add(producer, T0)
        assert added == []
        assert harness.add(producer, T1) == [CONCURRENT]
        assert harness.add(ProducerIdAndEpoch(7, 9), T1) == [CONCURRENT]  # the fenced producer has no response yet
        assert harness.init() == [(CONCURRENT, NOBODY)]
        harness.simulation.followers(None, "__transaction_state", broker=3)
        assert added == [NONE]

    def test_its_own_time_is_the_limit(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.simulation.followers("frozen", "__transaction_state", broker=3)
        added = harness.add(producer, T0)
        harness.simulation.advance(60_000)
        # The follower has left the ISR before that: 30 s.
        assert added == [NONE]

    def test_a_decision_is_carried_out_by_the_next_coordinator(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0, T1)
        harness.write(producer, T0)
        harness.deaf = {1, 2, 3}
        [(error, _)] = harness.end(producer, COMMIT)
        assert (error, harness.state) == (NONE, "PrepareCommit")
        assert harness.init() == [(CONCURRENT, NOBODY)]
        harness.simulation.move_leader(2, "__transaction_state")
        harness.deaf = set()
        harness.elect()
        assert harness.state == "CompleteCommit"
        assert harness.partition(T0).leader_log.last_stable_offset == 2
        harness.retry()  # what the old one would have sent again
        assert harness.partition(T0).leader_log.log_end_offset == 2

    def test_a_leader_that_is_away_gets_its_marker_later(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0, T1)
        harness.write(producer, T0)
        harness.deaf = {harness.partition(T1).leader_id}
        harness.end(producer, ABORT)
        assert harness.state == "PrepareAbort"
        harness.deaf = set()
        harness.retry()
        assert harness.state == "CompleteAbort"

    def test_a_topic_that_is_deleted_needs_no_marker(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0)
        harness.simulation.delete_topic("t")
        harness.end(producer, COMMIT)
        assert harness.state == "CompleteCommit"

    def test_a_partition_without_a_leader_gets_no_transaction_marker(self) -> None:
        """The partition counts as deleted, and its transaction hangs (Kafka 4.4, KRaftMetadataCache)."""
        world = TransactionWorld(brokers=3, partitions=1, version=2)
        producer = world.producer("tx", pace_ms=10)
        simulation = world.simulation
        assigned = [(0, [2])]
        simulation.cluster.admin.create_topic(NewTopic("alone", -1, -1, assigned, {}), simulation.now)
        world.advance(200)
        for partition in (0, 1):
            world.move(STATE, partition, 0)
        producer.transact({("alone", 0): 1}, commits=True)
        while producer.transaction is None or producer.transaction.left:
            world.advance(1)
        simulation.stop(2)
        world.advance(500)
        entry = simulation.cluster.brokers[1].transactions.states.find("tx")
        assert entry is not None
        assert entry.transaction.now.state is TransactionState.COMPLETE_COMMIT
        world.start(2)
        log = simulation.partition("alone", 0).leader_log
        assert (log.last_stable_offset, log.log_end_offset) == (0, 1)

    def test_what_was_begun_under_another_coordinator_comes_to_nothing(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.simulation.followers("frozen", "__transaction_state", broker=3)
        added = harness.add(producer, T0)
        harness.simulation.move_leader(2, "__transaction_state")
        assert added == [NOT_COORDINATOR]
        harness.elect()
        assert harness.add(producer, T0) in ([NONE], [])


def test_epochs_that_are_used_up() -> None:
    """The next producer id comes with the end of the last transaction of the old one."""
    harness = TransactionHarness(version=2)
    begun(harness)
    entry = harness.coordinator.states.find("tx")
    assert entry is not None
    for _ in range(MAX_EPOCH - 2):
        transit = entry.transaction.prepare_increment_producer_epoch(60_000, None, 0)
        entry.transaction.complete_transition_to(transit)
    producer = ProducerIdAndEpoch(100, MAX_EPOCH - 2)
    producer = committed(harness, producer)
    assert producer == ProducerIdAndEpoch(100, MAX_EPOCH - 1)
    producer = committed(harness, producer)
    assert producer == ProducerIdAndEpoch(101, 0)
    assert harness.end(ProducerIdAndEpoch(100, MAX_EPOCH - 1), COMMIT) == [(NONE, producer)]


def test_an_id_that_is_not_used_is_forgotten(harness: TransactionHarness) -> None:
    begun(harness)
    harness.simulation.advance(10_000)
    finish(harness.coordinator.states.remove_expired(10_001))
    assert harness.coordinator.states.find("tx") is not None
    finish(harness.coordinator.states.remove_expired(10_000))
    assert harness.coordinator.states.find("tx") is None
    harness.elect()
    assert harness.coordinator.states.find("tx") is None


class TestOneRequestToEachBroker:
    """A marker that cannot be replicated delays all other markers of its broker, as in Kafka."""

    def test_the_second_waits_for_the_first(self) -> None:
        harness = TransactionHarness(brokers=3, version=1)
        harness.simulation.topic("alone", 1, 1)
        first, second = begun(harness), begun_as(harness, "second")
        assert harness.add(first, T0) == [NONE]
        alone = TopicPartition("alone", 0)
        assert harness.partition(T0).leader_id == harness.partition(alone).leader_id
        harness.coordinator.add_partitions("second", second, frozenset({alone}), 1, lambda error: None)
        harness.simulation.followers("frozen", "t")
        harness.end(first, COMMIT)
        harness.coordinator.end_transaction("second", second, COMMIT, 1, lambda error, given: None)
        assert (harness.state, state_of(harness, "second")) == ("PrepareCommit", "PrepareCommit")
        assert harness.partition(alone).leader_log.log_end_offset == 0
        harness.simulation.followers(None, "t")
        assert (harness.state, state_of(harness, "second")) == ("CompleteCommit", "CompleteCommit")

    def test_no_longer_than_its_time(self) -> None:
        """After request.timeout.ms the second request has its turn, and the first is sent again."""
        harness = TransactionHarness(brokers=3, version=1, config={"replica.lag.time.max.ms": "600000"})
        harness.simulation.topic("alone", 1, 1)
        first, second = begun(harness), begun_as(harness, "second")
        harness.add(first, T0)
        alone = TopicPartition("alone", 0)
        harness.coordinator.add_partitions("second", second, frozenset({alone}), 1, lambda error: None)
        harness.simulation.followers("frozen", "t")
        harness.end(first, COMMIT)
        harness.coordinator.end_transaction("second", second, COMMIT, 1, lambda error, given: None)
        harness.simulation.advance(29_999)
        assert state_of(harness, "second") == "PrepareCommit"
        harness.simulation.advance(1)
        assert (harness.state, state_of(harness, "second")) == ("PrepareCommit", "CompleteCommit")

    def test_many_wait(self) -> None:
        harness = TransactionHarness(brokers=3, version=1)
        harness.simulation.topic("alone", 1, 1)
        first, names = begun(harness), [f"other {number}" for number in range(200)]
        others = {name: begun_as(harness, name) for name in names}
        harness.add(first, T0)
        harness.simulation.followers("frozen", "t")
        harness.end(first, COMMIT)
        for name, producer in others.items():
            partitions = frozenset({TopicPartition("alone", 0)})
            harness.coordinator.add_partitions(name, producer, partitions, 1, lambda error: None)
            harness.coordinator.end_transaction(name, producer, COMMIT, 1, lambda error, given: None)
        assert {state_of(harness, name) for name in names} == {"PrepareCommit"}
        harness.simulation.followers(None, "t")
        for _ in range(4):
            harness.retry()
        assert {state_of(harness, name) for name in names} == {"CompleteCommit"}


def begun_as(harness: TransactionHarness, transactional_id: str) -> ProducerIdAndEpoch:
    given: list[ProducerIdAndEpoch] = []
    harness.coordinator.init_producer_id(transactional_id, 60_000, None, lambda error, producer: given.append(producer))
    return given[0]


def state_of(harness: TransactionHarness, transactional_id: str) -> str:
    entry = harness.coordinator.states.find(transactional_id)
    assert entry is not None
    return entry.transaction.now.state.value
