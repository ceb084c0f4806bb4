"""What all groups have in common, whatever their protocol: what offsets, listings and deletions ask of a group.

Source   group-coordinator/.../group/Group.java @ 4.0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import ClassVar, NamedTuple

from mypy_extensions import mypyc_attr

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.coordinator.timer import CoordinatorTimer


class GroupType(Enum):
    """By the name that ListGroups tells."""

    UNKNOWN = "unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

    @staticmethod
    def parse(name: str) -> GroupType:
        """In any case of letters; UNKNOWN for what is none."""
        return _TYPES.get(name.lower(), GroupType.UNKNOWN)


_TYPES = {kind.value: kind for kind in GroupType}


class ListedGroup(NamedTuple):
    """A line of ListGroups. `state` and `type` are written as Kafka writes them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class CommittedAt(NamedTuple):
    """Of an offset, what its age depends on. None where the commit said nothing of its own."""

    commit_timestamp_ms: int
    expire_timestamp_ms: int | None


# Of an offset: the wall time from which on it is to go, given how long offsets are kept.
ExpirationCondition = Callable[[CommittedAt, int], int]


@mypyc_attr(allow_interpreted_subclasses=True)
class Group(ABC):
    """A group. Whoever finds fault with a request raises KafkaError."""

    group_id: str
    type: ClassVar[GroupType]

    @abstractmethod
    def state_name(self, committed_offset: int = LATEST) -> str:
        """As DescribeGroups and ListGroups tell it."""

    @abstractmethod
    def as_listed_group(self, committed_offset: int) -> ListedGroup: ...

    @abstractmethod
    def is_in_states(self, states: set[str], committed_offset: int) -> bool:
        """`states` in lower case."""

    @abstractmethod
    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> Callable[[str, int], None] | None:
        """Whether a member may commit. Gives what is asked besides of each partition (topic name, partition), if
        anything is."""

    @abstractmethod
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int, committed_offset: int) -> None: ...

    @abstractmethod
    def validate_offset_delete(self) -> None: ...

    @abstractmethod
    def validate_delete_group(self) -> None: ...

    @abstractmethod
    def is_subscribed_to_topic(self, topic: str) -> bool: ...

    @abstractmethod
    def create_group_tombstone_records(self) -> list[CoordinatorRecord]: ...

    @abstractmethod
    def offset_expiration_condition(self) -> ExpirationCondition | None:
        """None: no offset of it expires now."""

    def cancel_timers(self, timer: CoordinatorTimer) -> None:  # noqa: B027
        """It is about to be deleted."""

    @property
    @abstractmethod
    def is_empty(self) -> bool: ...

    @property
    @abstractmethod
    def is_dead(self) -> bool: ...
