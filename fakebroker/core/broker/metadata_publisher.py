"""Tells the coordinators of all brokers what has changed: who leads their partitions, which topics there are.

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


@final
class BrokerMetadataPublisher(MetadataPublisher):
    """`brokers` are those that run."""

    def __init__(self, brokers: Mapping[int, Broker]) -> None:
        self._brokers = brokers

    def topic_created(self, topic: Topic) -> None:
        self.partitions_created(topic)

    def partitions_created(self, topic: Topic) -> None:
        for partition in topic.partitions:
            self.leader_changed(partition)
        for broker in self._brokers.values():
            broker.groups.on_topics_changed([topic.name], ())

    def topic_deleted(self, topic: Topic) -> None:
        for broker in self._brokers.values():
            if topic.name == GROUP_METADATA_TOPIC_NAME:
                for index in range(len(topic.partitions)):
                    broker.groups.on_resignation(index, None)
            if topic.name == TRANSACTION_STATE_TOPIC_NAME:
                for index in range(len(topic.partitions)):
                    broker.transactions.on_resignation(index)
            broker.groups.on_topics_changed((), [topic])

    def leader_changed(self, partition: Partition) -> None:
        topic, index = partition.topic_partition.topic, partition.topic_partition.partition
        if topic == TRANSACTION_STATE_TOPIC_NAME:
            for broker_id, broker in self._brokers.items():
                if broker_id == partition.leader_id:
                    broker.transactions.on_election(index, partition.leader_epoch)
                else:
                    broker.transactions.on_resignation(index)
        if topic != GROUP_METADATA_TOPIC_NAME:
            return
        for broker_id, broker in self._brokers.items():
            if broker_id == partition.leader_id:
                broker.groups.on_election(index, partition.leader_epoch)
            else:
                broker.groups.on_resignation(index, partition.leader_epoch)
