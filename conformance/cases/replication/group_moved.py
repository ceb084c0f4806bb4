"""Classic groups with a coordinator that moves, and moves back: the state that is known there, and which members still
expire in time."""

from __future__ import annotations

from conformance.group_frames import describe_groups, join_group
from conformance.group_steps import RANGE, alone, ask, join_anew, two
from conformance.scenario import AwaitCoordinator, Case, MoveLeader, Pause, Send, Settle, Step

_SHORT_MS = 1_000  # a session
_OVER_MS = 3_000  # by then it is over
_LOG = "__consumer_offsets"


def _case(what: str, why: str, *steps: Step, over_before: bool = False, waits: bool = False) -> Case:
    group = f"moved-{what}"
    moved = (
        *((Pause(_OVER_MS),) if over_before else ()),
        MoveLeader(_LOG, 2),
        AwaitCoordinator(group),
        Pause(_OVER_MS),
        Send((describe_groups([group], version=5),), "c", 2),
        Settle("c"),
        MoveLeader(_LOG, 1),
        AwaitCoordinator(group),
        *ask(describe_groups([group], version=5), conn="d"),
    )
    heard = (Settle("b"),) if waits else ()
    return Case(f"group-moved/{what}", why, (AwaitCoordinator("warm"), *steps, *moved, *heard), box="walks")


CASES = [
    _case(
        "alone",
        "a session continues at the new coordinator, and expires there",
        *alone("moved-alone", session_ms=_SHORT_MS),
    ),
    _case(
        "unsynced",
        "the new coordinator does not know a generation without SyncGroup",
        *alone("moved-unsynced", sync=False, session_ms=_SHORT_MS),
    ),
    _case(
        "unsynced-over",
        "the new coordinator knows that the group is empty, if the session ended before",
        *alone("moved-unsynced-over", sync=False, session_ms=_SHORT_MS),
        over_before=True,
    ),
    _case(
        "pending",
        "the new coordinator does not know a member that only got its member id",
        AwaitCoordinator("moved-pending"),
        *ask(join_group("moved-pending", protocols=RANGE, session_ms=_SHORT_MS)),
    ),
    _case("two", "two sessions expire at the new coordinator", *two("moved-two", session_ms=_SHORT_MS)),
    _case(
        "two-unsynced",
        "two members without SyncGroup: the new coordinator knows the previous generation, and its member's "
        "session expires",
        *two("moved-two-unsynced", sync=False, session_ms=_SHORT_MS),
    ),
    _case(
        "rejoining",
        "a parked JoinGroup gets NOT_COORDINATOR; the group stays as it was",
        *alone("moved-rejoining", rebalance_ms=800),
        *join_anew("moved-rejoining", 2, conn="b", session_ms=_SHORT_MS),
        waits=True,
    ),
]
