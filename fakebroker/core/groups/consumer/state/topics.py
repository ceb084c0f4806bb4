"""The topics of the cluster, as a group sees them: its subscribed topics, and whether they have changed.

Theory   A group stores a hash of its subscribed topics: ids, names, partitions, and the racks of the replicas. Another
         hash means a new group epoch.
Source   group-coordinator/.../modern/{TopicIds,ModernGroup}.java, .../Utils.java computeTopicHash, computeGroupHash
         @ 4.4.
Differs  The hash is BLAKE2b cut to 64 bits, not XXH3, since it is only compared with itself. As in Kafka, it is 0 for a
         group without topics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import Assignment, ConsumerGroupMember, ReportedPartitions
from fakebroker.protocol.group_records.many_names import MANY, Names


class TopicImage(Protocol):
    """A topic. Only the number of its partitions counts here."""

    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sequence[object]: ...


class Topics(Protocol):
    """The topics that a coordinator knows.

    version                 version of the cluster metadata
    version_of_new_topics   version at which the last topic was added, or this coordinator began
    changes                 number of changes since this coordinator began
    """

    @property
    def version(self) -> int: ...
    @property
    def version_of_new_topics(self) -> int: ...
    @property
    def changes(self) -> int: ...
    def topic(self, name: str, /) -> TopicImage | None: ...
    def topic_by_id(self, topic_id: UUID, /) -> TopicImage | None: ...
    def topic_names(self) -> Sequence[str]: ...
    def partition_racks(self, topic: str, /) -> Sequence[Sequence[str]]:
        """Return the racks of the replicas, by partition; empty if no broker has a rack."""
        ...


class ResolvedRegularExpression(NamedTuple):
    """The topics that a pattern matched, with the metadata version and the wall time."""

    topics: frozenset[str]
    version: int = -1
    timestamp_ms: int = -1


NEVER_RESOLVED = ResolvedRegularExpression(frozenset())


class SubscribedNames(NamedTuple):
    """The topics that a member names, and those that its pattern is known to match."""

    names: Names
    matched: frozenset[str]

    def topic_ids(self, topics: Topics) -> frozenset[UUID]:
        """Return the ids of the topics that exist."""
        return topic_ids(self.names, topics) | topic_ids(self.matched, topics)


def subscribed_topic_names(
    member: ConsumerGroupMember, resolved: Callable[[str], ResolvedRegularExpression | None]
) -> SubscribedNames:
    expression = resolved(member.regex) if member.regex else None
    return SubscribedNames(member.topic_names, expression.topics if expression else frozenset())


def _existing(names: Collection[str], topics: Topics) -> Iterable[TopicImage]:
    """Return the topics that exist. `names` must be fast to search. Clients may have made up very many names, most of
    which do not exist. Then the topics are looked up among the names."""
    looked_up = names if len(names) <= MANY else [name for name in topics.topic_names() if name in names]
    return (topic for topic in map(topics.topic, looked_up) if topic is not None)


def topic_ids(names: Collection[str], topics: Topics) -> frozenset[UUID]:
    """Return the ids of the topics that exist."""
    return frozenset(topic.topic_id for topic in _existing(names, topics))


def partition_counts(topic_ids: Iterable[UUID], topics: Topics) -> dict[UUID, int]:
    existing = {topic_id: topics.topic_by_id(topic_id) for topic_id in topic_ids}
    return {topic_id: len(topic.partitions) for topic_id, topic in existing.items() if topic is not None}


def metadata_hash(names: Collection[str], topics: Topics) -> int:
    """Return the hash of the topics that exist, a signed number of 64 bits."""
    digest = blake2b(digest_size=8)
    existing = {topic.name: topic for topic in _existing(names, topics)}
    for name in sorted(existing):
        topic = existing[name]
        digest.update(topic.topic_id.bytes)
        digest.update(f"{len(name)}:{name}:{len(topic.partitions)}".encode())
        for racks in topics.partition_racks(name):
            digest.update(";".join(f"{len(rack)}:{rack}" for rack in sorted(racks)).encode() + b"|")
    return int.from_bytes(digest.digest(), "big", signed=True) if existing else 0


def by_id(owned: Mapping[str, Iterable[int]], topics: Topics) -> Assignment:
    """Return the partitions by topic id. Topics that do not exist are left out."""
    topics_and_partitions = ((topics.topic(name), partitions) for name, partitions in owned.items())
    return {topic.topic_id: frozenset(partitions) for topic, partitions in topics_and_partitions if topic is not None}


def by_name(assignment: Assignment, topics: Topics) -> dict[str, list[int]]:
    """Return the partitions by topic name. Topics that do not exist are left out."""
    topics_and_partitions = ((topics.topic_by_id(topic_id), partitions) for topic_id, partitions in assignment.items())
    return {topic.name: sorted(partitions) for topic, partitions in topics_and_partitions if topic is not None}


def as_topic_partitions(assignment: Assignment) -> list[ReportedPartitions]:
    return [ReportedPartitions(topic_id, sorted(partitions)) for topic_id, partitions in assignment.items()]
