"""Inform the coordinators of all brokers of changes: the leaders of their partitions, and the topics.

Theory   A paused broker gets no changes, nor does one that does not reach the controller. Afterwards it gets all that
         it missed as one change: the present leaders where the leadership is another one, and the topics created and
         deleted.
Source   core/.../server/metadata/BrokerMetadataPublisher.scala onMetadataUpdate, updateCoordinator @ 4.0.
Differs  One for all brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from fakebroker.core.broker.broker import Broker
from fakebroker.core.controller.metadata_publisher import MetadataPublisher
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

_COORDINATED = GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME


@final
class _MissedChanges:
    """The changes that a paused broker missed: partitions of coordinators with another leadership, and topics."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, None] = {}
        self.changed: list[str] = []
        self.deleted: list[Topic] = []


@final
class BrokerMetadataPublisher(MetadataPublisher):
    """The publisher of all brokers. `brokers` are the running ones."""

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self._brokers = brokers
        self._missed: dict[int, _MissedChanges] = {}

    def pause_broker(self, broker_id: int) -> None:
        """Collect the changes for a broker that gets none from now on."""
        self._missed[broker_id] = _MissedChanges()

    def is_paused(self, broker_id: int) -> bool:
        return broker_id in self._missed

    def resume_broker(self, broker_id: int, broker: Broker) -> None:
        """Deliver the changes that a broker missed."""
        missed = self._missed.pop(broker_id)
        for topic in missed.deleted:
            _tell_of_deleted(broker, topic)
        for partition in missed.partitions:
            if not partition.is_deleted:
                _announce_leader(broker_id, broker, partition)
        if missed.changed:
            broker.groups.on_topics_changed(missed.changed, ())

    def forget_broker(self, broker_id: int) -> None:
        """Drop the changes of a broker that will not be resumed."""
        self._missed.pop(broker_id, None)

    def _hearing(self) -> list[Broker]:
        return [broker for broker_id, broker in self._brokers.items() if broker_id not in self._missed]

    def topic_created(self, topic: Topic) -> None:
        self.partitions_created(topic)

    def partitions_created(self, topic: Topic) -> None:
        if topic.name in _COORDINATED:
            for partition in topic.partitions:
                self.leader_changed(partition)
        for broker in self._hearing():
            broker.groups.on_topics_changed([topic.name], ())
        for missed in self._missed.values():
            missed.changed.append(topic.name)

    def topic_deleted(self, topic: Topic) -> None:
        for broker in self._hearing():
            _tell_of_deleted(broker, topic)
        for missed in self._missed.values():
            missed.deleted.append(topic)

    def leader_changed(self, partition: Partition) -> None:
        if partition.topic_partition.topic not in _COORDINATED:
            return
        for broker in self._hearing():
            _announce_leader(broker.broker_id, broker, partition)
        for missed in self._missed.values():
            missed.partitions[partition] = None


def _tell_of_deleted(broker: Broker, topic: Topic) -> None:
    if topic.name == GROUP_METADATA_TOPIC_NAME:
        for index in range(len(topic.partitions)):
            broker.groups.on_resignation(index, None)
    if topic.name == TRANSACTION_STATE_TOPIC_NAME:
        for index in range(len(topic.partitions)):
            broker.transactions.on_resignation(index)
    broker.groups.on_topics_changed((), [topic])


def _announce_leader(broker_id: int, broker: Broker, partition: Partition) -> None:
    topic, index = partition.topic_partition.topic, partition.topic_partition.partition
    leads, epoch = broker_id == partition.leader_id, partition.leader_epoch
    if topic == TRANSACTION_STATE_TOPIC_NAME:
        if leads:
            broker.transactions.on_election(index, epoch)
        else:
            broker.transactions.on_resignation(index)
    elif leads:
        broker.groups.on_election(index, epoch)
    else:
        broker.groups.on_resignation(index, epoch)
