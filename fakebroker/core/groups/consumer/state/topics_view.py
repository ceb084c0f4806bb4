"""The metadata of the broker, as its consumer groups read them.

Source   coordinator-common/.../common/runtime/{CoordinatorMetadataImage,KRaftCoordinatorMetadataImage}.java;
         group-coordinator/.../GroupMetadataManager.java onMetadataUpdate @ 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final
from uuid import UUID

from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.topics import Topic


@final
class TopicsView:
    """The `Topics` of one partition of __consumer_offsets."""

    __slots__ = ("_count", "_metadata", "changes", "version_of_new_topics")

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._count = len(metadata.names)
        self.changes = 0
        self.version_of_new_topics = metadata.decisions

    @property
    def version(self) -> int:
        return self._metadata.decisions

    def topic(self, name: str, /) -> Topic | None:
        return self._metadata.topic(name)

    def topic_by_id(self, topic_id: UUID, /) -> Topic | None:
        return self._metadata.topic_by_id(topic_id)

    def topic_names(self) -> Sequence[str]:
        return self._metadata.topic_names()

    def partition_racks(self, topic: str, /) -> Sequence[Sequence[str]]:
        racks, existing = self._metadata.racks, self._metadata.topic(topic)
        if not racks or existing is None:
            return ()
        return [
            [racks[replica] for replica in partition.replicas if replica in racks] for partition in existing.partitions
        ]

    def on_topics_changed(self) -> None:
        """Note that topics are new, deleted, or have more partitions."""
        self.changes += 1
        count = len(self._metadata.names)
        if count > self._count:
            self.version_of_new_topics = self._metadata.decisions
        self._count = count
