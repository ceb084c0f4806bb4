"""The interface of the state machine of one partition of an internal topic.

Source   coordinator-common/.../common/runtime/CoordinatorShard.java @ 4.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from mypy_extensions import mypyc_attr

from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.protocol.slices import Slices


@mypyc_attr(allow_interpreted_subclasses=True)
class CoordinatorShard(ABC):
    """The state of one partition. Recorded state, and only that, is kept in timelines. Other state (timers, requests
    that wait) is dropped when the leader changes."""

    @abstractmethod
    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Change the state by a record. A producer id of -1 means no transaction."""

    @abstractmethod
    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, is_commit: bool) -> Slices[None]:
        """Commit or abort a transaction, which may have many records."""

    @abstractmethod
    def on_loaded(self) -> None:
        """Start the work of the coordinator: the log is replayed, and requests follow."""

    @abstractmethod
    def on_unloaded(self) -> None:
        """End the work of the coordinator; timers are cancelled already. The runtime completes pending operations with
        NOT_COORDINATOR. Other requests that wait must be answered here."""

    @abstractmethod
    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        """Note topics that are new or have more partitions, and topics that are deleted."""
