"""ConsumerGroupHeartbeat: which requests are accepted for a member, and their effect on the group."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.random_ids import random_id
from conformance.scenario import AwaitCoordinator, Case, Step, Topic

VERSIONS = (0, 1)
_BOX = "consumer-groups"


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-heartbeat/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _topic(name: str, partitions: int = 3) -> Topic:
    return Topic(name, partitions=partitions)


def _alone(version: int) -> Case:
    group = topic = f"chb-alone-v{version}"
    return _case(
        f"alone-v{version}",
        "a member joins, sends a heartbeat, repeats all fields, and leaves: its epoch, and responses with its "
        "assignment",
        *one_by_one(
            join(group, "m", topic, version=version),
            heartbeat(group, "m", 2, version=version),
            heartbeat(group, "m", 2, version=version, owned={topic: [0, 1, 2]}),
            heartbeat(group, "m", 2, version=version, rebalance_ms=1000, topics=[topic], owned={topic: [0, 1, 2]}),
            heartbeat(group, "m", 2, version=version, rebalance_ms=1000, topics=[topic], owned={}),
            heartbeat(group, "m", 2, version=version, rack_id="r1"),
            heartbeat(group, "m", 2, version=version, topics=[]),
            heartbeat(group, "m", 3, version=version, owned={}),
            heartbeat(group, "m", 3, version=version, topics=[topic, "not-there"]),
            describe(group, version=version),
            heartbeat(group, "m", -1, version=version),
            describe(group, version=version),
            heartbeat(group, "m", 4, version=version),
            heartbeat(group, "m", -1, version=version),
            join(group, "m", topic, version=version),
            describe(group, version=version),
        ),
        topics=(_topic(topic),),
    )


def _refused(version: int) -> Case:
    group = topic = f"chb-refused-v{version}"

    def beat(member_id: str = "m", epoch: int = 0, **values: Any) -> bytes:
        return heartbeat(values.pop("group", group), member_id, epoch, version=version, **values)

    first: dict[str, Any] = {"rebalance_ms": 1000, "topics": [topic], "owned": {}}
    return _case(
        f"refused-v{version}",
        "invalid requests (GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid)",
        *one_by_one(
            beat("", 1),
            beat("", -1),
            beat("", -2),
            beat(" ", 1),
            beat("\t\n", -1),
            beat(group="", **first),
            beat(group="  ", **first),
            beat(instance_id="", **first),
            beat(rack_id=" ", **first),
            beat(),
            beat(topics=[topic], owned={}),
            beat(rebalance_ms=1000, topics=[topic]),
            beat(rebalance_ms=1000, topics=[topic], owned={topic: [0]}),
            beat(rebalance_ms=1000, owned={}),
            beat(epoch=-2),
            beat(epoch=-3),
            beat(epoch=-(1 << 31)),
            beat(assignor="nothing", **first),
            beat(assignor="", **first),
            beat(epoch=5, assignor="Uniform"),
            beat(epoch=-1, assignor="nothing"),
            beat(epoch=1),
            beat(epoch=-1),
            beat(epoch=-2, instance_id="i"),
            beat(rebalance_ms=0, topics=[topic], owned={}),
            beat(epoch=-1),
            beat(rebalance_ms=-2, topics=[topic], owned={}),
            describe(group, version=version),
        ),
        topics=(_topic(topic),),
    )


def _random_member_id() -> Case:
    group = topic = "chb-random"
    return _case(
        "random-id",
        "in version 0 the coordinator may generate the member id (KIP-1082)",
        *one_by_one(
            join(group, "", topic, version=0),
            heartbeat(group, random_id(1), 2, version=0),
            join(group, random_id(1), topic, version=0),
            heartbeat(group, random_id(1), -1, version=0),
        ),
        topics=(_topic(topic),),
    )


def _epochs(version: int) -> Case:
    group = topic = f"chb-epochs-v{version}"

    def beat(epoch: int, **values: Any) -> bytes:
        return heartbeat(group, "m", epoch, version=version, **values)

    all_of_it = {topic: [0, 1, 2]}
    return _case(
        f"epochs-v{version}",
        "an epoch that is too high or too low, and the previous epoch with the member's partitions",
        *one_by_one(
            join(group, "m", topic, version=version),
            beat(3),
            beat(1),
            beat(1, owned=all_of_it),
            beat(2, topics=[topic, "other"]),
            beat(2),
            beat(2, owned={topic: [0, 1, 2, 3]}),
            beat(2, owned=[(UUID(int=77), [])]),
            beat(2, owned={}),
            beat(2, owned=all_of_it),
            beat(3),
            heartbeat(group, "nobody", 3, version=version),
            heartbeat(group, "nobody", -1, version=version),
            heartbeat(group, "m", 3, instance_id="i", version=version),
            heartbeat(group, "m", 3, version=version),
            join(group, "m", topic, version=version),
            beat(4),
        ),
        topics=(_topic(topic),),
    )


def _static(version: int) -> Case:
    group = topic = f"chb-static-v{version}"

    def beat(member_id: str, epoch: int, instance_id: str | None = "i", **values: Any) -> bytes:
        return heartbeat(group, member_id, epoch, version=version, instance_id=instance_id, **values)

    return _case(
        f"static-v{version}",
        "a static member returns with another member id and gets its partitions; it may not return before it has left",
        *one_by_one(
            join(group, "a", topic, version=version, instance_id="i"),
            join(group, "b", topic, version=version, instance_id="i"),
            join(group, "a", topic, version=version, instance_id="i"),
            beat("b", 2),
            beat("a", 2),
            beat("a", 2, instance_id=None),
            beat("b", -2),
            beat("a", -2, instance_id="other"),
            beat("a", -2),
            describe(group, version=version),
            beat("a", -2),
            beat("a", 2),
            join(group, "b", topic, version=version, instance_id="i"),
            describe(group, version=version),
            beat("b", 2),
            beat("a", 2),
            beat("a", -1),
            beat("b", -1, instance_id=None),
            describe(group, version=version),
        ),
        topics=(_topic(topic),),
    )


def _static_subscribes_anew() -> Case:
    group = "chb-static-anew"
    topics = first, second, third = tuple(f"{group}-{number}" for number in (1, 2, 3))
    return _case(
        "static-subscribes-anew",
        "a static member returns with another member id and another subscription: it keeps its partitions",
        *one_by_one(
            join(group, "a", second, third, instance_id="i"),
            join(group, "c", *topics, instance_id="j"),
            heartbeat(group, "a", 2, instance_id="i", owned={second: [0, 1, 2, 3], third: [0, 1]}),
            heartbeat(group, "c", 3, instance_id="j", owned={first: [0, 1, 2, 3, 4]}),
            heartbeat(group, "a", -2, instance_id="i"),
            join(group, "b", *topics, instance_id="i"),
            heartbeat(group, "b", 4, instance_id="i", owned={second: [0, 1, 2, 3], third: [0, 1]}),
            heartbeat(group, "c", 3, instance_id="j", owned={first: [0, 1, 2, 3, 4]}),
            describe(group),
        ),
        topics=(_topic(first, 5), _topic(second, 4), _topic(third, 2)),
    )


def _static_leaves() -> Case:
    group = topic = "chb-static-leaves"
    return _case(
        "static-leaves",
        "a static member leaves with epoch -1: its instance id is free, and other members get its partitions",
        *one_by_one(
            join(group, "a", topic, instance_id="i"),
            join(group, "b", topic, instance_id="j"),
            heartbeat(group, "a", 2, owned={topic: [0, 1]}),
            heartbeat(group, "a", -1, instance_id="i"),
            heartbeat(group, "b", 3, instance_id="j"),
            describe(group),
            heartbeat(group, "b", 4, instance_id="k"),
            describe(group),
        ),
        topics=(_topic(topic, 4),),
    )


def _full() -> Case:
    group = topic = "chb-full"
    return _case(
        "full",
        "group.consumer.max.size limits new members; known members and instances can join",
        *one_by_one(*(join(group, f"m{number}", topic) for number in range(9))),
        *one_by_one(join(group, "s", topic, instance_id="i")),
        *one_by_one(join(group, "t", topic), join(group, "", topic, version=0), join(group, "m3", topic)),
        *one_by_one(join(group, "u", topic, instance_id="j"), heartbeat(group, "s", -2, instance_id="i")),
        *one_by_one(join(group, "u", topic, instance_id="i")),
        topics=(_topic(topic),),
    )


def _client(what: str, client_id: str | None) -> Case:
    group = topic = f"chb-client-{what}"
    return _case(
        f"client-{what}",
        "the client id of a member, as ConsumerGroupDescribe returns it",
        *one_by_one(join(group, "m", topic, client_id=client_id), describe(group)),
        topics=(_topic(topic),),
    )


def _never_answered() -> Case:
    group = topic = "chb-groups"
    return _case(
        "other-groups",
        "unknown groups, and the responses while no member has joined",
        *one_by_one(
            heartbeat("chb-no-group", "m", 1),
            heartbeat("chb-no-group", "m", -1),
            heartbeat("chb-no-group", "m", -2, instance_id="i"),
            heartbeat("chb-no-group", "m", 1, instance_id="i"),
            join(group, "m", topic),
            heartbeat(group, "m", 2, instance_id="i"),
            heartbeat(group, "m", -2, instance_id="i"),
            heartbeat(group, "m", -1),
            heartbeat(group, "m", 1),
            describe(group),
        ),
        topics=(_topic(topic),),
    )


CASES: list[Case] = [
    *(make(version) for make in (_alone, _refused, _epochs, _static) for version in VERSIONS),
    _random_member_id(),
    _static_subscribes_anew(),
    _static_leaves(),
    _full(),
    _client("none", None),
    _client("empty", ""),
    _client("long", "c" * 300),
    _never_answered(),
]
