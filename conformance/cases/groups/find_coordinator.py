"""FindCoordinator: the coordinator of a group, and requests for what has no coordinator."""

from __future__ import annotations

from conformance.group_steps import ask
from conformance.offset_frames import find_coordinators
from conformance.scenario import AwaitCoordinator, AwaitIsr, Case, MoveLeader, Step

_SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:0"
_OFFSETS = "__consumer_offsets"


def _case(name: str, why: str, *steps: Step, box: str = "groups") -> Case:
    return Case(f"find-coordinator/{name}", why, (AwaitCoordinator("warm"), *steps), box=box)


def _group(version: int) -> Case:
    keys = ["g", "", "nobody", "g"] if version >= 4 else ["g"]
    return _case(
        f"group-v{version}",
        "an unknown group, no group, and one group twice (KafkaApis.getCoordinator)",
        *ask(find_coordinators(keys, version=version)),
        *ask(find_coordinators([""], version=version)),
        *(ask(find_coordinators([], version=version)) if version >= 4 else ()),
    )


def _types(version: int) -> Case:
    return _case(
        f"types-v{version}",
        "unknown key types, and share groups on a cluster without them (CoordinatorType.forId, SharePartitionKey)",
        *ask(find_coordinators(["g"], key_type=3, version=version)),
        *ask(find_coordinators(["g", "h"], key_type=-1, version=version)),
        *ask(find_coordinators([_SHARE_KEY if version < 6 else "group"], key_type=2, version=version)),
    )


def _share_keys() -> Case:
    keys = [
        "",
        "g",
        ":AAAAAAAAAAAAAAAAAAAAAQ:0",
        " :AAAAAAAAAAAAAAAAAAAAAQ:0",
        "g:AAAAAAAAAAAAAAAAAAAAAQ",
        "g:AAAA:0",
        "g:AAAAAAAAAAAAAAAAAAAAAQAAAAAAAAAA:0",
        "g:AAAAAAAAAAAAAAAAAAAAA!:0",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:x",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:99999999999",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:0:1",
    ]
    why = "invalid partitions of share groups (SharePartitionKey.validate)"
    return _case("share-keys", why, *ask(find_coordinators(keys, key_type=2)))


def _moves() -> Case:
    return _case(
        "moves",
        "the coordinator is the leader of the partition, and every broker returns it",
        AwaitIsr(_OFFSETS, (1, 2, 3)),
        MoveLeader(_OFFSETS, 2),
        *ask(find_coordinators(["g"])),
        AwaitIsr(_OFFSETS, (1, 2, 3)),
        MoveLeader(_OFFSETS, 1),
        *ask(find_coordinators(["g"])),
        box="coordinator",
    )


CASES: list[Case] = [
    *(_group(version) for version in range(7)),
    *(_types(version) for version in range(1, 7)),
    _share_keys(),
    _moves(),
]
