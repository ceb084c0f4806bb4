"""The state machine of one partition of an internal topic, as the runtime sees it.

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
    """What is in its records, and nothing else, is kept in timelines. Whoever else wants to remember something (timers,
    who waits) has it gone when the leader goes."""

    @abstractmethod
    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        """Change the state as the record says. -1 as producer: it is in no transaction."""

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, is_commit: bool) -> Slices[None]:
        """A transaction has ended; it may have written much."""
        yield from ()

    def on_loaded(self) -> None:  # noqa: B027
        """All that is in the log was replayed. Now it is asked."""

    def on_unloaded(self) -> None:  # noqa: B027
        """It is not asked any more, and its timers are gone. Who waits is told NOT_COORDINATOR by the runtime, if he
        came with an operation that is not complete; everybody else has to be told here."""

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:  # noqa: B027
        """These topics are new or have more partitions; these are gone."""
