"""The committed offsets of a partition's groups, by group, topic and partition, as of any epoch.

Source   group-coordinator/.../OffsetMetadataManager.java Offsets @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict
from fakebroker.protocol.group_records.offset_commit import OffsetCommitValue

Partitions = TimelineDict[int, OffsetCommitValue]
Topics = TimelineDict[str, Partitions]


@final
class CommittedOffsets:
    """The committed offsets. Groups and topics without offsets are not in it."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._groups: TimelineDict[str, Topics] = TimelineDict(registry)

    def group_ids(self) -> list[str]:
        return list(self._groups.keys())

    def topics(self, group_id: str, epoch: int = LATEST) -> Topics | None:
        return self._groups.get(group_id, epoch)

    def get(self, group_id: str, topic: str, partition: int, epoch: int = LATEST) -> OffsetCommitValue | None:
        topics = self._groups.get(group_id, epoch)
        partitions = None if topics is None else topics.get(topic, epoch)
        return None if partitions is None else partitions.get(partition, epoch)

    def items(self, group_id: str) -> Iterator[tuple[str, int, OffsetCommitValue]]:
        """Return the topic, partition and offset of each commit of a group."""
        topics = self._groups.get(group_id)
        if topics is not None:
            for topic, partitions in topics.items():
                for partition, value in partitions.items():
                    yield topic, partition, value

    def put(self, group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> None:
        topics = self._groups.get(group_id)
        if topics is None:
            topics = self._groups[group_id] = TimelineDict(self._registry)
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = TimelineDict(self._registry)
        partitions[partition] = value

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return
        partitions.pop(partition)
        if not len(partitions):
            topics.pop(topic)
        if not len(topics):
            self._groups.pop(group_id)
