"""The objects that actions change: the cluster, and the bytes of a response. `cluster/faults` implements them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from fakebroker.core.replication.behaviour import Behaviour

Waits = Iterable[None]  # an item for each turn in which the action still waits


class ActionTarget(Protocol):
    """The default target of an action: the broker of the request, and what the request names."""

    @property
    def broker_id(self) -> int: ...

    @property
    def partitions(self) -> Sequence[tuple[str, int]]: ...

    @property
    def groups(self) -> Sequence[str]: ...

    @property
    def transactional_ids(self) -> Sequence[str]: ...

    @property
    def user(self) -> str:
        """Return the name of the client's principal."""


class Changes(Protocol):
    """The changes that actions make to a cluster, at the time of the point. All raise KafkaError or ValueError if they
    are impossible."""

    def stop(self, broker_id: int) -> None: ...

    def start(self, broker_id: int) -> None: ...

    def kill(self, broker_id: int) -> None: ...

    def pause(self, broker_id: int) -> None: ...

    def resume(self, broker_id: int) -> None: ...

    def expire_sessions(self, user: str) -> None:
        """End the sessions of SASL of a user."""

    def partitions(self, topic: str | None, partition: int | None, whom: ActionTarget) -> Sequence[tuple[str, int]]:
        """Return the partitions of a topic, or one of them; without a topic, those that the request names."""

    def move_leader(self, topic: str, partition: int, broker_id: int | None) -> None:
        """Make a broker the leader; with None another in-sync replica."""

    def lose_leader(self, topic: str, partition: int) -> None:
        """Kill the leader, if there is one."""

    def shrink_isr(self, topic: str, partition: int, broker_id: int | None) -> None:
        """Remove a broker from the ISR; with None all but the leader."""

    def set_followers(self, behaviour: Behaviour | None, topic: str, partition: int, broker_id: int | None) -> None:
        """Set the behaviour of followers; None undoes a freeze."""

    def move_coordinators(self, broker_id: int | None, whom: ActionTarget) -> None:
        """Move the coordinators of the groups and transactional ids that the request names."""


class WrittenResponse(Protocol):
    """A response that is written to its connection."""

    @property
    def is_closed(self) -> bool:
        """True if its connection is closed."""

    def write(self, data: bytes, size: int | None) -> None:
        """Write bytes. `size` is that of the response that they begin; None if they continue one."""

    def wait(self, ms: int) -> Waits: ...

    def position_of_part(self, part: int) -> int:
        """Return where the error code of the n-th part of the response is."""

    def end_with(self, then: str) -> None:
        """End the request: close the connection ("fin", "reset"), or keep it open ("stay")."""


class ChangeOfBytes(Protocol):
    """A change of a response when it is written."""

    @property
    def copies(self) -> int:
        """The number of further times that the response is written."""

    def changed(self, frame: bytes) -> bytes:
        """Return the frame to write in place of `frame`."""

    def write(self, frame: bytes, to: WrittenResponse) -> Waits:
        """Write the frame. Of several changes the last one does it."""
