"""What a journal tells of groups, of both protocols: who comes and goes, when they rebalance, what they commit.

Theory   A classic group tells `RebalanceBegan`, then `GenerationBegan` with all who have joined, and `GroupStabilized`
         when its leader has said who has what. In a group of KIP-848 nobody waits for anybody: a new target assignment
         is `GenerationBegan`, with the group's epoch and no leader, and no more is told.
         What a coordinator reads out of its log when it takes over a group is not told again.
Units    as of all events (events.py).
"""

from __future__ import annotations

from typing import NamedTuple


class MemberJoined(NamedTuple):
    """A member is in a group: a new one, or a static one under a new id. It is not in a generation yet."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    instance: str | None
    client_id: str


class MemberLeft(NamedTuple):
    """A member is out of a group of that generation, and why: it left, it was not heard of for too long, it did not
    join in time."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    reason: str


class RebalanceBegan(NamedTuple):
    """The members of a generation have to join again, and why."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int
    reason: str


class GenerationBegan(NamedTuple):
    """All have joined who will. `protocol` is the assignor; without members the group is empty."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int
    protocol: str
    leader: str
    members: tuple[str, ...]


class GroupStabilized(NamedTuple):
    """The assignment of a generation is safe, and its members are told."""

    mono_ms: int
    wall_ms: int
    group: str
    generation: int


class OffsetsCommitted(NamedTuple):
    """A commit was accepted and is written next: (topic, partition, offset) of each. Without a member and its
    generation (-1) it is from who only commits. What cannot be written has its error in the answer."""

    mono_ms: int
    wall_ms: int
    group: str
    member: str
    generation: int
    offsets: tuple[tuple[str, int, int], ...]


class OffsetsExpired(NamedTuple):
    """Nobody needed them for too long (offsets.retention.minutes): (topic, partition) of each."""

    mono_ms: int
    wall_ms: int
    group: str
    partitions: tuple[tuple[str, int], ...]
