"""Shared parts of OffsetCommit and TxnOffsetCommit: which partitions may be committed, and the response by topics.

Source   core/.../server/KafkaApis.scala handleOffsetCommitRequest, handleTxnOffsetCommitRequest;
         OffsetCommitResponse.java Builder, TxnOffsetCommitResponse.java Builder @ 4.4
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, Protocol, final
from uuid import UUID

from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.offsets.messages import ZERO_ID, OffsetToCommit, TopicErrors, TopicToCommit
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices

_PARTITIONS_OF_A_SLICE: Final = 256


Told = Sequence[TopicErrors] | Each[TopicErrors]  # indexed as the topics that went to the coordinator


@final
class _TopicToCommit:
    """A topic of the response: its unknown partitions, and its indexes among the topics that went to the
    coordinator."""

    __slots__ = ("name", "partitions", "places", "topic_id")

    def __init__(self, name: str, topic_id: UUID) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[tuple[int, ErrorCode]] = []
        self.places: list[int] = []


class NamedTopic(Protocol):
    """A topic that goes to the coordinator."""

    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> UUID: ...


@final
class CommitErrors:
    """The topics of a response in the order of the look-up. Entries of the same topic are merged."""

    def __init__(self, by_id: bool) -> None:
        self._by_id = by_id
        self._topics: dict[str | UUID, _TopicToCommit] = {}

    def of(self, name: str, topic_id: UUID) -> _TopicToCommit:
        key = topic_id if self._by_id else name
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = _TopicToCommit(name, topic_id)
        return topic

    def merge(self, known: Sequence[NamedTopic]) -> Slices[None]:
        """Add the topics that go to the coordinator behind the errors. Without errors do nothing."""
        if self._topics:
            for place, topic in enumerate(known, 1):
                self.of(topic.name, topic.topic_id).places.append(place - 1)
                if place % _PARTITIONS_OF_A_SLICE == 0:
                    yield

    def told(self, results: Told) -> Collection[TopicErrors]:
        """Return the topics of the response; without errors, `results` as they are."""
        return Each(partial(_merged, results), self._topics.values()) if self._topics else results


def _merged(results: Told, topic: _TopicToCommit) -> TopicErrors:
    partitions = [*topic.partitions]
    for place in topic.places:
        partitions.extend(results[place].partitions)
    return TopicErrors(topic.name, topic.topic_id, partitions)


def topics_to_commit(
    ctx: RequestContext, topics: Iterable[Any], by_id: bool, errors: CommitErrors
) -> Slices[list[TopicToCommit]]:
    """Return the existing partitions of a request that the client may read; add the others to the errors."""
    known: list[TopicToCommit] = []
    looked_at = 0
    for topic in topics:
        looked_at += 1
        if looked_at % _PARTITIONS_OF_A_SLICE == 0:
            yield
        topic_id, name = getattr(topic, "topic_id", None) or ZERO_ID, getattr(topic, "name", "")
        if by_id:
            existing = ctx.metadata.topic_by_id(topic_id)
            if existing is None:
                unknown = errors.of(name, topic_id).partitions
                for partition in topic.partitions:
                    unknown.append((partition.partition_index, ErrorCode.unknown_topic_id))
                    looked_at += 1
                    if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                        yield
                continue
            name = existing.name
        else:
            existing = ctx.metadata.topic(name)
            # The record has the id, whichever version commits.
            topic_id = ZERO_ID if existing is None else existing.topic_id
        there: list[OffsetToCommit] = []
        is_authorized = ctx.is_authorized(AclOperation.READ, ResourceType.TOPIC, name)
        if not is_authorized:
            errors.of(name, topic_id)
        for partition in topic.partitions:
            if not is_authorized:
                errors.of(name, topic_id).partitions.append(
                    (partition.partition_index, ErrorCode.topic_authorization_failed)
                )
            elif ctx.metadata.find_partition(name, partition.partition_index) is None:
                errors.of(name, topic_id).partitions.append(
                    (partition.partition_index, ErrorCode.unknown_topic_or_partition)
                )
            else:
                there.append(
                    OffsetToCommit(
                        partition.partition_index,
                        partition.committed_offset,
                        getattr(partition, "committed_leader_epoch", -1),
                        partition.committed_metadata,
                    )
                )
            looked_at += 1
            if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                yield
        if there:
            known.append(TopicToCommit(name, topic_id, there))
        elif not topic.partitions and existing is None:
            errors.of(name, topic_id)
    yield from errors.merge(known)
    return known


def refused(topics: Sequence[Any], code: ErrorCode) -> Each[TopicErrors]:
    """Return all topics of a request, with the same error."""

    def topic_errors(topic: Any) -> TopicErrors:
        partitions = Each(lambda partition: (partition.partition_index, code), topic.partitions)
        return TopicErrors(getattr(topic, "name", ""), getattr(topic, "topic_id", None) or ZERO_ID, partitions)

    return Each(topic_errors, topics)


def all_failed(topics: Sequence[TopicToCommit], code: ErrorCode) -> Each[TopicErrors]:
    """Return all that was to be committed, with the same error."""
    return Each(
        lambda topic: TopicErrors(
            topic.name, topic.topic_id, [(commit.partition, code) for commit in topic.partitions]
        ),
        topics,
    )


def commit_answer(topics: Collection[TopicErrors]) -> dict[str, Any]:
    """Return the fields of the response, for the newest version."""
    return {"throttle_time": timedelta(0), "topics": Each(_topic, topics)}


def _topic(topic: TopicErrors) -> dict[str, Any]:
    return {"name": topic.name, "topic_id": topic.topic_id, "partitions": Each(partition_answer, topic.partitions)}


def partition_answer(partition: tuple[int, ErrorCode]) -> dict[str, Any]:
    return {"partition_index": partition[0], "error_code": partition[1]}
