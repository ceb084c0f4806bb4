"""JoinGroup: which members may join, the response, and when a join begins a rebalance."""

from __future__ import annotations

from conformance.frames import CLIENT_ID
from conformance.group_frames import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    member,
    subscription,
    sync_group,
)
from conformance.group_steps import RANGE, alone, ask, join_anew, nth, second_joins, two
from conformance.random_ids import random_uuid
from conformance.scenario import AwaitCoordinator, AwaitGroup, Case, Listen, Send, Settle, Step

_BOX = "groups"


def _case(what: str, why: str, *steps: Step) -> Case:
    return Case(f"join-group/{what}", why, (AwaitCoordinator("warm"), *steps), box=_BOX)


def _alone(version: int) -> Case:
    """The life of a group of one, each API at a version of its own."""
    group = f"join-alone-v{version}"
    sync, beat, leave = min(version, 5), min(version, 4), min(version, 5)
    return _case(
        f"alone-v{version}",
        "the first member leads generation 1; from v4 on it gets its member id first (KIP-394)",
        *join_anew(group, 1, version=version),
        Settle(),
        *ask(describe_groups([group], version=min(version, 6))),
        *ask(sync_group(group, nth(1), 1, {nth(1): b"all"}, version=sync)),
        *ask(heartbeat(group, nth(1), 1, version=beat)),
        *ask(describe_groups([group], version=min(version, 6))),
        *ask(leave_group(group, nth(1), version=leave)),
        *ask(describe_groups([group], version=min(version, 6))),
    )


def _refused(version: int) -> Case:
    group = f"join-refused-v{version}"

    def join(name: str, member_id: str = "", **values: object) -> bytes:
        return join_group(name, member_id, version=version, **({"protocols": RANGE} | values))  # type: ignore[arg-type]

    return _case(
        f"refused-v{version}",
        "invalid requests (GroupCoordinatorService.joinGroup, classicGroupJoinToClassicGroup)",
        *ask(join("")),
        *ask(join("", session_ms=1)),
        *ask(join("", "nobody")),
        *ask(join(group, session_ms=299)),
        *ask(join(group, session_ms=0)),
        *ask(join(group, session_ms=-1)),
        *ask(join(group, session_ms=1_800_001)),
        *ask(join(group, "nobody", session_ms=1_800_001)),
        *ask(join(group, "nobody")),
        *ask(join(group, protocol_type="")),
        *ask(join(group, protocols=())),
        *ask(join(group, "nobody")),
        *ask(join(group, "nobody", protocols=())),
        *ask(describe_groups([group], version=5)),
    )


def _inconsistent(version: int) -> Case:
    group = f"join-inconsistent-v{version}"
    return _case(
        f"inconsistent-v{version}",
        "a member must have the group's protocol type, and a protocol that all others have",
        *alone(group, version=version),
        *ask(join_group(group, version=version, protocols=RANGE, protocol_type="connect"), conn="b"),
        *ask(join_group(group, version=version, protocols=RANGE, protocol_type=""), conn="b"),
        *ask(join_group(group, version=version, protocols=[("other", b"")]), conn="b"),
        *ask(join_group(group, version=version, protocols=[]), conn="b"),
        *ask(join_group(group, "nobody", version=version, protocols=[("other", b"")]), conn="b"),
        *ask(join_group(group, "nobody", version=version, protocols=RANGE), conn="b"),
        *ask(join_group(group, nth(1), version=version, protocols=[("other", b"")])),
        *ask(join_group(group, nth(1), version=version, protocols=RANGE, protocol_type="connect")),
        *ask(heartbeat(group, nth(1), 1)),
    )


def _says(what: str, metadata: bytes, protocol_type: str = "consumer") -> Case:
    """A consumer may say anything of itself, but the broker reads it."""
    group = f"join-says-{what}"
    join = join_group(group, protocol_type=protocol_type, protocols=[("range", metadata)])
    again = join_group(group, nth(1), protocol_type=protocol_type, protocols=[("range", metadata)])
    return _case(
        f"says-{what}",
        "the coordinator parses subscribed topics of consumers (computeSubscribedTopics); invalid metadata "
        "are accepted",
        *ask(join),
        Send((again,)),
        Listen(500),
        *ask(describe_groups([group], version=5), conn="b"),
    )


def _votes(what: str, first: list[str], second: list[str]) -> Case:
    group = f"join-votes-{what}"
    said = subscription("groups-topic")
    ours, theirs = [(name, said) for name in first], [(name, said) for name in second]
    return _case(
        f"votes-{what}",
        "each member votes for the first protocol that all have; the order of a hash table decides a tie",
        *alone(group, sync=False, protocols=ours),
        *join_anew(group, 2, conn="b", protocols=theirs),
        AwaitGroup(group, "PreparingRebalance", 2),
        *ask(join_group(group, nth(1), protocols=ours)),
        Settle("b"),
    )


def _client(what: str, client_id: str | None, name: str) -> Case:
    group = f"join-client-{what}"
    return _case(
        f"client-{what}",
        "a member id starts with the client id (generateMemberId), which DescribeGroups returns",
        *ask(join_group(group, protocols=RANGE, client_id=client_id)),
        *ask(join_group(group, member(random_uuid(1), name), protocols=RANGE, client_id=client_id)),
        *ask(sync_group(group, member(random_uuid(1), name), 1)),
        *ask(describe_groups([group], version=5)),
    )


_OTHER = (("range", subscription("another-topic")),)
_REJOINS = [
    _case(
        "leader-again",
        "in a stable group a rejoin of the leader starts a rebalance, a rejoin of a follower does not",
        *two("join-leader-again"),
        *ask(join_group("join-leader-again", nth(2), protocols=RANGE), conn="b"),
        *ask(heartbeat("join-leader-again", nth(1), 2)),
        Send((join_group("join-leader-again", nth(1), protocols=RANGE),)),
        AwaitGroup("join-leader-again", "PreparingRebalance", 2),
        *ask(heartbeat("join-leader-again", nth(2), 2), conn="b"),
        *ask(sync_group("join-leader-again", nth(2), 2), conn="b"),
        *ask(join_group("join-leader-again", nth(2), protocols=RANGE), conn="b"),
        Settle(),
        *ask(heartbeat("join-leader-again", nth(2), 2), conn="b"),
        *ask(heartbeat("join-leader-again", nth(2), 3), conn="b"),
    ),
    _case(
        "follower-changed",
        "a follower with changed metadata starts a rebalance",
        *two("join-follower-changed"),
        Send((join_group("join-follower-changed", nth(2), protocols=_OTHER),), "b"),
        AwaitGroup("join-follower-changed", "PreparingRebalance", 2),
        *ask(heartbeat("join-follower-changed", nth(1), 2)),
        *ask(join_group("join-follower-changed", nth(1), protocols=RANGE)),
        Settle("b"),
    ),
    _case(
        "completing-same",
        "before SyncGroup of the leader, a rejoin without changes gets the same response again",
        *two("join-completing-same", sync=False),
        *ask(join_group("join-completing-same", nth(1), protocols=RANGE)),
        *ask(join_group("join-completing-same", nth(2), protocols=RANGE), conn="b"),
        *ask(join_group("join-completing-same", nth(2), protocols=RANGE, version=5), conn="b"),
        *ask(heartbeat("join-completing-same", nth(2), 2), conn="b"),
        *ask(describe_groups(["join-completing-same"])),
    ),
    _case(
        "completing-changed",
        "before SyncGroup of the leader, a rejoin with changes starts a rebalance; a parked SyncGroup gets "
        "REBALANCE_IN_PROGRESS",
        *two("join-completing-changed", sync=False),
        Send((sync_group("join-completing-changed", nth(2), 2),), "b"),
        Send((join_group("join-completing-changed", nth(1), protocols=_OTHER),)),
        Settle("b"),
        *ask(join_group("join-completing-changed", nth(2), protocols=RANGE), conn="b"),
        Settle(),
    ),
    _case(
        "completing-third",
        "before SyncGroup of the leader, a third member starts a rebalance",
        *two("join-completing-third", sync=False),
        Send((sync_group("join-completing-third", nth(2), 2),), "b"),
        *join_anew("join-completing-third", 3, conn="c"),
        Settle("b"),
        *ask(heartbeat("join-completing-third", nth(1), 2)),
        Send((join_group("join-completing-third", nth(1), protocols=RANGE),)),
        Send((join_group("join-completing-third", nth(2), protocols=RANGE),), "b"),
        Settle("a"),
        Settle("b"),
        Settle("c"),
    ),
    _case(
        "twice",
        "a second JoinGroup of a parked member replaces the first: the response goes to the last connection",
        *alone("join-twice"),
        *join_anew("join-twice", 2, conn="b"),
        AwaitGroup("join-twice", "PreparingRebalance", 2),
        Send((join_group("join-twice", nth(2), protocols=_OTHER),), "c"),
        Listen(200, "c"),
        *ask(join_group("join-twice", nth(1), protocols=RANGE)),
        Settle("c"),
        Listen(200, "b"),
    ),
    _case(
        "pending",
        "the group waits for a pending member, which may join from any connection",
        *alone("join-pending"),
        *ask(join_group("join-pending", protocols=RANGE), conn="b"),
        *ask(describe_groups(["join-pending"])),
        *ask(heartbeat("join-pending", nth(2), 1), conn="b"),
        *ask(sync_group("join-pending", nth(2), 1), conn="b"),
        Send((join_group("join-pending", nth(1), protocols=RANGE),)),
        AwaitGroup("join-pending", "PreparingRebalance", 1),
        *ask(join_group("join-pending", nth(2), protocols=RANGE, version=0), conn="c"),
        Settle(),
    ),
    _case(
        "pending-static",
        "a pending member cannot become static",
        *ask(join_group("join-pending-static", protocols=RANGE)),
        *ask(join_group("join-pending-static", nth(1), protocols=RANGE, instance_id="one")),
        *ask(join_group("join-pending-static", nth(1), protocols=RANGE)),
    ),
    _case(
        "both-old",
        "two members with v3: each waits for the other one in its next generation",
        *alone("join-both-old", version=3),
        *second_joins("join-both-old", version=3),
    ),
    _case(
        "repeated-protocol",
        "a protocol that a member names twice is not common to all: the rebalance cannot complete",
        *ask(join_group("join-repeated", protocols=[*RANGE, *RANGE])),
        Send((join_group("join-repeated", nth(1), protocols=[*RANGE, *RANGE]),)),
        Listen(500),
        *ask(describe_groups(["join-repeated"]), conn="b"),
        *ask(leave_group("join-repeated", nth(1)), conn="b"),
        Settle(),
        *ask(describe_groups(["join-repeated"]), conn="b"),
    ),
]

CASES = [
    *map(_alone, range(10)),
    *map(_refused, range(10)),
    *map(_inconsistent, (0, 3, 4, 6, 7, 9)),
    _says("nothing", b""),
    _says("a-byte", b"\0"),
    _says("a-version", b"\0\1"),
    _says("half-a-count", b"\0\1\0\0"),
    _says("too-many-topics", b"\0\1\0\0\0\x09"),
    _says("less-than-none", b"\0\1\xff\xff\xff\xff"),
    _says("a-long-topic", b"\0\1\0\0\0\1\0\x09t"),
    _says("no-topic", b"\0\1\0\0\0\1\xff\xff"),
    _says("no-user-data", b"\0\1\0\0\0\1\0\1t"),
    _says("long-user-data", b"\0\1\0\0\0\1\0\1t\0\0\0\7x"),
    _says("version-minus-one", b"\xff\xff\0\0\0\0\xff\xff\xff\xff"),
    _says("no-utf-8", b"\0\1\0\0\0\1\0\2\xc3\x28\xff\xff\xff\xff"),
    _says("more-behind", subscription("t") + b"more"),
    _says("anything-of-connect", b"\0\1\0\0\0\x09", "connect"),
    _votes("tie", ["range", "roundrobin"], ["roundrobin", "range"]),
    _votes("other-tie", ["roundrobin", "range"], ["range", "roundrobin"]),
    _votes("sticky-tie", ["sticky", "range", "cooperative-sticky"], ["cooperative-sticky", "range", "sticky"]),
    _votes("names", ["b", "a", "ö", "c"], ["c", "ö", "a", "b"]),
    _votes("one-in-common", ["range", "roundrobin"], ["other", "roundrobin"]),
    _client("empty", "", ""),
    _client("null", None, ""),
    _client("dashes", "a-b c", "a-b c"),
    _client("usual", CLIENT_ID, CLIENT_ID),
    *_REJOINS,
]
