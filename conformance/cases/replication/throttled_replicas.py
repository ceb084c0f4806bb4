"""Throttled replicas (KIP-73): what is replicated at once, what is delayed, and which replicas are not throttled."""

from __future__ import annotations

from conformance.cases.partitions.alter_partition_reassignments import reassigned
from conformance.cases.partitions.list_partition_reassignments import listed
from conformance.config_frames import BROKER, DELETE, SET, TOPIC, incremental
from conformance.frames import batch, metadata, produce
from conformance.scenario import At, AwaitIsr, Case, CatchUp, Pause, Play, ReadLog, Send, Settle, Step, Thaw, Topic
from conformance.session_steps import asked, fetch
from conformance.shared_steps import warm

_LARGE = batch(b"v" * 900_000)
_SMALL = batch(b"v" * 100_000)
_ALTERED_MS = 500  # until the brokers have heard of it
_FORGOTTEN_MS = 12_000  # until what a case before has let over counts for nothing: eleven windows of a second


def _throttled(topic: str, replicas: str, side: str, rate: str, number: int) -> tuple[Step, ...]:
    """Return the steps with which kafka-reassign-partitions --throttle sets a throttle, on all brokers."""
    prefix = f"{side}.replication.throttled."
    return (
        Send(
            (
                incremental((TOPIC, topic, [(f"{prefix}replicas", SET, replicas)]), correlation_id=number),
                incremental((BROKER, "", [(f"{prefix}rate", SET, rate)]), correlation_id=number + 1),
            )
        ),
        Settle(),
        CatchUp(1),
        CatchUp(3),
        Pause(_ALTERED_MS),
    )


def _unthrottled(side: str, number: int) -> tuple[Step, ...]:
    operations = [(f"{side}.replication.throttled.rate", DELETE, None)]
    return (
        Send((incremental((BROKER, "", operations), correlation_id=number),)),
        Settle(),
        CatchUp(),
        Pause(_ALTERED_MS),
    )


def _looked_at(name: str, number: int) -> tuple[Step, ...]:
    return CatchUp(), Send((metadata([name], 9, number), listed([(name, [0])], number + 1))), Settle()


def _reassigned(what: str, why: str, side: str, replicas: str) -> Case:
    topic = Topic(f"throttles-{what}", 1, 2)
    return Case(
        f"throttles/{what}",
        why,
        (
            Pause(_FORGOTTEN_MS),
            Send(tuple(produce(topic.name, _LARGE, correlation_id=number) for number in (1, 2))),
            Settle(),
            *_throttled(topic.name, replicas, side, "250000", 3),
            Send((reassigned((topic.name, 0, [1, 2, 3]), correlation_id=10),)),
            Settle(),
            Pause(2_000),
            *_looked_at(topic.name, 20),
            AwaitIsr(topic.name, (1, 2, 3)),
            Pause(500),
            *_looked_at(topic.name, 30),
            *_unthrottled(side, 40),
            ReadLog(topic.name),
        ),
        (topic,),
        "three",
    )


def _over_the_wire() -> Case:
    topic, other = Topic("throttles-wire", replicas=3), Topic("throttles-wire-other", replicas=3)

    def of(number: int, offset: int, name: str = topic.name, wait_ms: int = 0, max_bytes: int = 1_000) -> bytes:
        part = {"partition_max_bytes": max_bytes}
        return fetch(number, {name: {0: offset}}, epoch=-1, replica_id=3, wait_ms=wait_ms, part=part)

    both = fetch(
        16, {topic.name: {0: 2}, other.name: {0: 1}}, epoch=-1, replica_id=3, part={"partition_max_bytes": 1_000}
    )
    return Case(
        "throttles/wire",
        "an out-of-sync follower gets nothing from a leader above its rate, and its parked Fetch expires",
        (
            *warm(topic.name, other.name),
            Pause(1_000),
            Play(3),
            Send(
                (
                    produce(topic.name, _SMALL, acks=1, correlation_id=1),
                    produce(topic.name, _SMALL, acks=1, correlation_id=2),
                    produce(other.name, batch(b"not throttled"), acks=1, correlation_id=3),
                )
            ),
            Settle(),
            AwaitIsr(topic.name, (1, 2)),
            AwaitIsr(other.name, (1, 2)),
            Pause(1_000),
            Send(
                (
                    incremental((TOPIC, topic.name, [("leader.replication.throttled.replicas", SET, "0:1")])),
                    incremental((BROKER, "1", [("leader.replication.throttled.rate", SET, "2000")]), correlation_id=5),
                )
            ),
            Settle(),
            CatchUp(1),
            Pause(_ALTERED_MS),
            *asked(of(11, 1), of(12, 2)),
            Send((of(13, 2, wait_ms=400),)),
            Settle(),
            *asked(of(14, 1), of(15, 1, other.name), both),
            Send(
                (incremental((BROKER, "1", [("leader.replication.throttled.rate", DELETE, None)]), correlation_id=6),)
            ),
            Settle(),
            CatchUp(1),
            Pause(_ALTERED_MS),
            *asked(of(17, 2)),
            Thaw(3),
            AwaitIsr(topic.name, (1, 2, 3)),
        ),
        (topic, other),
        "lag",
        timed=(At(13, 400),),
    )


_AT_ONCE = "a leader records empty responses too: the bytes of eleven seconds leave room for two fetches"
_FETCH_BY_FETCH = "a new replica gets one fetch at once, and the next when the rate allows it"
_NOT_LISTED = "a new replica is not throttled by a list that names another one"

CASES: list[Case] = [
    _reassigned("leader-all", _AT_ONCE, "leader", "*"),
    _reassigned("leader-named", _AT_ONCE, "leader", "0:1"),
    _reassigned("leader-other-broker", _NOT_LISTED, "leader", "0:2"),
    _reassigned("follower-all", _FETCH_BY_FETCH, "follower", "*"),
    _reassigned("follower-named", _FETCH_BY_FETCH, "follower", "0:3"),
    _reassigned("follower-other-broker", _NOT_LISTED, "follower", "0:2"),
    _over_the_wire(),
]
