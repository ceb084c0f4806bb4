"""Who has to act when the metadata change: brokers, on behalf of their coordinators.

Theory   Told after it has happened, once everybody who asks the metadata is told the new state. Unlike the listeners of
         the probe, who look on, he may change something.
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
    """Tells nobody."""

    def topic_created(self, topic: Topic) -> None:
        """It has all its partitions, and their leaders."""

    def partitions_created(self, topic: Topic) -> None:
        """It has more of them than before."""

    def topic_deleted(self, topic: Topic) -> None:
        """Nobody finds it any more."""

    def leader_changed(self, partition: Partition) -> None:
        """A leader epoch has begun; maybe nobody leads."""
