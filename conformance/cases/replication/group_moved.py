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
        "alone", "a session goes on at the new coordinator, and ends there", *alone("moved-alone", session_ms=_SHORT_MS)
    ),
    _case(
        "unsynced",
        "a generation that nobody has synced is not known to the new one",
        *alone("moved-unsynced", sync=False, session_ms=_SHORT_MS),
    ),
    _case(
        "unsynced-over",
        "but that its group is empty is, if the session ended before",
        *alone("moved-unsynced-over", sync=False, session_ms=_SHORT_MS),
        over_before=True,
    ),
    _case(
        "pending",
        "who was only told an id is not known to the new one",
        AwaitCoordinator("moved-pending"),
        *ask(join_group("moved-pending", protocols=RANGE, session_ms=_SHORT_MS)),
    ),
    _case("two", "two sessions end there", *two("moved-two", session_ms=_SHORT_MS)),
    _case(
        "two-unsynced",
        "of two whose generation was not synced the one before is known, and its member is out in time",
        *two("moved-two-unsynced", sync=False, session_ms=_SHORT_MS),
    ),
    _case(
        "rejoining",
        "who waits to join hears that it moved; the group is as it was",
        *alone("moved-rejoining", rebalance_ms=800),
        *join_anew("moved-rejoining", 2, conn="b", session_ms=_SHORT_MS),
        waits=True,
    ),
]
