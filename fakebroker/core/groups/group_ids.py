"""The ids of all groups that clients of an address may be members of.

Theory   Members of the consumer protocol outlive a cluster as other clients do. Their next heartbeat names a group that
         the new cluster does not have. GROUP_ID_NOT_FOUND is fatal to Java's consumer and to librdkafka's; with
         UNKNOWN_MEMBER_ID they join again, as members of the classic protocol do.
Differs  In Kafka a group does not vanish under its members, and a coordinator without the group answers
         GROUP_ID_NOT_FOUND. So does this one for each group that it had itself, or that nobody had.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final


@final
class GroupIds:
    """`earlier` are the groups that were there in an earlier life, and not in this one."""

    def __init__(self, earlier: Iterable[str] = ()) -> None:
        self.earlier = set(earlier)
        self._own: set[str] = set()

    def add(self, group_id: str) -> None:
        """The group is there."""
        self.earlier.discard(group_id)
        self._own.add(group_id)

    def all(self) -> frozenset[str]:
        return frozenset(self.earlier | self._own)
