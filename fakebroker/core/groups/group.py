"""The common interface of groups: the methods that offsets, listings and deletions need, for each protocol.

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
    """The type of a group. The values are the names in ListGroups."""

    UNKNOWN = "unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

    @staticmethod
    def parse(name: str) -> GroupType:
        """Return the type of that name, in any case; UNKNOWN for other names."""
        return _TYPES.get(name.lower(), GroupType.UNKNOWN)


_TYPES = {kind.value: kind for kind in GroupType}


class ListedGroup(NamedTuple):
    """A group in a ListGroups response. `state` and `type` are as Kafka writes them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class CommittedAt(NamedTuple):
    """The facts from which the age of an offset is computed. `expire_timestamp_ms` is None if the commit had none."""

    commit_timestamp_ms: int
    expire_timestamp_ms: int | None


# Returns the wall time at which an offset expires, given the retention time.
ExpirationCondition = Callable[[CommittedAt, int], int]


@mypyc_attr(allow_interpreted_subclasses=True)
class Group(ABC):
    """A group. Its validations raise KafkaError with the error code of the response."""

    group_id: str
    type: ClassVar[GroupType]

    @abstractmethod
    def state_name(self, committed_offset: int = LATEST) -> str:
        """Return the name of the state in DescribeGroups and ListGroups."""

    @abstractmethod
    def as_listed_group(self, committed_offset: int) -> ListedGroup: ...

    @abstractmethod
    def is_in_states(self, states: set[str], committed_offset: int) -> bool:
        """Return True if the state is one of `states`, which are in lower case."""

    @abstractmethod
    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> Callable[[str, int], None] | None:
        """Raise KafkaError if the member may not commit. Return a validation of each partition (topic name, partition),
        if one is needed."""

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
        """Return the condition; None if no offset expires now."""

    def cancel_timers(self, timer: CoordinatorTimer) -> None:  # noqa: B027
        """Cancel the group's timers: it is about to be deleted."""

    @property
    @abstractmethod
    def is_empty(self) -> bool: ...

    @property
    @abstractmethod
    def is_dead(self) -> bool: ...
