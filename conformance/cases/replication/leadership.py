"""Leaders that change and topics that are deleted while requests are parked, and requests to a broker that does not
lead."""

from __future__ import annotations

from collections.abc import Callable

from conformance.frames import (
    batch,
    create_topics,
    end_offset,
    fetch,
    list_offsets,
    produce,
    produce_many,
)
from conformance.scenario import (
    At,
    Case,
    DeleteTopic,
    Freeze,
    MoveLeader,
    Pause,
    ReadLog,
    Send,
    Settle,
    Step,
    Thaw,
    Topic,
)
from conformance.shared_steps import warm

_FOLLOWED_MS = 250  # until the follower that does fetch has what was sent


def _parked(
    topic: Topic, version: int = 9, timeout_ms: int = 9_000, number: int = 1, value: bytes = b"parked"
) -> bytes:
    name = topic.placeholder if version >= 13 else topic.name
    return produce(name, batch(value), version=version, timeout_ms=timeout_ms, correlation_id=number)


def _moved(version: int) -> Case:
    topic = Topic(f"moved-v{version}", replicas=3)
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((_parked(topic, version), produce(topic.name, batch(b"next"), acks=1, correlation_id=2))),
        Pause(_FOLLOWED_MS),
        MoveLeader(topic.name, 2),
        Settle(),
        Thaw(3),
        ReadLog(topic.name, broker=2),
    )
    why = "the leader moves: parked and later requests get NOT_LEADER_OR_FOLLOWER, from v10 on with the new leader"
    return Case(f"moved/v{version}", why, steps, (topic,), "three")


def _asked_of_a_broker_that_does_not_lead(name: str, why: str, replicas: int, broker: int) -> Case:
    topic = Topic(f"moved-{name}", replicas=replicas)
    versions = (3, 9, 10, 12, 13)
    frames = tuple(
        produce(
            topic.placeholder if version >= 13 else topic.name,
            batch(b"x"),
            version=version,
            acks=acks,
            correlation_id=100 * version + acks,
        )
        for version in versions
        for acks in (-1, 1)
    )
    reads = (
        fetch(topic.name, version=10, correlation_id=1),
        fetch(topic.name, version=12, correlation_id=2),
        fetch(topic.name, 5, version=12, correlation_id=3),
        list_offsets(topic.name, -1, correlation_id=4),
        end_offset(topic.name, correlation_id=5),
        fetch(topic.placeholder, version=16, correlation_id=6),
        fetch(topic.placeholder, version=16, current_leader_epoch=7, correlation_id=7),
    )
    steps = (*warm(topic.name), Pause(600), Send(frames + reads, "other", broker), Settle("other"), ReadLog(topic.name))
    return Case(f"moved/{name}", why, steps, (topic,), "three")


def _acks_0_to_the_wrong_broker() -> Case:
    topic = Topic("moved-acks-0", replicas=3)
    frames = (
        produce(topic.name, batch(b"x"), acks=0, correlation_id=1),
        produce(topic.name, batch(b"y"), acks=1, correlation_id=2),
    )
    why = "acks=0 to a follower closes the connection"
    return Case(
        "moved/acks-0", why, (Send(frames, "other", 2), Settle("other"), ReadLog(topic.name)), (topic,), "three"
    )


def _there_and_back() -> Case:
    topic = Topic("moved-back", replicas=3)
    steps = (
        *warm(topic.name),
        MoveLeader(topic.name, 2),
        Send((produce(topic.name, batch(b"led by 2")),), "b", 2),
        Settle("b"),
        MoveLeader(topic.name, 1),
        Send((produce(topic.name, batch(b"led by 1 again"), correlation_id=2),)),
        Settle(),
        Send((produce(topic.name, batch(b"refused"), version=10, correlation_id=2),), "b"),
        Settle("b"),
        ReadLog(topic.name),
    )
    why = "batches have the epoch of the leader that appended them"
    return Case("moved/there-and-back", why, steps, (topic,), "three")


def _one_of_two_moved() -> Case:
    stays, goes = Topic("moved-stays", replicas=3), Topic("moved-goes", replicas=3)
    frame = produce_many(
        {stays.name: {0: batch(b"stays")}, goes.name: {0: batch(b"goes")}}, version=10, timeout_ms=1_000
    )
    steps = (
        *warm(stays.name, goes.name),
        Freeze(3),
        Send((frame,)),
        Pause(_FOLLOWED_MS),
        MoveLeader(goes.name, 2),
        Settle(),
        Thaw(3),
        ReadLog(stays.name),
        ReadLog(goes.name, broker=2),
    )
    why = "one of two partitions moves: it gets NOT_LEADER_OR_FOLLOWER, when the other one has timed out"
    return Case("moved/one-of-two", why, steps, (stays, goes), "three", (At(1, 1_000),))


def _fetch_waits() -> Case:
    topic = Topic("moved-fetch", replicas=3)
    frames = (fetch(topic.name, 1, version=10, max_wait_ms=9_000),)
    steps = (
        *warm(topic.name),
        Send(frames),
        Pause(_FOLLOWED_MS),
        MoveLeader(topic.name, 2),
        Settle(),
        ReadLog(topic.name, broker=2),
    )
    why = "a parked Fetch gets NOT_LEADER_OR_FOLLOWER when its leader moves"
    return Case("moved/fetch-waits", why, steps, (topic,), "three", (At(1, _FOLLOWED_MS, 2_000),))


def _fetch_waits_v12() -> Case:
    topic = Topic("moved-fetch-v12", replicas=3)
    frames = (fetch(topic.name, 1, version=12, max_wait_ms=1_500),)
    steps = (
        *warm(topic.name),
        Send(frames),
        Pause(_FOLLOWED_MS),
        MoveLeader(topic.name, 2),
        Settle(),
        ReadLog(topic.name, broker=2),
    )
    why = "a parked Fetch that may read from followers (v11 and later) when its leader becomes one"
    return Case("moved/fetch-waits-v12", why, steps, (topic,), "three")


def _deleted(version: int) -> Case:
    topic = Topic(f"deleted-v{version}", replicas=3)
    steps = (
        *warm(topic.name),
        Freeze(3),
        Send((_parked(topic, version),)),
        Pause(100),
        DeleteTopic(topic.name),
        Settle(),
        Pause(300),
        Send((_parked(topic, version, number=2),)),
        Settle(),
    )
    return Case(
        f"deleted/v{version}",
        "the topic is deleted while a request is parked, and then requested again",
        steps,
        (topic,),
        "three",
    )


def _one_of_two_deleted() -> Case:
    stays, goes = Topic("deleted-stays", replicas=3), Topic("deleted-goes", replicas=3)
    frame = produce_many({stays.name: {0: batch(b"stays")}, goes.name: {0: batch(b"goes")}}, timeout_ms=1_000)
    steps = (
        *warm(stays.name, goes.name),
        Freeze(3),
        Send((frame,)),
        Pause(100),
        DeleteTopic(goes.name),
        Settle(),
        Thaw(3),
        ReadLog(stays.name),
    )
    why = "one of two topics is deleted: it gets its error code when the other one has timed out"
    return Case("deleted/one-of-two", why, steps, (stays, goes), "three", (At(1, 1_000),))


def _fetch_waits_for_deleted(version: int) -> Case:
    topic = Topic(f"deleted-fetch-v{version}", replicas=3)
    steps = (
        *warm(topic.name),
        Send((fetch(topic.name, 1, version=version, max_wait_ms=9_000),)),
        Pause(100),
        DeleteTopic(topic.name),
        Settle(),
    )
    why = "the topic is deleted while a Fetch is parked"
    return Case(f"deleted/fetch-waits-v{version}", why, steps, (topic,), "three", (At(1, 100, 2_000),))


def _recreated(name: str, why: str, *steps: Step, make: Callable[[Topic], tuple[bytes, ...]]) -> Case:
    topic = Topic(f"deleted-{name}")
    again = create_topics(
        [{"name": topic.name, "assignments": [{"partition_index": 0, "broker_ids": [1]}]}], version=4, correlation_id=50
    )
    steps = (
        *warm(topic.name),
        DeleteTopic(topic.name),
        Pause(300),
        Send((again,)),
        Settle(),
        MoveLeader(topic.name, 1),
        *steps,
        Send(make(topic)),
        Settle(),
        ReadLog(topic.name),
    )
    return Case(f"deleted/{name}", why, steps, (topic,), "three")


CASES = [
    *(_moved(version) for version in (3, 9, 10, 11, 12, 13)),
    _asked_of_a_broker_that_does_not_lead("follower", "a follower refuses Produce, and serves some consumers", 3, 2),
    _asked_of_a_broker_that_does_not_lead("no-replica", "a broker without a replica refuses all requests", 1, 2),
    _acks_0_to_the_wrong_broker(),
    _there_and_back(),
    _one_of_two_moved(),
    _fetch_waits(),
    _fetch_waits_v12(),
    *(_deleted(version) for version in (9, 12, 13)),
    _one_of_two_deleted(),
    _fetch_waits_for_deleted(10),
    _fetch_waits_for_deleted(12),
    _recreated(
        "recreated",
        "the same name with a new id: the name works, the old id gets UNKNOWN_TOPIC_ID",
        make=lambda topic: (
            _parked(topic, 9, value=b"by name"),
            _parked(topic, 13, number=2, value=b"by the old id"),
            _parked(topic, 12, number=3, value=b"by name again"),
        ),
    ),
]
