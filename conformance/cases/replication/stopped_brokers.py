"""Brokers that stop and start: the leaders, the ISR, and the parked requests."""

from __future__ import annotations

from conformance.frames import batch, create_topics, fetch, list_offsets, produce
from conformance.scenario import (
    AwaitIsr,
    Case,
    Freeze,
    MoveLeader,
    Pause,
    ReadLog,
    Send,
    Settle,
    StartBroker,
    StopBroker,
    Thaw,
    Topic,
)
from conformance.shared_steps import warm


def _min_isr_of_two() -> Case:
    topic = Topic("stopped-min-isr", replicas=3, configs={"min.insync.replicas": "2"})
    steps = (
        *warm(topic.name),
        StopBroker(3),
        AwaitIsr(topic.name, (1, 2)),
        Send((produce(topic.name, batch(b"two are left"), correlation_id=1),)),
        Settle(),
        StopBroker(2),
        AwaitIsr(topic.name, (1,)),
        Send(
            (
                produce(topic.name, batch(b"refused"), correlation_id=2),
                produce(topic.name, batch(b"unseen"), acks=1, correlation_id=3),
                fetch(topic.name, 2, correlation_id=4),
                list_offsets(topic.name, -1, correlation_id=5),
            )
        ),
        Settle(),
        StartBroker(2),
        AwaitIsr(topic.name, (1, 2)),
        Send((produce(topic.name, batch(b"two again"), correlation_id=6), fetch(topic.name, 2, correlation_id=7))),
        Settle(),
        ReadLog(topic.name),
    )
    why = (
        "min.insync.replicas 2 of 3: one stopped broker is tolerated, two are NOT_ENOUGH_REPLICAS, and one that "
        "returns is enough"
    )
    return Case("stopped/min-isr", why, steps, (topic,), "stops")


def _leader_stops() -> Case:
    parked, healthy = Topic("stopped-parked", replicas=3), Topic("stopped-healthy", replicas=3)
    lonely = Topic("stopped-lonely")  # a partition of broker 1; another one is made on broker 2 alone
    alone = create_topics(
        [{"name": "stopped-alone", "assignments": [{"partition_index": 0, "broker_ids": [2]}]}],
        version=4,
        correlation_id=60,
    )
    steps = (
        Send((alone,)),
        Settle(),
        *warm(parked.name, healthy.name, lonely.name),
        MoveLeader(parked.name, 2),
        MoveLeader(healthy.name, 2),
        MoveLeader("stopped-alone", 2),
        Send((produce(parked.name, batch(b"1 and 3 follow"), correlation_id=2),), "b", 2),
        Settle("b"),
        Freeze(3),
        Send((produce(parked.name, batch(b"parked"), version=10, timeout_ms=20_000),), "b", 2),
        Pause(300),
        StopBroker(2),
        Settle("b"),
        Thaw(3),
        AwaitIsr(parked.name, (1, 3)),
        AwaitIsr(healthy.name, (1, 3)),
        Send(
            (
                produce(healthy.name, batch(b"broker 1 leads"), correlation_id=1),
                produce("stopped-alone", batch(b"nobody leads"), version=9, correlation_id=2),
                produce("stopped-alone", batch(b"nobody leads"), version=10, correlation_id=3),
                fetch("stopped-alone", version=10, correlation_id=4),
                list_offsets("stopped-alone", -1, correlation_id=5),
            )
        ),
        Settle(),
        StartBroker(2),
        AwaitIsr(parked.name, (1, 2, 3)),
        AwaitIsr(healthy.name, (1, 2, 3)),
        MoveLeader("stopped-alone", 2),
        Send((produce("stopped-alone", batch(b"it is back"), correlation_id=6),), "c", 2),
        Settle("c"),
        ReadLog(parked.name),
        ReadLog(healthy.name),
    )
    why = "the leader stops: parked requests, the new leader, and a partition without a leader until it returns"
    return Case("stopped/leader", why, steps, (parked, healthy, lonely), "stops")


CASES = [_leader_stops(), _min_isr_of_two()]
