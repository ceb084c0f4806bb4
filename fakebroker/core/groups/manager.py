"""A part of the state of a partition of __consumer_offsets: classic groups, consumer groups, offsets.

Source   group-coordinator/.../GroupCoordinatorShard.java replay, onLoaded, onUnloaded, onMetadataUpdate @ 4.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mypy_extensions import mypyc_attr

from fakebroker.core.controller.topics import Topic

# Changes the state as a record says: its key, its value (None for a tombstone), and the producer of its transaction, or
# -1.
Replay = Callable[[Any, Any, int], None]


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupManager(ABC):
    """Whoever keeps something of it. What it makes of a record and what it answers are methods of its own."""

    @abstractmethod
    def replayers(self) -> Mapping[type, Replay]:
        """By the class of a record's key, what it does to the state."""

    def on_loaded(self) -> None:  # noqa: B027
        """All is replayed; timers may be scheduled."""

    def on_unloaded(self) -> None:  # noqa: B027
        """Another broker is asked from now on. Timers are gone; whoever waits here without an operation has to be
        told."""

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:  # noqa: B027
        """These topics are new or have more partitions; these are gone."""
