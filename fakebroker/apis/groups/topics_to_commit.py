"""What OffsetCommit and TxnOffsetCommit have in common: which partitions are there, and the answer by topics.

Source   core/.../server/KafkaApis.scala handleOffsetCommitRequest, handleTxnOffsetCommitRequest;
         OffsetCommitResponse.java Builder, TxnOffsetCommitResponse.java Builder @ 4.4
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.offsets.messages import ZERO_ID, OffsetToCommit, TopicErrors, TopicToCommit
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices

_PARTITIONS_OF_A_SLICE: Final = 256


class CommitErrors:
    """What is known of the same topic goes together, first come, first told."""

    def __init__(self, by_id: bool) -> None:
        self.topics: list[TopicErrors] = []
        self._by_id = by_id
        self._places: dict[str | UUID, TopicErrors] = {}

    def add(self, name: str, topic_id: UUID, partitions: list[tuple[int, ErrorCode]]) -> None:
        key = topic_id if self._by_id else name
        topic = self._places.get(key)
        if topic is None:
            topic = self._places[key] = TopicErrors(name, topic_id, [])
            self.topics.append(topic)
        topic.partitions.extend(partitions)

    def merge(self, committed: list[TopicErrors]) -> list[TopicErrors]:
        """With what the coordinator says; if there is nothing else, as it says it."""
        if not self.topics:
            return committed
        for topic in committed:
            self.add(topic.name, topic.topic_id, topic.partitions)
        return self.topics


def topics_to_commit(
    ctx: RequestContext, topics: Iterable[Any], by_id: bool, errors: CommitErrors
) -> Slices[list[TopicToCommit]]:
    """Those partitions of a request that are there; what is not goes to the errors."""
    known: list[TopicToCommit] = []
    looked_at = 0
    for topic in topics:
        topic_id, name = getattr(topic, "topic_id", None) or ZERO_ID, getattr(topic, "name", "")
        if by_id:
            found = ctx.metadata.topic_by_id(topic_id)
            if found is None:
                errors.add(
                    name, topic_id, [(each.partition_index, ErrorCode.unknown_topic_id) for each in topic.partitions]
                )
                continue
            name = found.name
        else:
            found = ctx.metadata.topic(name)
            topic_id = ZERO_ID if found is None else found.topic_id  # the record has it, whoever commits
        there: list[OffsetToCommit] = []
        for each in topic.partitions:
            if ctx.metadata.find_partition(name, each.partition_index) is None:
                errors.add(name, topic_id, [(each.partition_index, ErrorCode.unknown_topic_or_partition)])
            else:
                there.append(
                    OffsetToCommit(
                        each.partition_index,
                        each.committed_offset,
                        getattr(each, "committed_leader_epoch", -1),
                        each.committed_metadata,
                    )
                )
            looked_at += 1
            if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                yield
        if there:
            known.append(TopicToCommit(name, topic_id, there))
        elif not topic.partitions and found is None:
            errors.add(name, topic_id, [])
    return known


def refused(topics: Iterable[Any], code: ErrorCode) -> list[TopicErrors]:
    """All topics of a request, with the same error."""
    return [
        TopicErrors(
            getattr(topic, "name", ""),
            getattr(topic, "topic_id", None) or ZERO_ID,
            [(partition.partition_index, code) for partition in topic.partitions],
        )
        for topic in topics
    ]


def all_failed(topics: list[TopicToCommit], code: ErrorCode) -> list[TopicErrors]:
    """All that was to be committed, with the same error."""
    return [
        TopicErrors(topic.name, topic.topic_id, [(each.partition, code) for each in topic.partitions])
        for topic in topics
    ]


def commit_answer(topics: list[TopicErrors]) -> dict[str, Any]:
    """The fields of the answer, for the newest version."""
    return {
        "throttle_time": timedelta(0),
        "topics": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partitions": [{"partition_index": index, "error_code": code} for index, code in topic.partitions],
            }
            for topic in topics
        ],
    }
