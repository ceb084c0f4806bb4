"""Waits until a broker tells of a partition what is awaited."""

from __future__ import annotations

from typing import Any

from conformance import frames
from conformance.scenario import AwaitPartition
from conformance.targets.target import Target, ask

DESCRIBE_TOPIC_PARTITIONS = 75
_POLL_MS = 20


def describe_partitions(*topics: str, correlation_id: int = 1) -> bytes:
    values = {"topics": [{"name": name} for name in topics], "response_partition_limit": 2000, "cursor": None}
    return frames.request(DESCRIBE_TOPIC_PARTITIONS, 0, values, correlation_id)


def await_partition(target: Target, step: AwaitPartition) -> None:
    limit = target.now_s() + step.within_ms / 1000
    wanted = (step.leader, set(step.isr), set(step.elr))
    while (state := _told(target, step)) != wanted:
        if target.now_s() > limit:
            raise RuntimeError(f"{step.topic}-{step.partition}: leader, ISR and ELR are {state} and not {wanted}")
        target.pause(_POLL_MS)


def _told(target: Target, step: AwaitPartition) -> tuple[int, set[int], set[int]]:
    connection = target.connect(step.broker)
    try:
        frame = describe_partitions(step.topic)
        [topic] = ask(connection, target, DESCRIBE_TOPIC_PARTITIONS, 0, frame).topics
    finally:
        connection.close()
    part: Any = next(part for part in topic.partitions if part.partition_index == step.partition)
    return int(part.leader_id), set(part.isr_nodes), set(part.eligible_leader_replicas or ())
