"""Groups on their way from the classic protocol to that of KIP-848, and back, while their members work."""

from __future__ import annotations

import struct

from conformance.consumer_group_frames import describe, join, one_by_one
from conformance.consumer_group_frames import heartbeat as beat
from conformance.group_frames import (
    describe_groups,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    sync_group,
)
from conformance.group_steps import join_anew, nth
from conformance.random_ids import random_id
from conformance.scenario import AwaitCoordinator, Case, Settle, Step, Topic

_BOX = "consumer-groups"


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _partitions(owned: dict[str, list[int]]) -> bytes:
    topics = b"".join(
        _text(topic) + struct.pack(f">i{len(parts)}i", len(parts), *parts) for topic, parts in owned.items()
    )
    return struct.pack(">i", len(owned)) + topics


def _says(topic: str, *owned: int, version: int = 3) -> list[tuple[str, bytes]]:
    """The protocols of a member, each with the same subscription."""
    said = struct.pack(">hi", version, 1) + _text(topic) + struct.pack(">i", -1)
    if version >= 1:
        said += _partitions({topic: list(owned)} if owned else {})
    if version >= 2:
        said += struct.pack(">i", -1)
    if version >= 3:
        said += struct.pack(">h", -1)
    return [("range", said), ("cooperative-sticky", said)]


def _assigns(topic: str, *partitions: int, user_data: bytes | None = None) -> bytes:
    data = struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    return struct.pack(">h", 1) + _partitions({topic: list(partitions)}) + data


def _case(what: str, why: str, *steps: Step, topic: str, box: str = _BOX) -> Case:
    topics = (Topic(topic, partitions=4),)
    return Case(f"migration/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=box)


def _classic(topic: str, user_data: bytes | None = None, version: int = 3) -> tuple[Step, ...]:
    """A stable classic group of one, in generation 1, with all partitions; named as its topic."""
    assignment = _assigns(topic, 0, 1, 2, 3, user_data=user_data)
    return (
        *join_anew(topic, 1, protocols=_says(topic, version=version)),
        Settle(),
        *one_by_one(sync_group(topic, nth(1), 1, {nth(1): assignment})),
    )


def _again(topic: str, *owned: int, member_id: str = "", instance_id: str | None = None, version: int = 9) -> bytes:
    return join_group(
        topic, member_id or nth(1), protocols=_says(topic, *owned), instance_id=instance_id, version=version
    )


def _upgrade() -> Case:
    topic = "mig-up"
    return _case(
        "upgrade",
        "a member of the consumer protocol converts the group; classic members learn it by their heartbeats",
        *_classic(topic),
        *one_by_one(
            join(topic, "m", topic),
            describe(topic),
            describe_groups([topic]),
            heartbeat(topic, nth(1), 1),
            heartbeat(topic, nth(1), 2),
            _again(topic, 0, 1, 2, 3),
            sync_group(topic, nth(1), 1),
            heartbeat(topic, nth(1), 1),
            beat(topic, "m", 2),
            _again(topic, 0, 1),
            sync_group(topic, nth(1), 2),
            sync_group(topic, nth(1), 1),
            sync_group(topic, nth(1), 2, protocol_name="cooperative-sticky"),
            sync_group(topic, nth(1), 2, protocol_type="connect"),
            sync_group(topic, nth(1), 2, protocol_type=None, protocol_name=None),
            heartbeat(topic, nth(1), 2),
            beat(topic, "m", 2),
            describe(topic),
        ),
        topic=topic,
    )


def _there_and_back() -> Case:
    topic = "mig-back"
    return _case(
        "downgrade",
        "when the last member of the consumer protocol leaves, the group becomes classic, and rebalances",
        *_classic(topic),
        *one_by_one(
            join(topic, "m", topic),
            _again(topic, 0, 1, 2, 3),
            sync_group(topic, nth(1), 1),
            _again(topic, 0, 1),
            sync_group(topic, nth(1), 2),
            beat(topic, "m", 2),
            beat(topic, "m", -1),
            describe(topic),
            describe_groups([topic]),
            heartbeat(topic, nth(1), 3),
            heartbeat(topic, nth(1), 2),
            _again(topic, 0, 1),
            sync_group(topic, nth(1), 3, {nth(1): _assigns(topic, 0, 1, 2, 3)}),
            sync_group(topic, nth(1), 4, {nth(1): _assigns(topic, 0, 1, 2, 3)}),
            describe_groups([topic]),
            beat(topic, "m", 2),
        ),
        topic=topic,
    )


def _replaced() -> Case:
    topic = "mig-replaced"
    return _case(
        "static-replaced",
        "the instance id of the last member of the consumer protocol joins with the classic one",
        *_classic(topic),
        *one_by_one(
            join(topic, "m", topic, instance_id="i"),
            _again(topic, 0, 1, 2, 3),
            _again(topic, 0, 1),
            sync_group(topic, nth(1), 2),
            beat(topic, "m", 2, instance_id="i"),
            join_group(topic, protocols=_says(topic, 2, 3), instance_id="i"),
            describe_groups([topic]),
            describe(topic),
            heartbeat(topic, nth(1), 2),
        ),
        topic=topic,
    )


def _classic_joins(version: int) -> Case:
    topic = f"mig-joins-v{version}"
    named = topic if version < 4 else random_id(1)
    first = () if version < 4 else one_by_one(join_group(topic, protocols=_says(topic), version=version), conn="b")
    return _case(
        f"classic-joins-v{version}",
        "a classic member joins a consumer group: no rebalance barrier, and the coordinator assigns",
        *one_by_one(join(topic, "m", topic)),
        *first,
        *one_by_one(join_group(topic, "" if version < 4 else named, protocols=_says(topic), version=version), conn="b"),
        *one_by_one(
            sync_group(topic, random_id(1), 3),
            heartbeat(topic, random_id(1), 3),
            beat(topic, "m", 2),
            beat(topic, "m", 2, owned={topic: [0, 1]}),
            heartbeat(topic, random_id(1), 3),
            join_group(topic, random_id(1), protocols=_says(topic), version=version),
            sync_group(topic, random_id(1), 3),
            describe(topic),
            leave_group(topic, random_id(1)),
            describe(topic),
        ),
        topic=topic,
    )


def _refused() -> Case:
    topic = "mig-refused"
    return _case(
        "classic-refused",
        "classic members that a consumer group refuses",
        *one_by_one(
            join(topic, "m", topic),
            join_group(topic, "n", protocols=_says(topic), protocol_type="connect"),
            join_group(topic, "n", protocols=[("range", b"")]),
            join_group(topic, "n", protocols=[("range", b"\xff\xff")]),
            join_group(topic, "n", protocols=[("range", struct.pack(">hi", 0, 1))]),
            join_group(topic, "n", protocols=[]),
            join_group(topic, "n", protocols=_says(topic, version=0)),
            join_group(topic, "o", protocols=[("other", _says(topic)[0][1])]),
            join_group(topic, "m", protocols=_says(topic)),
            describe(topic),
        ),
        topic=topic,
    )


def _custom() -> Case:
    topic = "mig-custom"
    return _case(
        "custom-assignor",
        "a group with the user data of a client's assignor, which a conversion would lose, is not converted",
        *_classic(topic, user_data=b"mine"),
        *one_by_one(join(topic, "m", topic), describe(topic), describe_groups([topic])),
        topic=topic,
    )


def _malformed() -> Case:
    topic = "mig-malformed"
    return _case(
        "malformed",
        "a group with metadata that are not those of consumers is not converted",
        *join_anew(topic, 1, protocols=[("range", b"\0\0")]),
        Settle(),
        *one_by_one(sync_group(topic, nth(1), 1, {nth(1): b"all"}), join(topic, "m", topic), describe_groups([topic])),
        topic=topic,
    )


def _other_type() -> Case:
    topic = "mig-type"
    return _case(
        "other-type",
        "a group of another protocol type is not converted",
        *join_anew(topic, 1, protocol_type="connect"),
        Settle(),
        *one_by_one(
            sync_group(topic, nth(1), 1, {nth(1): b"all"}, protocol_type="connect"),
            join(topic, "m", topic),
            beat(topic, "m", 1),
            beat(topic, "m", -1),
        ),
        topic=topic,
    )


def _empty() -> Case:
    topic = "mig-empty"
    return _case(
        "empty",
        "an empty group changes its type at once, in both directions",
        *_classic(topic),
        *one_by_one(
            leave_group(topic, nth(1)),
            join(topic, "m", topic),
            describe_groups([topic]),
            describe(topic),
            beat(topic, "m", -1),
        ),
        *join_anew(topic, 2, protocols=_says(topic)),
        Settle(),
        *one_by_one(describe_groups([topic]), describe(topic)),
        topic=topic,
    )


def _listed() -> Case:
    topic = "mig-listed"
    return _case(
        "listed",
        "ListGroups returns the type of a group",
        *one_by_one(join(topic, "m", topic), list_groups(["Stable"], ["nothing"], version=5)),
        topic=topic,
    )


CASES: list[Case] = [
    _upgrade(),
    _there_and_back(),
    _replaced(),
    *(_classic_joins(version) for version in (3, 4, 9)),
    _refused(),
    _custom(),
    _malformed(),
    _other_type(),
    _empty(),
    _listed(),
]
