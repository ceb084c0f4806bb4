"""The interface of a part of the state of __consumer_offsets: classic groups, consumer groups, or offsets.

Source   group-coordinator/.../GroupCoordinatorShard.java replay, onLoaded, onUnloaded, onMetadataUpdate @ 4.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mypy_extensions import mypyc_attr

from fakebroker.core.controller.topics import Topic

# Changes the state by a record: its key, its value (None for a tombstone), and the producer id of its transaction, or
# -1.
Replay = Callable[[Any, Any, int], None]


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupManager(ABC):
    """A part of the state of a partition of __consumer_offsets. The requests to it are methods of the subclass."""

    @abstractmethod
    def replayers(self) -> Mapping[type, Replay]:
        """Return the replay method for each class of record key."""

    def on_loaded(self) -> None:  # noqa: B027
        """Start timers: all records are replayed."""

    def on_unloaded(self) -> None:  # noqa: B027
        """Answer the requests that wait here outside of an operation: another broker coordinates from now on. Timers
        are cancelled already."""

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:  # noqa: B027
        """Note topics that are new or have more partitions, and topics that are deleted."""
