"""What every broker knows of the cluster: its topics by name and by id, and the brokers that run.

Theory   Whoever has a name looks it up here, once for each partition of a request, and from then on hands on the
         partition itself.
         Each broker has a view. As long as it hears the controller, that is the controller's own, and whatever changes
         it knows at once. A view that is frozen tells what was so then (stale_views.py).
Source   core/.../server/metadata/KRaftMetadataCache.scala; metadata/.../image/{TopicsImage,ClusterImage}.java @ 4.0.
Differs  Of topics that are deleted a frozen view knows only the names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, final
from uuid import UUID

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.controller.metadata_publisher import MetadataPublisher
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import Partition
from fakebroker.core.security.identity import Listener
from fakebroker.protocol import topic_name
from fakebroker.protocol.produce_response import NodeEndpoint


class InSync(NamedTuple):
    """In assignment order: the ISR, who is eligible besides, and who led last."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


def in_sync_of(partition: Partition) -> InSync:
    return InSync(tuple(partition.isr_ids), partition.elr, partition.last_known_elr)


@final
class MetadataCache:
    """Topics are added and removed by the controller. `publisher` tells those who have to act. `decisions` is how
    many the controller has made so far, of topics and of partitions; of a view that is frozen, by then."""

    def __init__(self, cluster_id: str, registry: BrokerRegistry) -> None:
        self.cluster_id = cluster_id
        self.publisher = MetadataPublisher()
        self._decisions = 0
        self._registry = registry
        self._truth = self
        # Of a view that is frozen.
        self._alive: list[int] | None = None
        self._isrs: dict[Partition, InSync] = {}
        self._topics: dict[str, Topic] = {}
        self._topics_by_id: dict[int, Topic] = {}  # its number: a UUID hashes and compares in Python
        self._topics_by_raw_id: dict[bytes, Topic] = {}
        self._names_by_unified_name: defaultdict[str, dict[str, None]] = defaultdict(dict)  # the oldest first

    # The views of brokers.

    def of_broker(self) -> MetadataCache:
        """The view of a broker that hears."""
        view = MetadataCache(self.cluster_id, self._registry)
        view._truth = self
        view.thaw()
        return view

    def freeze(self) -> None:
        """Whatever is decided from now on, this view does not know."""
        self._decisions = self._truth.decisions
        self._alive = self._registry.alive(self._registry.broker_ids)
        self._topics, self._topics_by_id, self._topics_by_raw_id = {}, {}, {}
        for topic in self._truth.topics():
            copied = Topic(topic.name, topic.topic_id, list(topic.partitions), topic.configs, topic.effective_configs)
            self._topics[topic.name] = self._topics_by_id[topic.topic_id.int] = copied
            self._topics_by_raw_id[topic.topic_id.bytes] = copied
            self._isrs |= {each: in_sync_of(each) for each in topic.partitions}

    def thaw(self) -> None:
        """Know what there is to know."""
        truth = self._truth
        self._alive = None
        self._isrs = {}
        self._topics, self._topics_by_id = truth._topics, truth._topics_by_id
        self._topics_by_raw_id = truth._topics_by_raw_id

    @property
    def decisions(self) -> int:
        return self._truth._decisions if self._alive is None else self._decisions

    @decisions.setter
    def decisions(self, decisions: int) -> None:
        self._decisions = decisions

    @property
    def has_missed(self) -> bool:
        """Whether anything was decided since it froze, apart from the ISR."""
        registry = self._registry
        return self.decisions != self._truth.decisions or self._alive != registry.alive(registry.broker_ids)

    def keep(self, partition: Partition) -> None:
        """Of a view that is frozen: this is what it knows of a partition."""
        topic, index = partition.topic_partition
        before = self._topics[topic].partitions[index]
        self._topics[topic].partitions[index] = partition
        if before in self._isrs:
            self._isrs[partition] = self._isrs.pop(before)

    def in_sync(self, partition: Partition) -> InSync:
        """Who is in sync, as this view knows."""
        return self._isrs.get(partition) or in_sync_of(partition)

    def isr_ids(self, partition: Partition) -> tuple[int, ...]:
        """The ISR alone."""
        known = self._isrs.get(partition)
        return tuple(partition.isr_ids) if known is None else known.isr

    # Topics.

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self._topics_by_id.get(topic_id.int)

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
        self._topics[topic.name] = self._topics_by_id[topic.topic_id.int] = topic
        self._topics_by_raw_id[topic.topic_id.bytes] = topic
        self.decisions += 1 + len(topic.partitions)
        self.publisher.topic_created(topic)

    def remove(self, topic: Topic) -> None:
        self.decisions += 1
        del self._topics[topic.name]
        del self._topics_by_id[topic.topic_id.int]
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
        return min(self.alive_ids, default=-1)

    @property
    def alive_ids(self) -> list[int]:
        """Of the brokers that run."""
        return self._registry.alive(self._registry.broker_ids) if self._alive is None else self._alive

    def offline_ids(self, partition: Partition) -> list[int]:
        """Replicas on brokers that do not run, in assignment order."""
        if self._alive is None:
            return partition.offline_ids
        return [broker_id for broker_id in partition.replicas if broker_id not in self._alive]

    def alive_brokers(self, listener: Listener) -> Sequence[NodeEndpoint]:
        """Those that run, and where they listen for who came by such a listener."""
        return [self._registry[broker_id].endpoint(listener) for broker_id in self.alive_ids]
