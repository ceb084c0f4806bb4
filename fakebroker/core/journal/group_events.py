"""Journal events of groups, of both protocols: members that join and leave, rebalances, commits.

Theory   A classic group has `RebalanceBegan`, then `GenerationBegan` with all members that joined, and
         `GroupStabilized` when its leader has sent the assignment. In a KIP-848 group no member waits for another: each
         new target assignment is a `GenerationBegan`, with the group's epoch and no leader, without further events. The
         state that a coordinator reads from its log when it takes over a group causes no events.
Units    as of all events (events.py).
"""

from __future__ import annotations

from typing import NamedTuple


class MemberJoined(NamedTuple):
    """A member has joined a group: a new one, or a static one under a new id. It is not in a generation yet."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    instance: str | None
    client_id: str


class MemberLeft(NamedTuple):
    """A member has left a group of that generation. The reason is a leave, a session timeout, or a missed join."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    reason: str


class RebalanceBegan(NamedTuple):
    """The members of a generation have to join again, for this reason."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int
    reason: str


class GenerationBegan(NamedTuple):
    """A generation begins with its members. `protocol` is the assignor; without members the group is empty."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int
    protocol: str
    leader: str
    members: tuple[str, ...]


class GroupStabilized(NamedTuple):
    """The assignment of a generation is written, and its members get it."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int


class OffsetsCommitted(NamedTuple):
    """A commit was accepted and is written next: (topic, partition, offset) of each. Without a member, and with
    generation -1, it is from a client outside the group's protocol. A failed write gives an error in the response."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    offsets: tuple[tuple[str, int, int], ...]


class OffsetsExpired(NamedTuple):
    """Committed offsets that were unused for too long (offsets.retention.minutes) are about to be deleted: (topic,
    partition) of each."""

    mono_ms: int
    wall_ms: int
    group: str
    partitions: tuple[tuple[str, int], ...]
