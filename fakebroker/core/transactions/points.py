"""The probe points of a transaction coordinator."""

from __future__ import annotations

from collections.abc import Collection
from typing import final

from fakebroker.core.probe import Probe
from fakebroker.core.transactions.metadata import TransactionMetadata, TransitMetadata
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition


@final
class CoordinatorPoints:
    """The points of one coordinator that report the progress of its transactions."""

    def __init__(self, probe: Probe, broker_id: int) -> None:
        self._probe = probe
        self._broker_id = broker_id

    def prepared(self, transaction: TransactionMetadata, transit: TransitMetadata, reason: str) -> None:
        """Report a prepared change, which is written next."""
        for listener in self._probe.listeners:
            listener.transition_prepared(
                transaction.transactional_id,
                self._broker_id,
                transit.producer_id,
                transit.producer_epoch,
                transaction.now.state.value,
                transit.state.value,
                _partitions(transit),
                reason,
            )

    def completed(self, transactional_id: str, transit: TransitMetadata) -> None:
        """Report a replicated and completed change."""
        for listener in self._probe.listeners:
            listener.transition_completed(
                transactional_id,
                self._broker_id,
                transit.producer_id,
                transit.producer_epoch,
                transit.state.value,
                _partitions(transit),
            )

    def failed(self, transactional_id: str, transit: TransitMetadata, error: ErrorCode) -> None:
        for listener in self._probe.listeners:
            listener.transition_failed(transactional_id, self._broker_id, transit.state.value, error)

    def fenced(self, transaction: TransactionMetadata, producer: tuple[int, int], api: str) -> None:
        """Report a request of this producer that is about to be refused."""
        for listener in self._probe.listeners:
            listener.producer_fenced(
                transaction.transactional_id, self._broker_id, *producer, transaction.now.producer_epoch, api
            )

    def markers_sent(
        self,
        transaction: TransactionMetadata,
        leader_id: int,
        is_commit: bool,
        partitions: Collection[TopicPartition],
    ) -> None:
        """Report markers that are about to be written."""
        now = transaction.now
        for listener in self._probe.listeners:
            listener.markers_sent(
                transaction.transactional_id,
                self._broker_id,
                leader_id,
                now.producer_id,
                now.producer_epoch,
                is_commit,
                sorted(partitions),
            )

    def markers_retried(self, transactional_id: str, partitions: Collection[TopicPartition], reason: str) -> None:
        for listener in self._probe.listeners:
            listener.markers_retried(transactional_id, self._broker_id, sorted(partitions), reason)


def _partitions(transit: TransitMetadata) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for topic, indexes in transit.by_topic for index in indexes]
