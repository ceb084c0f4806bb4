"""ConsumerGroupHeartbeat: which member gets which partitions, and when."""

from __future__ import annotations

from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.scenario import AwaitCoordinator, Case, DeleteTopic, Pause, Step, Topic

VERSIONS = (0, 1)
_BOX = "consumer-groups"


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-assignment/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _topic(name: str, partitions: int = 3) -> Topic:
    return Topic(name, partitions=partitions)


def _three() -> Case:
    group = topic = "chb-three"
    names = ["a", "b", "c"]

    def beats(**epochs: int) -> list[bytes]:
        return [heartbeat(group, name, epoch) for name, epoch in epochs.items()]

    return _case(
        "three",
        "the order of a hash table decides which member gets what; a member with one partition more keeps it",
        *one_by_one(
            *(join(group, name, topic) for name in names),
            *beats(a=2, b=3, c=4),
            heartbeat(group, "a", 2, owned={topic: [0, 1, 2]}),
            heartbeat(group, "a", 2, owned={}),
            *beats(b=4, c=4),
            heartbeat(group, "b", 3, owned={}),
            *beats(a=4, b=4, c=4),
            describe(group),
            heartbeat(group, "b", -1),
            *beats(a=4, c=4),
            describe(group),
        ),
        topics=(_topic(topic, 7),),
    )


def _many() -> Case:
    group = topic = "chb-many"
    names = [f"member-{number}" for number in range(10)]
    return _case(
        "many",
        "ten members and 16 partitions, then two members less: each member gets the same partitions as in Kafka",
        *one_by_one(*(join(group, name, topic) for name in names)),
        *one_by_one(describe(group)),
        *one_by_one(heartbeat(group, names[3], -1), heartbeat(group, names[8], -1)),
        *one_by_one(heartbeat(group, names[0], 2, owned={}), describe(group)),
        topics=(_topic(topic, 16),),
    )


def _assignors(version: int) -> Case:
    group = topic = f"chb-assignor-v{version}"
    return _case(
        f"assignors-v{version}",
        "the assignor that most members name is used; the order of a hash table decides between equal ones",
        *one_by_one(
            join(group, "a", topic, version=version, assignor="range"),
            describe(group, version=version),
            join(group, "b", topic, version=version, assignor="uniform"),
            describe(group, version=version),
            join(group, "c", topic, version=version),
            describe(group, version=version),
            heartbeat(group, "c", 4, version=version, assignor="range"),
            heartbeat(group, "b", 3, version=version, assignor="range"),
            describe(group, version=version),
            heartbeat(group, "b", -1, version=version),
            heartbeat(group, "a", 2, version=version, assignor="uniform"),
            describe(group, version=version),
        ),
        topics=(_topic(topic, 5),),
    )


def _range() -> Case:
    group = "chb-range"
    topics = ("chb-range-1", "chb-range-2")
    return _case(
        "range",
        "the range assignor: ranges of each topic, static members first, by instance id",
        *one_by_one(
            join(group, "z", *topics, assignor="range"),
            join(group, "y", *topics, assignor="range", instance_id="j"),
            join(group, "x", *topics, assignor="range", instance_id="i"),
            describe(group),
        ),
        topics=tuple(_topic(topic, 5) for topic in topics),
    )


def _heterogeneous() -> Case:
    group, first, second = "chb-mixed", "chb-mixed-1", "chb-mixed-2"
    return _case(
        "heterogeneous",
        "members that are subscribed to different topics (UniformHeterogeneousAssignmentBuilder)",
        *one_by_one(
            join(group, "a", first),
            join(group, "b", first, second),
            describe(group),
            join(group, "c", second),
            describe(group),
            heartbeat(group, "b", 3, topics=[first]),
            describe(group),
        ),
        topics=(_topic(first, 6), _topic(second, 3)),
    )


def _subscriptions() -> Case:
    group, first, second = "chb-subscribes", "chb-subscribes-1", "chb-subscribes-2"
    return _case(
        "subscribes",
        "a member gives up partitions at once when it unsubscribes from their topic",
        *one_by_one(
            join(group, "a", first),
            heartbeat(group, "a", 2, topics=[second]),
            heartbeat(group, "a", 2),
            describe(group),
            heartbeat(group, "a", 2, owned={first: [0, 1]}),
            heartbeat(group, "a", 2, owned={}),
            heartbeat(group, "a", 3, owned={second: [0, 1]}),
            heartbeat(group, "a", 3, topics=[]),
            heartbeat(group, "a", 3, topics=[second], owned={}),
            describe(group),
        ),
        topics=(_topic(first, 2), _topic(second, 2)),
    )


def _nothing_to_subscribe_to() -> Case:
    group = "chb-nothing"
    return _case(
        "nothing",
        "unknown topics, no topics, and one topic twice",
        *one_by_one(
            join(group, "a", "chb-not-there"),
            heartbeat(group, "a", 2),
            join(group, "b"),
            describe(group),
            join(group, "c", "chb-nothing", "chb-nothing"),
            describe(group),
            heartbeat(group, "a", -1),
            heartbeat(group, "b", -1),
            heartbeat(group, "c", -1),
            describe(group),
        ),
        topics=(_topic("chb-nothing", 2),),
    )


def _topic_goes() -> Case:
    group, first, second = "chb-goes", "chb-goes-1", "chb-goes-2"
    return _case(
        "topic-goes",
        "a deleted topic bumps the epoch of the groups that subscribe to it",
        *one_by_one(join(group, "a", first, second), heartbeat(group, "a", 2), describe(group)),
        DeleteTopic(first),
        Pause(500),
        *one_by_one(
            heartbeat(group, "a", 2),
            heartbeat(group, "a", 2, owned={second: [0]}),
            heartbeat(group, "a", 3),
            describe(group),
        ),
        topics=(_topic(first, 1), _topic(second, 1)),
    )


def _two(version: int) -> Case:
    group = topic = f"chb-two-v{version}"

    def beat(member_id: str, epoch: int, *owned: int, say: bool = False) -> bytes:
        held = {topic: owned} if owned or say else None
        return heartbeat(group, member_id, epoch, version=version, owned=held)

    return _case(
        f"two-v{version}",
        "partitions are revoked before they are assigned: a new owner waits until the old one has given them up",
        *one_by_one(
            join(group, "a", topic, version=version),
            join(group, "b", topic, version=version),
            describe(group, version=version),
            beat("b", 3),
            beat("a", 2),
            describe(group, version=version),
            beat("b", 3),
            beat("a", 2, 0, 1, 2, 3),
            beat("a", 2),
            beat("a", 2, 0, 1),
            describe(group, version=version),
            beat("b", 3),
            beat("b", 3, 2, 3),
            beat("a", 3, 0, 1),
            describe(group, version=version),
            heartbeat(group, "a", -1, version=version),
            beat("b", 3),
            beat("b", 4),
            describe(group, version=version),
        ),
        topics=(_topic(topic, 4),),
    )


CASES: list[Case] = [
    *(make(version) for make in (_two, _assignors) for version in VERSIONS),
    _three(),
    _many(),
    _range(),
    _heterogeneous(),
    _subscriptions(),
    _nothing_to_subscribe_to(),
    _topic_goes(),
]
