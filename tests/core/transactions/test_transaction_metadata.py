"""Transactions, change by change (TransactionMetadataTest)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakebroker.core.transactions.metadata import MAX_EPOCH, NONE, TransactionMetadata, TransitMetadata
from fakebroker.core.transactions.states import VALID_PREVIOUS_STATES, TransactionState
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition

S = TransactionState
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def metadata(state: TransactionState = S.EMPTY, epoch: int = 0, **others: object) -> TransactionMetadata:
    made = TransactionMetadata.empty("tx", 7, 60_000, 0)
    start_ms = NONE if state is S.EMPTY else 5
    made.now = made.now.but(state=state, producer_epoch=epoch, start_ms=start_ms, **others)  # type: ignore[arg-type]
    return made


def through(of: TransactionMetadata, transit: TransitMetadata) -> TransitMetadata:
    of.complete_transition_to(transit)
    return of.now


class TestIncrement:
    """InitProducerId."""

    def test_the_first_epoch_is_0(self) -> None:
        of = TransactionMetadata.empty("tx", 7, 60_000, 0)
        now = through(of, of.prepare_increment_producer_epoch(30_000, None, 9))
        assert (now.producer_id, now.producer_epoch, now.last_producer_epoch) == (7, 0, NONE)
        assert (now.timeout_ms, now.last_update_ms, now.state) == (30_000, 9, S.EMPTY)

    @pytest.mark.parametrize(
        ("expected", "epoch", "last"), [(None, 6, NONE), (5, 6, 5), (4, 5, 4)], ids=["anew", "goes on", "once more"]
    )
    def test_the_next(self, expected: int | None, epoch: int, last: int) -> None:
        of = metadata(epoch=5, last_producer_epoch=4)
        now = through(of, of.prepare_increment_producer_epoch(30_000, expected, 9))
        assert (now.producer_epoch, now.last_producer_epoch) == (epoch, last)

    def test_another_epoch_is_fenced(self) -> None:
        of = metadata(epoch=5, last_producer_epoch=4)
        with pytest.raises(KafkaError) as refused:
            of.prepare_increment_producer_epoch(30_000, 3, 9)
        assert refused.value.code == 90
        assert of.pending_state is None

    def test_another_producer_id_when_they_are_used_up(self) -> None:
        of = metadata(epoch=MAX_EPOCH - 1)
        assert of.is_epoch_exhausted
        now = through(of, of.prepare_producer_id_rotation(8, 30_000, 9, record_last_epoch=True))
        assert (now.producer_id, now.producer_epoch, now.last_producer_epoch) == (8, 0, MAX_EPOCH - 1)
        assert now.prev_producer_id == 7

    @pytest.mark.parametrize("expected", [MAX_EPOCH - 2, 3, MAX_EPOCH])
    def test_another_epoch_than_the_last_one(self, expected: int) -> None:
        """Kafka fails there too, for any epoch (IllegalStateException)."""
        of = metadata(epoch=MAX_EPOCH - 1, last_producer_epoch=MAX_EPOCH - 2)
        with pytest.raises(KafkaError) as refused:
            of.prepare_increment_producer_epoch(30_000, expected, 9)
        assert refused.value.code == -1
        assert of.pending_state is None


class TestTransaction:
    def test_it_begins_with_its_first_partition(self) -> None:
        of = metadata()
        assert through(of, of.prepare_add_partitions(frozenset({T0}), 5, 1)).start_ms == 5
        now = through(of, of.prepare_add_partitions(frozenset({T1}), 6, 1))
        assert (now.state, now.partitions, now.start_ms) == (S.ONGOING, frozenset({T0, T1}), 5)

    @pytest.mark.parametrize("decision", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
    def test_version_1_keeps_the_epoch(self, decision: TransactionState) -> None:
        of = metadata(S.ONGOING, 3, partitions=frozenset({T0}))
        now = through(of, of.prepare_abort_or_commit(decision, 1, NONE, 9))
        assert (now.producer_epoch, now.partitions) == (3, frozenset({T0}))
        now = through(of, of.prepare_complete(10))
        assert (now.producer_epoch, now.partitions, now.state.value) == (
            3,
            frozenset(),
            f"Complete{decision.value[7:]}",
        )

    @pytest.mark.parametrize("decision", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
    def test_version_2_has_an_epoch_of_its_own(self, decision: TransactionState) -> None:
        of = metadata(S.ONGOING, 3, partitions=frozenset({T0}), transaction_version=2)
        now = through(of, of.prepare_abort_or_commit(decision, 2, NONE, 9))
        assert (now.producer_epoch, now.last_producer_epoch) == (4, 3)
        assert through(of, of.prepare_complete(10)).producer_epoch == 4

    def test_version_2_brings_the_next_producer_id(self) -> None:
        of = metadata(S.ONGOING, MAX_EPOCH - 1, partitions=frozenset({T0}), transaction_version=2)
        now = through(of, of.prepare_abort_or_commit(S.PREPARE_COMMIT, 2, 8, 9))
        assert (now.producer_id, now.producer_epoch, now.next_producer_id) == (7, MAX_EPOCH, 8)
        now = through(of, of.prepare_complete(10))
        assert (now.producer_id, now.producer_epoch, now.prev_producer_id, now.next_producer_id) == (8, 0, 7, NONE)

    def test_version_2_aborts_what_never_began(self) -> None:
        of = metadata(S.COMPLETE_COMMIT, 3, transaction_version=2)
        now = through(of, of.prepare_abort_or_commit(S.PREPARE_ABORT, 2, NONE, 9, no_partition_added=True))
        assert (now.state, now.producer_epoch, now.start_ms) == (S.PREPARE_ABORT, 4, 9)

    def test_a_fence_is_not_bumped_twice(self) -> None:
        of = metadata(S.ONGOING, 3)
        assert of.prepare_fence_producer_epoch().producer_epoch == 4
        of.pending_state, of.has_failed_epoch_fence = None, True
        assert of.prepare_fence_producer_epoch().producer_epoch == 3

    @pytest.mark.parametrize("changed", [{"partitions": frozenset({T0, T1})}, {"start_ms": 6}])
    def test_an_end_has_the_partitions_and_the_start_of_the_transaction(self, changed: dict[str, Any]) -> None:
        of = metadata(S.ONGOING, 3, partitions=frozenset({T0}))
        transit = of.prepare_abort_or_commit(S.PREPARE_COMMIT, 0, NONE, 9)
        with pytest.raises(AssertionError, match="to TransitMetadata"):
            of.complete_transition_to(transit.but(**changed))
        assert through(of, transit).state is S.PREPARE_COMMIT

    def test_one_change_at_a_time(self) -> None:
        of = metadata()
        of.prepare_add_partitions(frozenset({T0}), 5, 1)
        with pytest.raises(AssertionError, match="about to be"):
            of.prepare_add_partitions(frozenset({T1}), 5, 1)


@pytest.mark.parametrize("state", list(S))
def test_each_state_has_its_number(state: TransactionState) -> None:
    numbers = dict(zip(S, range(8), strict=True))
    assert state.number == numbers[state]
    assert VALID_PREVIOUS_STATES[state]


class Transactions(RuleBasedStateMachine):
    """All operations in each state that allows them: a prepared transition can be completed, epochs only grow."""

    def __init__(self) -> None:
        super().__init__()
        self.of = TransactionMetadata.empty("tx", 0, 60_000, 0)
        self.of.now = self.of.now.but(producer_epoch=0)
        self.seen: list[tuple[int, int]] = []
        self.next_id = 1

    @property
    def state(self) -> TransactionState:
        return self.of.now.state

    @precondition(lambda self: self.state in VALID_PREVIOUS_STATES[S.EMPTY])
    @rule(goes_on=st.booleans())
    def begin(self, goes_on: bool) -> None:
        if self.of.is_epoch_exhausted:
            transit = self.of.prepare_producer_id_rotation(self.next_id, 60_000, 1, goes_on)
            self.next_id += 1
        else:
            expected = self.of.now.producer_epoch if goes_on else None
            transit = self.of.prepare_increment_producer_epoch(60_000, expected, 1)
        self.of.complete_transition_to(transit)

    @precondition(lambda self: self.state in VALID_PREVIOUS_STATES[S.ONGOING] and not self.of.is_epoch_exhausted)
    @rule(partition=st.sampled_from([T0, T1]), version=st.sampled_from([1, 2]))
    def add(self, partition: TopicPartition, version: int) -> None:
        self.of.complete_transition_to(self.of.prepare_add_partitions(frozenset({partition}), 2, version))

    @precondition(lambda self: self.state is S.ONGOING)
    @rule(decision=st.sampled_from([S.PREPARE_COMMIT, S.PREPARE_ABORT]), rotates=st.booleans())
    def decide(self, decision: TransactionState, rotates: bool) -> None:
        version, next_id = self.of.now.transaction_version, NONE
        if version == 2 and rotates:
            next_id, self.next_id = self.next_id, self.next_id + 1
        self.of.complete_transition_to(self.of.prepare_abort_or_commit(decision, version, next_id, 3))

    @precondition(lambda self: self.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT))
    @rule()
    def mark(self) -> None:
        for partition in self.of.now.partitions:
            self.of.remove_partitions([partition])

    @precondition(lambda self: self.state in (S.PREPARE_COMMIT, S.PREPARE_ABORT))
    @rule()
    def complete(self) -> None:
        self.of.complete_transition_to(self.of.prepare_complete(4))

    @invariant()
    def epochs_grow(self) -> None:
        self.seen.append((self.of.now.producer_id, self.of.now.producer_epoch))
        assert self.seen == sorted(self.seen)
        assert self.of.pending_state is None
        assert bool(self.of.now.partitions) <= (self.state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT))


TestMachine = Transactions.TestCase
TestMachine.settings = settings(deadline=None)
