"""Static members (KIP-345): a member that returns with its instance id takes the old place, and the former member is
fenced."""

from __future__ import annotations

from typing import Any

from conformance.group_frames import describe_groups, heartbeat, join_group, leave_group, subscription, sync_group
from conformance.group_steps import RANGE, ask, nth_static
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Listen, Pause, Send, Settle, Step

_BOX = "groups"
_OTHER = (("range", subscription("another-topic")),)
_BOTH = (("range", subscription("t")), ("roundrobin", subscription("t")))
_PREFERS_THE_OTHER = (_BOTH[1], _BOTH[0])


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(f"static-members/{what}", why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _join(group: str, instance: str, member_id: str = "", **values: Any) -> bytes:
    return join_group(group, member_id, instance_id=instance, **({"protocols": RANGE} | values))


def _two(group: str, *, sync: bool = True, version: int = 9, **values: Any) -> tuple[Step, ...]:
    """Generation 2 of a group of two: `one` leads, on a; `other` follows, on b. Their ids are told in that order."""
    one, other = nth_static(1, "one"), nth_static(2, "other")
    assigned = {one: b"of one", other: b"of the other"}
    return (
        *ask(_join(group, "one", version=version, **values)),
        *ask(sync_group(group, one, 1, {one: b"all"}, version=3, instance_id="one")),
        Send((_join(group, "other", version=version, **values),), "b"),
        AwaitGroup(group, "PreparingRebalance", 2),
        *ask(_join(group, "one", one, version=version, **values)),
        Settle("b"),
        *(
            (
                *ask(sync_group(group, one, 2, assigned, version=3, instance_id="one")),
                *ask(sync_group(group, other, 2, version=3, instance_id="other"), conn="b"),
            )
            if sync
            else ()
        ),
    )


def _replaced(version: int, instance: str, number: int) -> Case:
    group = f"static-replaced-{instance}-v{version}"
    old, new = nth_static(number, instance), nth_static(3, instance)
    return _case(
        f"replaced-{instance}-v{version}",
        "a replaced member in a stable group causes no rebalance: a leader gets skip_assignment (v9, KIP-814) "
        "or its old member id as leader; the old id is fenced",
        *_two(group, version=version),
        *ask(_join(group, instance, version=version), conn="c"),
        *ask(heartbeat(group, new, 2, instance_id=instance), conn="c"),
        *ask(sync_group(group, new, 2, instance_id=instance), conn="c"),
        *ask(sync_group(group, new, 2, {new: b"else"}, instance_id=instance), conn="c"),
        *ask(heartbeat(group, old, 2, instance_id=instance), conn="d"),
        *ask(heartbeat(group, old, 2), conn="d"),
        *ask(sync_group(group, old, 2, instance_id=instance), conn="d"),
        *ask(_join(group, instance, old, version=version), conn="d"),
        *ask(join_group(group, old, protocols=RANGE, version=version), conn="d"),
        *ask(leave_group(group, (old, instance)), conn="d"),
        *ask(describe_groups([group]), conn="d"),
    )


def _refused(version: int) -> Case:
    group = f"static-refused-v{version}"
    one = nth_static(1, "one")
    return _case(
        f"refused-v{version}",
        "an unknown instance id, an instance id of another member, and one of a dynamic member",
        *_two(group, version=version),
        *ask(_join(group, "nobody", one, version=version), conn="c"),
        *ask(_join(group, "other", one, version=version), conn="c"),
        *ask(_join(group, "one", "nobody", version=version), conn="c"),
        *ask(_join(group, "one", protocols=[("x", b"")], version=version), conn="c"),
        *ask(heartbeat(group, one, 2, instance_id="nobody"), conn="c"),
        *ask(heartbeat(group, one, 2, instance_id="other"), conn="c"),
        *ask(heartbeat(group, "nobody", 2, instance_id="one"), conn="c"),
        *ask(heartbeat(group, one, 1, instance_id="one"), conn="c"),
        *ask(heartbeat(group, one, 2), conn="c"),
        *ask(sync_group(group, one, 2, instance_id="nobody"), conn="c"),
        *ask(sync_group(group, one, 2, instance_id="other"), conn="c"),
        Send((_join(group, "", version=version),), "c"),
        Listen(100, "c"),
    )


_CHANGED = "static-changed"
_OTHER_PROTOCOL = "static-other-protocol"
_COMPLETING = "static-completing"
_PREPARING = "static-preparing"
_FIRST = "static-first"

CASES = [
    *(_replaced(version, instance, number) for version in (5, 7, 9) for instance, number in (("one", 1), ("other", 2))),
    *map(_refused, (5, 9)),
    _case(
        "replaced-changed",
        "a replacement may change its metadata without a rebalance, if the protocol stays",
        *_two(_CHANGED),
        *ask(_join(_CHANGED, "other", protocols=_OTHER), conn="c"),
        *ask(heartbeat(_CHANGED, nth_static(1, "one"), 2, instance_id="one")),
        *ask(describe_groups([_CHANGED])),
        *ask(_join(_CHANGED, "one", protocols=_OTHER), conn="d"),
        *ask(describe_groups([_CHANGED])),
    ),
    _case(
        "replaced-other-protocol",
        "a replacement that changes the chosen protocol causes a rebalance",
        *_two(_OTHER_PROTOCOL, protocols=_BOTH),
        *ask(_join(_OTHER_PROTOCOL, "one", protocols=_PREFERS_THE_OTHER), conn="c"),
        Send((_join(_OTHER_PROTOCOL, "other", protocols=_PREFERS_THE_OTHER),), "d"),
        Listen(200, "d"),
        *ask(heartbeat(_OTHER_PROTOCOL, nth_static(3, "one"), 2, instance_id="one"), conn="c"),
        *ask(describe_groups([_OTHER_PROTOCOL]), conn="e"),
        *ask(leave_group(_OTHER_PROTOCOL, ("", "one"), ("", "other")), conn="e"),
        Settle("d"),
    ),
    _case(
        "replaced-while-completing",
        "a replacement before the leader's assignment causes a rebalance, since the leader may know the old id",
        *_two(_COMPLETING, sync=False),
        Send((sync_group(_COMPLETING, nth_static(2, "other"), 2, instance_id="other"),), "b"),
        Pause(100),
        Send((_join(_COMPLETING, "other"),), "c"),
        Settle("b"),
        AwaitGroup(_COMPLETING, "PreparingRebalance", 2),
        *ask(_join(_COMPLETING, "one", nth_static(1, "one"))),
        Settle("c"),
        *ask(describe_groups([_COMPLETING]), conn="d"),
    ),
    _case(
        "replaced-while-preparing",
        "a parked JoinGroup with the old member id is fenced",
        *_two(_PREPARING),
        Send((_join(_PREPARING, "third"),), "c"),
        AwaitGroup(_PREPARING, "PreparingRebalance", 3),
        Send((_join(_PREPARING, "other", nth_static(2, "other")),), "b"),
        Pause(100),
        Send((_join(_PREPARING, "other"),), "d"),
        Settle("b"),
        Send((_join(_PREPARING, "one", nth_static(1, "one")),)),
        Settle("c"),  # before the leader's answer, which names both new members in the order of a hash table
        Settle("d"),
        Settle(),
    ),
    _case(
        "first-generation",
        "two members join at once with one instance id: the first one is fenced",
        Send((_join(_FIRST, "one", version=5),)),
        Pause(100),
        *ask(_join(_FIRST, "one", version=5), conn="b"),
        Settle(),
        *ask(describe_groups([_FIRST]), conn="c"),
    ),
]
