"""Heartbeat: which members are alive, and which have to join again."""

from __future__ import annotations

from typing import Any

from conformance.group_frames import heartbeat, join_group, leave_group
from conformance.group_steps import RANGE, alone, ask, join_anew, nth, two
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Send, Settle, Step

_BOX = "groups"


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(f"heartbeat/{what}", why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _refused(version: int) -> Case:
    group = f"heartbeat-refused-v{version}"

    def beat(name: str, member_id: str, generation: int = 1, **values: Any) -> tuple[Step, ...]:
        return ask(heartbeat(name, member_id, generation, version=version, **values))

    return _case(
        f"refused-v{version}",
        "invalid requests (GroupCoordinatorService.heartbeat, validateClassicGroupHeartbeat)",
        *beat("heartbeat-nowhere", "nobody"),
        *alone(group),
        *beat("", "nobody"),
        *beat(group, "nobody"),
        *beat(group, ""),
        *beat(group, "nobody", 7),
        *beat(group, nth(1), 0),
        *beat(group, nth(1), 2),
        *beat(group, nth(1), -1),
        *(beat(group, nth(1), instance_id="nobody") if version >= 3 else ()),
        *beat(group, nth(1)),
        *ask(leave_group(group, nth(1))),
        *beat(group, nth(1)),
        *beat(group, nth(1), 2),
    )


def _states(version: int) -> Case:
    group = f"heartbeat-states-v{version}"
    return _case(
        f"states-v{version}",
        "each state of a group: REBALANCE_IN_PROGRESS only while members rejoin",
        *two(group, sync=False),
        *ask(heartbeat(group, nth(1), 2, version=version)),
        *ask(heartbeat(group, nth(2), 2, version=version), conn="b"),
        *join_anew(group, 3, conn="c"),
        AwaitGroup(group, "PreparingRebalance", 3),
        *ask(heartbeat(group, nth(1), 2, version=version)),
        *ask(heartbeat(group, nth(3), 2, version=version), conn="d"),
        *ask(heartbeat(group, nth(2), 1, version=version), conn="b"),
        Send((join_group(group, nth(1), protocols=RANGE),)),
        *ask(heartbeat(group, nth(1), 2, version=version), conn="e"),
        *ask(join_group(group, nth(2), protocols=RANGE), conn="b"),
        Settle(),
        Settle("c"),
        *ask(heartbeat(group, nth(3), 3, version=version), conn="c"),
        *ask(heartbeat(group, nth(3), 2, version=version), conn="c"),
    )


CASES = [*map(_refused, range(5)), *map(_states, range(5))]
