"""A broker's knowledge of the cluster: its topics by name and by id, and the running brokers.

Theory   A name is looked up here once for each partition of a request; after that the partition itself is passed on.
         Each broker has a view. As long as the broker reaches the controller, its view is the controller's own, and it
         knows every change at once. A frozen view has the state at the time when it was frozen (stale_views.py).
Source   core/.../server/metadata/KRaftMetadataCache.scala; metadata/.../image/{TopicsImage,ClusterImage}.java @ 4.0.
Differs  A frozen view knows only the names of deleted topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final
from uuid import UUID

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.controller.metadata_publisher import MetadataPublisher
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import Partition
from fakebroker.core.security.identity import Listener
from fakebroker.protocol import topic_name
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices

_COPIED_IN_A_SLICE: Final = 256  # partitions, some 2 us each
_CHANGED_IN_A_SLICE: Final = 128  # up to 50 us each; with fewer, no request sees a state in between


class InSync(NamedTuple):
    """Broker ids in assignment order: the ISR, the eligible ones besides, and the last leader."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


def in_sync_of(partition: Partition) -> InSync:
    return InSync(tuple(partition.isr_ids), partition.elr, partition.last_known_elr)


@final
class MetadataCache:
    """The metadata. The controller adds and removes topics. `publisher` informs those that have to react. `decisions`
    counts the controller's decisions on topics and partitions, in a frozen view up to its freezing.
    `highest_leader_epoch` is that of all partitions, deleted ones included; only the controller's own has it."""

    def __init__(self, cluster_id: str, registry: BrokerRegistry) -> None:
        self.cluster_id = cluster_id
        self.publisher = MetadataPublisher()
        self._decisions = 0
        self.highest_leader_epoch = -1
        self._registry = registry
        self._truth = self
        # Of a frozen view.
        self._alive: list[int] | None = None
        self._isrs: dict[Partition, InSync] = {}
        self._topics: dict[str, Topic] = {}
        self._topics_by_id: dict[int, Topic] = {}  # by the number: a UUID hashes and compares in Python
        self._topics_by_raw_id: dict[bytes, Topic] = {}
        self._names_by_unified_name: defaultdict[str, dict[str, None]] = defaultdict(dict)  # the oldest first

    # The views of brokers.

    def of_broker(self) -> MetadataCache:
        """Return the view of a broker that reaches the controller."""
        view = MetadataCache(self.cluster_id, self._registry)
        view._truth = self
        view.thaw()
        return view

    def freeze(self) -> Slices[None]:
        """Freeze the view: it knows no later decision. It is copied in slices, and frozen at the end."""
        topics: dict[str, Topic] = {}
        by_id: dict[int, Topic] = {}
        by_raw_id: dict[bytes, Topic] = {}
        isrs: dict[Partition, InSync] = {}
        copied = 0
        for topic in list(self._truth.topics()):
            partitions = list(topic.partitions)
            kept = Topic(topic.name, topic.topic_id, partitions, topic.configs, topic.effective_configs)
            topics[topic.name] = by_id[topic.topic_id.int] = by_raw_id[topic.topic_id.bytes] = kept
            for partition in partitions:
                isrs[partition] = in_sync_of(partition)
                copied += 1
                if copied % _COPIED_IN_A_SLICE == 0:
                    yield
        self._decisions = self._truth.decisions
        self._alive = self._registry.alive(self._registry.broker_ids)
        self._isrs, self._topics, self._topics_by_id, self._topics_by_raw_id = isrs, topics, by_id, by_raw_id

    def thaw(self) -> list[dict[Any, Any]]:
        """Unfreeze the view: it knows all decisions. Return what it has kept, which takes long to free."""
        truth = self._truth
        kept: list[dict[Any, Any]] = [self._isrs, self._topics, self._topics_by_id, self._topics_by_raw_id]
        self._alive = None
        self._isrs = {}
        self._topics, self._topics_by_id = truth._topics, truth._topics_by_id
        self._topics_by_raw_id = truth._topics_by_raw_id
        return kept

    @property
    def decisions(self) -> int:
        return self._truth._decisions if self._alive is None else self._decisions

    @decisions.setter
    def decisions(self, decisions: int) -> None:
        self._decisions = decisions

    @property
    def has_missed(self) -> bool:
        """True if something other than an ISR changed since the view was frozen."""
        registry = self._registry
        return self.decisions != self._truth.decisions or self._alive != registry.alive(registry.broker_ids)

    def keep(self, partition: Partition) -> None:
        """Replace a partition in a frozen view."""
        topic, index = partition.topic_partition
        before = self._topics[topic].partitions[index]
        self._topics[topic].partitions[index] = partition
        if before in self._isrs:
            self._isrs[partition] = self._isrs.pop(before)

    def learn(self, stale: Partition, partition: Partition) -> None:
        """Replace a partition in a frozen view by the present one."""
        topic, index = partition.topic_partition
        self._isrs.pop(stale, None)
        self._topics[topic].partitions[index] = partition

    def note_leader_epoch(self, leader_epoch: int) -> None:
        """Note the leader epoch of a partition that is new, or has another leader, or none."""
        self.highest_leader_epoch = max(self.highest_leader_epoch, leader_epoch)

    def in_sync(self, partition: Partition) -> InSync:
        """Return the in-sync replicas, as far as this view knows."""
        return self._isrs.get(partition) or in_sync_of(partition)

    def isr_ids(self, partition: Partition) -> tuple[int, ...]:
        """Return the ISR alone."""
        known = self._isrs.get(partition)
        return tuple(partition.isr_ids) if known is None else known.isr

    # Topics.

    def topic(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self._topics_by_id.get(topic_id.int)

    def topic_by_raw_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic by the sixteen bytes of its id."""
        return self._topics_by_raw_id.get(topic_id)

    def topic_names(self) -> list[str]:
        """Return the names in the order of creation."""
        return list(self._topics)

    @property
    def names(self) -> Collection[str]:
        """The names, for look-ups."""
        return self._topics.keys()

    def topics(self) -> Collection[Topic]:
        """Return the topics in the order of creation."""
        return self._topics.values()

    def find_partition(self, topic: str, index: int) -> Partition | None:
        existing = self._topics.get(topic)
        if existing is None:
            return None
        partitions = existing.partitions
        return partitions[index] if 0 <= index < len(partitions) else None

    def partitions(self) -> Iterator[Partition]:
        """Yield the partitions of all topics."""
        for topic in self._topics.values():
            yield from topic.partitions

    def each_partition(self, do: Callable[[Partition], None]) -> Slices[None]:
        """Do something with each partition, unless it is deleted meanwhile. A topic that comes meanwhile has to begin
        with the new state of the cluster."""
        done = 0
        for topic in list(self._topics.values()):
            for partition in list(topic.partitions):
                if done == _CHANGED_IN_A_SLICE:
                    yield
                    done = 0
                done += 1
                if not partition.is_deleted:
                    do(partition)

    @property
    def names_by_unified_name(self) -> Mapping[str, Collection[str]]:
        """The names of topics by their unified name, for topics with colliding names."""
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
        """The racks of the brokers that have one."""
        brokers = ((broker_id, self._registry[broker_id].rack) for broker_id in self._registry.broker_ids)
        return {broker_id: rack for broker_id, rack in brokers if rack is not None}

    @property
    def controller_id(self) -> int:
        """Any live broker, as KRaft tells clients; here the first. -1 if there is none."""
        return min(self.alive_ids, default=-1)

    @property
    def alive_ids(self) -> list[int]:
        """The ids of the running brokers."""
        return self._registry.alive(self._registry.broker_ids) if self._alive is None else self._alive

    def is_registered(self, listener: Listener) -> bool:
        """Return True if the brokers have registered this listener, so that its clients are told their addresses."""
        return self._registry.is_registered(listener)

    def offline_ids(self, partition: Partition) -> list[int]:
        """Return the replicas on brokers that are not running, in assignment order."""
        if self._alive is None:
            return [broker_id for broker_id in partition.replicas if not self._registry.is_alive(broker_id)]
        return [broker_id for broker_id in partition.replicas if broker_id not in self._alive]

    def alive_brokers(self, listener: Listener) -> Sequence[NodeEndpoint]:
        """Return the running brokers with their endpoints for clients of this listener: none if it is not
        registered."""
        if not self.is_registered(listener):
            return ()
        return [self._registry[broker_id].endpoint(listener) for broker_id in self.alive_ids]
