"""What producers ask a transaction coordinator, answer by answer (TransactionCoordinatorTest)."""

from __future__ import annotations

import pytest
from support.transaction_harness import TransactionHarness

from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.metadata import MAX_EPOCH
from fakebroker.protocol.slices import finish
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT

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
    """A whole transaction of one record."""
    assert harness.add(producer, T0) == [NONE]
    harness.write(producer, T0, sequence)
    [(error, given)] = harness.end(producer, COMMIT)
    assert error == NONE
    return given if harness.version == 2 else producer


class TestInit:
    def test_each_time_the_next_epoch(self, harness: TransactionHarness) -> None:
        assert harness.init() == [(NONE, ProducerIdAndEpoch(100, 0))]
        assert harness.init() == [(NONE, ProducerIdAndEpoch(100, 1))]

    @pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
    def test_a_timeout_that_is_none(self, harness: TransactionHarness, timeout_ms: int) -> None:
        assert harness.init(timeout_ms=timeout_ms) == [(INVALID_TIMEOUT, NOBODY)]

    def test_who_goes_on(self, harness: TransactionHarness) -> None:
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
        """The answer of the first time, whatever its producer has heard."""
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

    def test_who_is_not_it(self, harness: TransactionHarness) -> None:
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

    def test_a_leader_that_is_away_gets_its_mark_later(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0, T1)
        harness.write(producer, T0)
        harness.deaf = {harness.partition(T1).leader_id}
        harness.end(producer, ABORT)
        assert harness.state == "PrepareAbort"
        harness.deaf = set()
        harness.retry()
        assert harness.state == "CompleteAbort"

    def test_a_topic_that_is_deleted_needs_no_mark(self, harness: TransactionHarness) -> None:
        producer = begun(harness)
        harness.add(producer, T0)
        harness.simulation.delete_topic("t")
        harness.end(producer, COMMIT)
        assert harness.state == "CompleteCommit"

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
    found = harness.coordinator.states.find("tx")
    assert found is not None
    for _ in range(MAX_EPOCH - 2):
        transit = found.transaction.prepare_increment_producer_epoch(60_000, None, 0)
        found.transaction.complete_transition_to(transit)
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
