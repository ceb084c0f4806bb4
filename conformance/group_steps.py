"""Steps that cases of groups share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.group_frames import heartbeat, join_group, member, subscription, sync_group
from conformance.random_ids import random_uuid
from conformance.scenario import AwaitCoordinator, AwaitGroup, Send, Settle, Step

RANGE = (("range", subscription("groups-topic")),)
NEWEST_JOIN = 9


def nth(number: int) -> str:
    """Return the id of a dynamic member: the `number`th id that the broker gave."""
    return member(random_uuid(number))


def nth_static(number: int, instance_id: str) -> str:
    return member(random_uuid(number), instance_id)


def ask(*frames: bytes, conn: str = "a") -> tuple[Step, ...]:
    """Send, and note what is answered."""
    return Send(frames, conn), Settle(conn)


def join_anew(
    group: str,
    number: int,
    *,
    conn: str = "a",
    version: int = NEWEST_JOIN,
    protocols: Sequence[tuple[str, bytes]] = RANGE,
    **values: Any,
) -> tuple[Step, ...]:
    """Let a dynamic member ask to join, with the `number`th id that the broker gives. The steps do not wait for the
    response."""
    join: dict[str, Any] = {"version": version, "protocols": protocols} | values
    if version < 4:
        return (Send((join_group(group, **join),), conn),)
    return (
        *ask(join_group(group, **join), conn=conn),
        Send((join_group(group, nth(number), **join),), conn),
    )


def alone(group: str, *, sync: bool = True, **values: Any) -> tuple[Step, ...]:
    """The first member of a group, on connection a; it leads, and is stable if it syncs."""
    synced = ask(sync_group(group, nth(1), assignments={nth(1): b"all"}, version=3)) if sync else ()
    return (AwaitCoordinator(group), *join_anew(group, 1, **values), Settle(), *synced)


def second_joins(group: str, generation: int = 2, **values: Any) -> tuple[Step, ...]:
    """Let a second member join a stable group of one, on connection b. The first member joins again, and both are in
    the next generation. The first one leads."""
    first: dict[str, Any] = {
        name: values[name] for name in ("protocols", "rebalance_ms", "session_ms") if name in values
    }
    return (
        *join_anew(group, 2, conn="b", **values),
        AwaitGroup(group, "PreparingRebalance", 2),
        *ask(heartbeat(group, nth(1), generation - 1)),
        *ask(join_group(group, nth(1), **{"protocols": RANGE, **first})),
        Settle("b"),
    )


def two(group: str, *, sync: bool = True, **values: Any) -> tuple[Step, ...]:
    """A stable group of two in generation 2: the leader on a, the other on b."""
    return (
        *alone(group, **values),
        *second_joins(group, **values),
        *(synced(group, 2, {nth(1): b"of the first", nth(2): b"of the second"}) if sync else ()),
    )


def synced(group: str, generation: int, assignments: Mapping[str, bytes]) -> tuple[Step, ...]:
    """The leader, on a, assigns; the other one, on b, asks after it."""
    return (
        *ask(sync_group(group, nth(1), generation, assignments, version=3)),
        *ask(sync_group(group, nth(2), generation, version=3), conn="b"),
    )
