"""The part of the recorder that records events of transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakebroker.core.clock import HasNow
from fakebroker.core.journal import events, transaction_events
from fakebroker.core.journal.journal import Journal
from fakebroker.core.probe import Listener
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition

Partitions = tuple[tuple[str, int], ...]


class TransactionRecorder(Listener):
    """A recorder of transaction events. The journal gets them with the time of the clock."""

    def __init__(self, journal: Journal, clock: HasNow) -> None:
        self._journal = journal
        self._clock = clock

    def _record(self, kind: type[events.Event], *values: object) -> None:
        now = self._clock.now
        self._journal.append(kind(now.mono_ms, now.wall_ms, *values))  # type: ignore[arg-type]

    def transition_prepared(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        state: str,
        next_state: str,
        partitions: Sequence[TopicPartition],
        reason: str,
    ) -> None:
        kind, told = transaction_events.TransitionPrepared, _plain(partitions)
        states = state, next_state
        self._record(kind, transactional_id, coordinator_id, producer_id, producer_epoch, *states, told, reason)

    def transition_completed(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        state: str,
        partitions: Sequence[TopicPartition],
    ) -> None:
        kind, told = transaction_events.TransitionCompleted, _plain(partitions)
        self._record(kind, transactional_id, coordinator_id, producer_id, producer_epoch, state, told)

    def transition_failed(
        self, transactional_id: str, coordinator_id: int, next_state: str, error_code: ErrorCode
    ) -> None:
        error = kafka_name(error_code)
        self._record(transaction_events.TransitionFailed, transactional_id, coordinator_id, next_state, error)

    def producer_fenced(
        self,
        transactional_id: str,
        coordinator_id: int,
        producer_id: int,
        producer_epoch: int,
        current_epoch: int,
        api: str,
    ) -> None:
        kind = transaction_events.ProducerFenced
        self._record(kind, transactional_id, coordinator_id, producer_id, producer_epoch, current_epoch, api)

    def partitions_verified(
        self,
        transactional_id: str,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        adds: bool,
        errors: Mapping[TopicPartition, ErrorCode],
    ) -> None:
        kind = transaction_events.PartitionsVerified
        told = tuple((*partition, kafka_name(errors[partition])) for partition in sorted(errors))
        self._record(kind, transactional_id, leader_id, producer_id, producer_epoch, adds, told)

    def markers_sent(
        self,
        transactional_id: str,
        coordinator_id: int,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        partitions: Sequence[TopicPartition],
    ) -> None:
        kind, told = transaction_events.MarkersSent, _plain(partitions)
        producer = producer_id, producer_epoch
        self._record(kind, transactional_id, coordinator_id, leader_id, *producer, _result(is_commit), told)

    def markers_retried(
        self, transactional_id: str, coordinator_id: int, partitions: Sequence[TopicPartition], reason: str
    ) -> None:
        kind = transaction_events.MarkersRetried
        self._record(kind, transactional_id, coordinator_id, _plain(partitions), reason)

    def transaction_began(
        self, topic_partition: TopicPartition, leader_id: int, producer_id: int, producer_epoch: int, first_offset: int
    ) -> None:
        kind = transaction_events.TransactionBegan
        self._record(kind, leader_id, *topic_partition, producer_id, producer_epoch, first_offset)

    def marker_written(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        offset: int,
    ) -> None:
        kind, result = transaction_events.MarkerWritten, _result(is_commit)
        producer = producer_id, producer_epoch
        self._record(kind, leader_id, *topic_partition, *producer, coordinator_epoch, result, offset)

    def stable_offset_moved(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        last_stable_offset: int,
        first_unstable_offset: int,
        open_transactions: int,
    ) -> None:
        offsets = last_stable_offset, first_unstable_offset
        self._record(transaction_events.StableOffsetMoved, *topic_partition, leader_epoch, *offsets, open_transactions)

    def offsets_pending(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        producer_id: int,
        producer_epoch: int,
        offsets: Sequence[tuple[str, int, int]],
    ) -> None:
        kind, producer = transaction_events.OffsetsPending, (producer_id, producer_epoch)
        self._record(kind, group_id, member_id, generation_id, *producer, tuple(offsets))

    def pending_offsets_ended(
        self, producer_id: int, producer_epoch: int, is_commit: bool, offsets: Sequence[tuple[str, str, int, int]]
    ) -> None:
        kind = transaction_events.PendingOffsetsEnded
        self._record(kind, producer_id, producer_epoch, _result(is_commit), tuple(offsets))


def _plain(partitions: Sequence[TopicPartition]) -> Partitions:
    return tuple((topic, partition) for topic, partition in partitions)


def _result(is_commit: bool) -> str:
    return "COMMIT" if is_commit else "ABORT"
