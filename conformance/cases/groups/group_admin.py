"""ListGroups, DescribeGroups and DeleteGroups: the descriptions of groups, and their end."""

from __future__ import annotations

from conformance.group_frames import (
    delete_groups,
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
)
from conformance.group_steps import RANGE, alone, ask, join_anew, nth, two
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Settle, Step

_BOX = "groups"


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(what, why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _left(group: str) -> tuple[Step, ...]:
    """An empty group."""
    return *alone(group), *ask(leave_group(group, nth(1)))


def _listed(version: int) -> Case:
    group = f"listed-v{version}"
    filters = [
        ([], []),
        (["Stable"], []),
        (["stable", "EMPTY"], []),
        ([" Empty ", "nothing"], []),
        (["nothing"], []),
        ([""], []),
        ([], ["classic"]),
        ([], ["Classic", "nothing"]),
        ([], ["consumer"]),
        ([], ["nothing"]),
        ([], [" classic"]),
        (["Stable"], ["consumer", "CLASSIC"]),
        (["PreparingRebalance", "CompletingRebalance"], ["classic"]),
        (["Dead"], []),
    ]
    supported_filters = filters[: {4: 6, 5: None}.get(version, 1)]
    return _case(
        f"list-groups/filters-v{version}",
        "filters by states (v4 and later, KIP-518) and types (v5, KIP-848), in any case; unknown values match nothing",
        *two(group),
        *ask(join_group(f"{group}-pending", protocols=RANGE), conn="c"),
        *ask(join_group(f"{group}-joined", protocols=RANGE, version=0), conn="d"),
        *(step for states, types in supported_filters for step in ask(list_groups(states, types, version=version))),
        *ask(leave_group(group, nth(1), nth(2))),
        *(step for states, types in supported_filters for step in ask(list_groups(states, types, version=version))),
    )


def _described(version: int) -> Case:
    group = f"described-v{version}"

    def describe(*groups: str, operations: bool = False) -> tuple[Step, ...]:
        return ask(describe_groups(groups, version=version, operations=operations), conn="e")

    return _case(
        f"describe-groups/states-v{version}",
        "each state: metadata of members only while the group is stable; an unknown group is dead "
        "(GROUP_ID_NOT_FOUND from v6)",
        *describe(group),
        *describe(),
        *describe(""),
        *two(f"{group}-two"),
        *describe(f"{group}-two"),
        *ask(join_group(group, protocols=RANGE), conn="c"),
        *describe(group),
        *ask(join_group(group, nth(3), protocols=RANGE), conn="c"),
        *describe(group),
        *ask(leave_group(group, nth(3)), conn="c"),
        *describe(group),
        *describe(f"{group}-two", group, f"{group}-none", f"{group}-two", operations=version >= 3),
        *ask(leave_group(f"{group}-two", nth(1))),
        *describe(f"{group}-two"),
    )


def _deleted(version: int) -> Case:
    group = f"deleted-v{version}"

    def delete(*groups: str) -> tuple[Step, ...]:
        return ask(delete_groups(groups, version=version), conn="e")

    return _case(
        f"delete-groups/states-v{version}",
        "only an empty group can be deleted; a new group with the name starts with generation 1",
        *delete(group),
        *delete(),
        *delete(""),
        *two(f"{group}-two"),
        *ask(join_group(group, protocols=RANGE), conn="c"),
        *delete(group),
        *ask(join_group(group, nth(3), protocols=RANGE), conn="c"),
        *delete(f"{group}-two", f"{group}-none"),
        *ask(heartbeat(f"{group}-two", nth(1), 2)),
        *ask(leave_group(f"{group}-two", nth(1), nth(2))),
        *delete(f"{group}-two", f"{group}-none", f"{group}-two"),
        *delete(f"{group}-two"),
        *ask(describe_groups([f"{group}-two"])),
        *ask(heartbeat(f"{group}-two", nth(1), 2)),
        *join_anew(f"{group}-two", 4),
        Settle(),
    )


CASES = [
    *map(_listed, range(6)),
    *map(_described, range(7)),
    *map(_deleted, range(4)),
    _case(
        "delete-groups/rebalancing",
        "a group is not empty while members join",
        *alone("delete-rebalancing"),
        *join_anew("delete-rebalancing", 2, conn="b"),
        AwaitGroup("delete-rebalancing", "PreparingRebalance", 2),
        *ask(delete_groups(["delete-rebalancing"]), conn="c"),
        *ask(leave_group("delete-rebalancing", nth(2), nth(1)), conn="c"),
        Settle("b"),
        *ask(delete_groups(["delete-rebalancing"]), conn="c"),
    ),
    _case(
        "delete-groups/first-rebalance",
        "the only member of a group leaves in the first generation: then the group can be deleted",
        *_left("delete-first"),
        *ask(delete_groups(["delete-first"]), conn="c"),
    ),
]
