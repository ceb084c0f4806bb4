"""The ids of all groups that clients of one address may be members of.

Theory   Clients may outlive a cluster. Members of the consumer protocol then send a heartbeat for a group that the new
         cluster does not have. GROUP_ID_NOT_FOUND is fatal to Java's consumer and to librdkafka's. With
         UNKNOWN_MEMBER_ID they rejoin, as members of the classic protocol do.
Differs  In Kafka a group does not vanish under its members, and a coordinator without the group answers
         GROUP_ID_NOT_FOUND. So does this one, except for groups of an earlier cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final


@final
class GroupIds:
    """The ids of groups. `earlier` are groups of an earlier life of the cluster that this life does not have."""

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self.earlier = set(earlier)
        self._own: set[str] = set()

    def add(self, group_id: str) -> None:
        """Note that the group exists."""
        self.earlier.discard(group_id)
        self._own.add(group_id)

    def all(self) -> frozenset[str]:
        return frozenset(self.earlier | self._own)
