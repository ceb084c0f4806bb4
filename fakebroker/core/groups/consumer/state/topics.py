"""The topics of the cluster, as a group sees them: what its members are subscribed to, and whether that has changed.

Theory   A group remembers a hash of the topics to which its members are subscribed: ids, names, partitions, the racks
         where they lie. Another hash means another group epoch.
Source   group-coordinator/.../modern/{TopicIds,ModernGroup}.java, .../Utils.java computeTopicHash, computeGroupHash
         @ 4.4.
Differs  The hash is BLAKE2b cut to 64 bits, not XXH3: it is compared with itself alone. As in Kafka a group without
         topics has 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import Assignment, ConsumerGroupMember, TopicPartitions
from fakebroker.protocol.group_records.many_names import MANY, Names


class Topic(Protocol):
    """A topic; of its partitions only their number counts here."""

    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[object]: ...


class Topics(Protocol):
    """What a coordinator knows of the topics.

    version                 of the metadata, in the whole cluster
    version_of_new_topics   that at which there was a topic more for the last time, or of when this coordinator began
    changes                 how often anything has changed since this coordinator began
    """

    @property
    def version(self) -> int: ...
    @property
    def version_of_new_topics(self) -> int: ...
    @property
    def changes(self) -> int: ...
    def topic(self, name: str, /) -> Topic | None: ...
    def topic_by_id(self, topic_id: UUID, /) -> Topic | None: ...
    def topic_names(self) -> Sequence[str]: ...
    def partition_racks(self, topic: str, /) -> Sequence[Sequence[str]]:
        """Of each partition the racks of its replicas; empty if no broker has one."""
        ...


class ResolvedRegularExpression(NamedTuple):
    """The topics that a pattern matched when it was looked up, at that version of the metadata and that wall time."""

    topics: frozenset[str]
    version: int = -1
    timestamp_ms: int = -1


NEVER_RESOLVED = ResolvedRegularExpression(frozenset())


class SubscribedNames(NamedTuple):
    """The topics that a member names, and those that its pattern matches as far as is known."""

    names: Names
    matched: frozenset[str]

    def topic_ids(self, topics: Topics) -> frozenset[UUID]:
        """Of those that exist."""
        return topic_ids(self.names, topics) | topic_ids(self.matched, topics)


def subscribed_topic_names(
    member: ConsumerGroupMember, resolved: Callable[[str], ResolvedRegularExpression | None]
) -> SubscribedNames:
    found = resolved(member.regex) if member.regex else None
    return SubscribedNames(member.topic_names, found.topics if found else frozenset())


def _existing(names: Collection[str], topics: Topics) -> Iterable[Topic]:
    """Return the topics that exist, of names among which one is found at once. Of very many names, which a client may
    have made up, most do not: then the topics are looked up among the names."""
    looked_up = names if len(names) <= MANY else [name for name in topics.topic_names() if name in names]
    return (topic for topic in map(topics.topic, looked_up) if topic is not None)


def topic_ids(names: Collection[str], topics: Topics) -> frozenset[UUID]:
    """Of those that exist."""
    return frozenset(topic.topic_id for topic in _existing(names, topics))


def partition_counts(topic_ids: Iterable[UUID], topics: Topics) -> dict[UUID, int]:
    found = {topic_id: topics.topic_by_id(topic_id) for topic_id in topic_ids}
    return {topic_id: len(topic.partitions) for topic_id, topic in found.items() if topic is not None}


def metadata_hash(names: Collection[str], topics: Topics) -> int:
    """Of the topics that exist. A signed number of 64 bits."""
    digest = blake2b(digest_size=8)
    found = {topic.name: topic for topic in _existing(names, topics)}
    for name in sorted(found):
        topic = found[name]
        digest.update(topic.topic_id.bytes)
        digest.update(f"{len(name)}:{name}:{len(topic.partitions)}".encode())
        for racks in topics.partition_racks(name):
            digest.update(";".join(f"{len(rack)}:{rack}" for rack in sorted(racks)).encode() + b"|")
    return int.from_bytes(digest.digest(), "big", signed=True) if found else 0


def by_id(owned: Mapping[str, Iterable[int]], topics: Topics) -> Assignment:
    """Partitions by the ids of their topics. Topics that do not exist are left out."""
    found = ((topics.topic(name), partitions) for name, partitions in owned.items())
    return {topic.topic_id: frozenset(partitions) for topic, partitions in found if topic is not None}


def by_name(assignment: Assignment, topics: Topics) -> dict[str, list[int]]:
    """The same the other way."""
    found = ((topics.topic_by_id(topic_id), partitions) for topic_id, partitions in assignment.items())
    return {topic.name: sorted(partitions) for topic, partitions in found if topic is not None}


def as_topic_partitions(assignment: Assignment) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id, sorted(partitions)) for topic_id, partitions in assignment.items()]
