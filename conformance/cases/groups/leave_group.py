"""LeaveGroup: members that go, one by one and many at once."""

from __future__ import annotations

from typing import Any

from conformance.group_frames import describe_groups, heartbeat, join_group, leave_group, sync_group
from conformance.group_steps import RANGE, alone, ask, join_anew, nth, nth_static, two
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Listen, Pause, Send, Settle, Step

_BOX = "groups"


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(f"leave-group/{what}", why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _refused(version: int) -> Case:
    group = f"leave-refused-v{version}"

    def leave(name: str, *members: Any) -> tuple[Step, ...]:
        return ask(leave_group(name, *members, version=version))

    many = (
        *leave("leave-nowhere", "nobody", ("nobody", "instance"), ("", "instance")),
        *leave("", "nobody", "nobody"),
        *leave(group),
        *leave("leave-nowhere"),
        *leave(group, "nobody", "", ("", "instance"), ("nobody", "instance"), (nth(1), "instance")),
        *leave(group, nth(1), "nobody", nth(1), nth(1)),
    )
    return _case(
        f"refused-v{version}",
        "invalid requests; in batches (v3 and later) each member has its own error",
        *leave("leave-nowhere", "nobody"),
        *alone(group),
        *leave("", "nobody"),
        *leave(group, "nobody"),
        *leave(group, ""),
        *(many if version >= 3 else ()),
        *leave(group, nth(1)),
        *leave(group, nth(1)),
        *ask(describe_groups([group], version=5)),
    )


def _two(version: int) -> Case:
    group = f"leave-two-v{version}"
    return _case(
        f"two-v{version}",
        "when the leader leaves, the other member rejoins and leads; then the group is empty",
        *two(group),
        *ask(leave_group(group, nth(1), version=version)),
        *ask(heartbeat(group, nth(2), 2), conn="b"),
        *ask(join_group(group, nth(2), protocols=RANGE), conn="b"),
        *ask(leave_group(group, nth(2), version=version), conn="b"),
        *ask(describe_groups([group])),
        *join_anew(group, 3, conn="c"),
        Settle("c"),
    )


def _static(version: int) -> Case:
    group = f"leave-static-v{version}"
    one, other = nth_static(1, "one"), nth_static(2, "other")
    return _case(
        f"static-v{version}",
        "static members leave by member id, or an operator removes them by instance id",
        *ask(join_group(group, instance_id="one", protocols=RANGE)),
        Send((join_group(group, instance_id="other", protocols=RANGE),), "b"),
        AwaitGroup(group, "PreparingRebalance", 2),
        *ask(join_group(group, one, instance_id="one", protocols=RANGE)),
        Settle("b"),
        *ask(leave_group(group, (one, "other"), (other, "nobody"), ("nobody", "one"), version=version), conn="c"),
        *ask(leave_group(group, ("", "other"), ("", "other"), version=version, reason="an operator"), conn="c"),
        *ask(heartbeat(group, other, 2, instance_id="other"), conn="b"),
        *ask(heartbeat(group, one, 2, instance_id="one")),
        *ask(leave_group(group, (one, "one"), version=version), conn="c"),
        *ask(describe_groups([group])),
    )


CASES = [
    *map(_refused, range(6)),
    *map(_two, (0, 2, 3, 5)),
    *map(_static, (3, 4, 5)),
    _case(
        "pending",
        "a pending member can leave, and the group does not wait for it any more",
        *alone("leave-pending"),
        *ask(join_group("leave-pending", protocols=RANGE), conn="b"),
        Send((join_group("leave-pending", nth(1), protocols=RANGE),)),
        Pause(100),
        *ask(leave_group("leave-pending", nth(2)), conn="b"),
        Settle(),
        *ask(leave_group("leave-pending", nth(2)), conn="b"),
    ),
    _case(
        "waiting",
        "a member with a parked JoinGroup gets UNKNOWN_MEMBER_ID when another connection sends its LeaveGroup",
        *two("leave-waiting"),
        *join_anew("leave-waiting", 3, conn="c"),
        AwaitGroup("leave-waiting", "PreparingRebalance", 3),
        *ask(leave_group("leave-waiting", nth(3)), conn="d"),
        Settle("c"),
        Send((join_group("leave-waiting", nth(1), protocols=RANGE),)),
        Pause(100),
        *ask(leave_group("leave-waiting", nth(2)), conn="d"),
        Settle(),
    ),
    _case(
        "waiting-for-assignment",
        "a member with a parked SyncGroup never gets a response when another connection sends its LeaveGroup",
        *two("leave-syncs", sync=False),
        Send((sync_group("leave-syncs", nth(2), 2),), "b"),
        Pause(100),
        *ask(leave_group("leave-syncs", nth(2)), conn="d"),
        *ask(heartbeat("leave-syncs", nth(1), 2)),
        *ask(join_group("leave-syncs", nth(1), protocols=RANGE)),
        *ask(sync_group("leave-syncs", nth(1), 3, {nth(1): b"all"})),
        Listen(200, "b"),
    ),
    _case(
        "all",
        "all members leave at once: the group is empty, in a new generation",
        *two("leave-all"),
        *ask(leave_group("leave-all", nth(1), nth(2), reason="all of us")),
        *ask(describe_groups(["leave-all"])),
        *join_anew("leave-all", 3, conn="c"),
        Settle("c"),
    ),
]
