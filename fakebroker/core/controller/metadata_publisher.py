"""A hook for changes of the metadata: brokers react on behalf of their coordinators.

Theory   It is called after the change, once all readers of the metadata get the new state. Unlike the listeners of the
         probe, which only observe, it may change something.
Source   core/.../server/metadata/BrokerMetadataPublisher.scala onMetadataUpdate, updateCoordinator @ 4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakebroker.core.replication.partition import Partition
from timingwheel.mypyc import mypyc_attr

if TYPE_CHECKING:
    from fakebroker.core.controller.topics import Topic


@mypyc_attr(allow_interpreted_subclasses=True)
class MetadataPublisher:
    """A publisher without effect."""

    def topic_created(self, topic: Topic) -> None:
        """React to a new topic. It has all its partitions, and their leaders."""

    def partitions_created(self, topic: Topic) -> None:
        """React to a topic that got more partitions."""

    def topic_deleted(self, topic: Topic) -> None:
        """React to a deleted topic. It can no longer be found."""

    def leader_changed(self, partition: Partition) -> None:
        """React to a new leader epoch, maybe without a leader."""
