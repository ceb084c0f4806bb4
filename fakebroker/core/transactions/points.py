"""The events of a transaction coordinator."""

from __future__ import annotations

from collections.abc import Collection
from typing import final

from fakebroker.core.journal.transaction_events import (
    MarkersRetried,
    MarkersSent,
    ProducerFenced,
    TransitionCompleted,
    TransitionFailed,
    TransitionPrepared,
    result_of,
)
from fakebroker.core.probe import Probe
from fakebroker.core.transactions.metadata import TransactionMetadata, TransitMetadata
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition


@final
class CoordinatorPoints:
    """The events of one coordinator, which tell the progress of its transactions."""

    def __init__(self, probe: Probe, broker_id: int) -> None:
        self._probe = probe
        self._broker_id = broker_id

    def prepared(self, transaction: TransactionMetadata, transit: TransitMetadata, reason: str) -> None:
        """Tell a prepared change, which is written next."""
        probe = self._probe
        if probe.listeners:
            who, producer = (
                (transaction.transactional_id, self._broker_id),
                (transit.producer_id, transit.producer_epoch),
            )
            states = transaction.now.state.value, transit.state.value
            probe.tell(TransitionPrepared(*probe.times, *who, *producer, *states, _partitions(transit), reason))

    def completed(self, transactional_id: str, transit: TransitMetadata) -> None:
        """Tell a replicated and completed change."""
        probe = self._probe
        if probe.listeners:
            who, producer = (transactional_id, self._broker_id), (transit.producer_id, transit.producer_epoch)
            probe.tell(TransitionCompleted(*probe.times, *who, *producer, transit.state.value, _partitions(transit)))

    def failed(self, transactional_id: str, transit: TransitMetadata, error: ErrorCode) -> None:
        probe = self._probe
        if probe.listeners:
            what = transit.state.value, kafka_name(error)
            probe.tell(TransitionFailed(*probe.times, transactional_id, self._broker_id, *what))

    def fenced(self, transaction: TransactionMetadata, producer: tuple[int, int], api: str) -> None:
        """Tell that a request of this producer is about to be refused."""
        probe = self._probe
        if probe.listeners:
            who = transaction.transactional_id, self._broker_id
            probe.tell(ProducerFenced(*probe.times, *who, *producer, transaction.now.producer_epoch, api))

    def markers_sent(
        self,
        transaction: TransactionMetadata,
        leader_id: int,
        is_commit: bool,
        partitions: Collection[TopicPartition],
    ) -> None:
        """Tell markers that are about to be written."""
        probe = self._probe
        if probe.listeners:
            producer = transaction.now.producer_id, transaction.now.producer_epoch
            who, result = (transaction.transactional_id, self._broker_id), result_of(is_commit)
            probe.tell(MarkersSent(*probe.times, *who, leader_id, *producer, result, _sorted(partitions)))

    def markers_retried(self, transactional_id: str, partitions: Collection[TopicPartition], reason: str) -> None:
        probe = self._probe
        if probe.listeners:
            who = transactional_id, self._broker_id
            probe.tell(MarkersRetried(*probe.times, *who, _sorted(partitions), reason))


def _partitions(transit: TransitMetadata) -> tuple[tuple[str, int], ...]:
    return tuple([(topic, index) for topic, indexes in transit.by_topic for index in indexes])


def _sorted(partitions: Collection[TopicPartition]) -> tuple[tuple[str, int], ...]:
    return tuple([(topic, index) for topic, index in sorted(partitions)])
