"""What every broker knows of the cluster: its topics by name and by id, and the brokers that run.

Theory   Whoever has a name looks it up here, once for each partition of a request, and from then on hands on the
         partition itself.
Source   core/.../server/metadata/KRaftMetadataCache.scala; metadata/.../image/{TopicsImage,ClusterImage}.java @ 4.0.
Differs  One view for all brokers: whatever changes, everybody knows at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import final
from uuid import UUID

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.controller.metadata_publisher import MetadataPublisher
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import Partition
from fakebroker.core.security.identity import Listener
from fakebroker.protocol import topic_name
from fakebroker.protocol.produce_response import NodeEndpoint


@final
class MetadataCache:
    """Topics are added and removed by the controller. `publisher` tells those who have to act. `decisions` is how
    many the controller has made so far, of topics and of partitions."""

    def __init__(self, cluster_id: str, registry: BrokerRegistry) -> None:
        self.cluster_id = cluster_id
        self.publisher = MetadataPublisher()
        self.decisions = 0
        self._registry = registry
        self._topics: dict[str, Topic] = {}
        self._topics_by_id: dict[UUID, Topic] = {}
        self._topics_by_raw_id: dict[bytes, Topic] = {}
        self._names_by_unified_name: defaultdict[str, dict[str, None]] = defaultdict(dict)  # the oldest first

    # Topics.

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self._topics_by_id.get(topic_id)

    def topic_by_raw_id(self, topic_id: bytes) -> Topic | None:
        """The same by the sixteen bytes of the id."""
        return self._topics_by_raw_id.get(topic_id)

    def topic_names(self) -> list[str]:
        """In the order in which they were made."""
        return list(self._topics)

    @property
    def names(self) -> Collection[str]:
        """The same, to look one up."""
        return self._topics.keys()

    def topics(self) -> Collection[Topic]:
        """The same, the topics themselves."""
        return self._topics.values()

    def find_partition(self, topic: str, index: int) -> Partition | None:
        found = self._topics.get(topic)
        if found is None:
            return None
        partitions = found.partitions
        return partitions[index] if 0 <= index < len(partitions) else None

    def partitions(self) -> Iterator[Partition]:
        """Of all topics."""
        for topic in self._topics.values():
            yield from topic.partitions

    @property
    def names_by_unified_name(self) -> Mapping[str, Collection[str]]:
        """Finds the topics whose names collide with another one."""
        return self._names_by_unified_name

    def add(self, topic: Topic) -> None:
        self._names_by_unified_name[topic_name.unify_collision_chars(topic.name)][topic.name] = None
        self._topics[topic.name] = self._topics_by_id[topic.topic_id] = topic
        self._topics_by_raw_id[topic.topic_id.bytes] = topic
        self.decisions += 1 + len(topic.partitions)
        self.publisher.topic_created(topic)

    def remove(self, topic: Topic) -> None:
        self.decisions += 1
        del self._topics[topic.name]
        del self._topics_by_id[topic.topic_id]
        del self._topics_by_raw_id[topic.topic_id.bytes]
        unified_name = topic_name.unify_collision_chars(topic.name)
        del self._names_by_unified_name[unified_name][topic.name]
        if not self._names_by_unified_name[unified_name]:
            del self._names_by_unified_name[unified_name]
        self.publisher.topic_deleted(topic)

    # Brokers.

    @property
    def racks(self) -> Mapping[int, str]:
        """Of the brokers that have one."""
        brokers = ((broker_id, self._registry[broker_id].rack) for broker_id in self._registry.broker_ids)
        return {broker_id: rack for broker_id, rack in brokers if rack is not None}

    @property
    def controller_id(self) -> int:
        """Any broker that is alive, as KRaft tells clients; here the first. -1 if there is none."""
        return min(self._registry.alive(self._registry.broker_ids), default=-1)

    def alive_brokers(self, listener: Listener) -> Sequence[NodeEndpoint]:
        """Those that run, and where they listen for who came by such a listener."""
        registry = self._registry
        return [registry[broker_id].endpoint(listener) for broker_id in registry.alive(registry.broker_ids)]
