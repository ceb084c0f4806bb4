"""SyncGroup: which members may ask for their assignment, and when they get it."""

from __future__ import annotations

from typing import Any

from conformance.group_frames import describe_groups, heartbeat, join_group, leave_group, sync_group
from conformance.group_steps import RANGE, alone, ask, join_anew, nth, synced, two
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Pause, Send, Settle, Step

_BOX = "groups"


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(f"sync-group/{what}", why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _refused(version: int) -> Case:
    group = f"sync-refused-v{version}"

    def sync(name: str, member_id: str, generation: int = 1, **values: Any) -> tuple[Step, ...]:
        return ask(sync_group(name, member_id, generation, version=version, **values))

    return _case(
        f"refused-v{version}",
        "invalid requests (areMandatoryProtocolTypeAndNamePresent, validateSyncGroup)",
        *alone(group),
        *sync("", "nobody"),
        *sync("sync-nowhere", "nobody"),
        *sync(group, "nobody"),
        *sync(group, ""),
        *sync(group, nth(1), 0),
        *sync(group, nth(1), 2),
        *sync(group, nth(1), -1),
        *sync(group, "nobody", 7),
        *sync(group, nth(1), protocol_type=None),
        *sync(group, nth(1), protocol_name=None),
        *sync("", "nobody", protocol_name=None),
        *sync(group, nth(1), protocol_type="connect"),
        *sync(group, nth(1), protocol_name="roundrobin"),
        *sync(group, nth(1), 2, protocol_name="roundrobin"),
        *sync(group, nth(1)),
        *sync(group, nth(1), assignments={nth(1): b"another"}),
        *ask(describe_groups([group], version=5)),
        *ask(leave_group(group, nth(1))),
        *sync(group, nth(1)),
    )


def _two(version: int) -> Case:
    group = f"sync-two-v{version}"
    of_both = {nth(1): b"of the first", nth(2): b"of the second"}
    return _case(
        f"two-v{version}",
        "a SyncGroup before the leader's is parked; then each member gets its assignment, any number of times",
        *two(group, sync=False),
        Send((sync_group(group, nth(2), 2, version=version),), "b"),
        Pause(100),
        *ask(describe_groups([group], version=5)),
        *ask(sync_group(group, nth(1), 2, of_both, version=version)),
        Settle("b"),
        *ask(sync_group(group, nth(2), 2, {nth(2): b"more"}, version=version), conn="b"),
        *ask(sync_group(group, nth(1), 2, version=version)),
        *ask(sync_group(group, nth(1), 1, version=version)),
        *ask(describe_groups([group], version=5)),
    )


def _assignments(what: str, why: str, assignments: dict[str, bytes]) -> Case:
    group = f"sync-assigns-{what}"
    return _case(
        f"assigns-{what}", why, *two(group, sync=False), *synced(group, 2, assignments), *ask(describe_groups([group]))
    )


CASES = [
    *map(_refused, range(6)),
    *map(_two, range(6)),
    _assignments("one", "a member without an entry in the leader's assignment gets an empty one", {nth(1): b"all"}),
    _assignments("none", "the leader's assignment has no member", {}),
    _assignments(
        "strangers",
        "the leader's assignment has unknown members: they are ignored",
        {nth(2): b"all", "nobody": b"this", "": b"that"},
    ),
    _case(
        "while-preparing",
        "SyncGroup while members join: no member gets an assignment",
        *two("sync-preparing"),
        *join_anew("sync-preparing", 3, conn="c"),
        AwaitGroup("sync-preparing", "PreparingRebalance", 3),
        *ask(sync_group("sync-preparing", nth(1), 2)),
        *ask(sync_group("sync-preparing", nth(2), 2), conn="b"),
        *ask(sync_group("sync-preparing", nth(3), 2), conn="d"),
        *ask(sync_group("sync-preparing", nth(2), 1), conn="b"),
        *ask(heartbeat("sync-preparing", nth(2), 2), conn="b"),
        *ask(describe_groups(["sync-preparing"])),
    ),
    _case(
        "twice",
        "a second SyncGroup of a parked member: the response goes to the last connection",
        *two("sync-twice", sync=False),
        Send((sync_group("sync-twice", nth(2), 2),), "b"),
        Pause(100),
        Send((sync_group("sync-twice", nth(2), 2),), "c"),
        Pause(100),
        *ask(sync_group("sync-twice", nth(1), 2, {nth(2): b"all"})),
        Settle("c"),
        Settle("b", 300),
    ),
    _case(
        "leader-leaves",
        "the leader leaves before its SyncGroup: a member with a parked SyncGroup rejoins and leads",
        *two("sync-leader-leaves", sync=False),
        Send((sync_group("sync-leader-leaves", nth(2), 2),), "b"),
        Pause(100),
        *ask(leave_group("sync-leader-leaves", nth(1))),
        Settle("b"),
        *ask(join_group("sync-leader-leaves", nth(2), protocols=RANGE), conn="b"),
        *ask(sync_group("sync-leader-leaves", nth(2), 3, {nth(2): b"all"}), conn="b"),
    ),
]
