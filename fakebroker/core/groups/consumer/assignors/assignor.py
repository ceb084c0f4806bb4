"""The input and output of an assignor.

Source   group-coordinator-api/.../api/assignor/{GroupSpec,PartitionAssignor}.java,
         group-coordinator/.../modern/GroupSpecImpl.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from fakebroker.core.groups.consumer.state.member import Assignment


class MemberSpec(NamedTuple):
    """A member, the topics to which it is subscribed, and its target assignment until now."""

    instance_id: str | None
    topic_ids: Collection[UUID]  # must be fast to search
    partitions: Assignment


class GroupSpec(NamedTuple):
    """A group. The order of its members decides between equal candidates for a partition.

    partition_counts    of every topic to which a member is subscribed
    is_homogeneous      all members are subscribed to the same topics
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[UUID, int]
    is_homogeneous: bool


# Gives a member its partitions; a member without any may be missing.
Assignor = Callable[[GroupSpec], dict[str, Assignment]]
