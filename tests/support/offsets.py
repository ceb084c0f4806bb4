"""Requests about committed offsets, in the form of the newest version, and a cluster with a group coordinator."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from support.asking import ask
from support.simulation import SimulatedClient, Simulation

FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH, OFFSET_DELETE = 10, 8, 9, 47
TOPIC_IDS = 10  # since that version of OffsetCommit and OffsetFetch topics have ids instead of names


def with_coordinator(simulation: Simulation, partitions: int = 1, replicas: int = 0) -> Simulation:
    """Make __consumer_offsets, with one partition so that broker 1 coordinates all groups."""
    simulation.topic("__consumer_offsets", partitions, replicas or len(simulation.cluster.brokers))
    simulation.settle()
    return simulation


def find(client: SimulatedClient, *group_ids: str, version: int = 4, key_type: int = 0) -> Any:
    return ask(
        client, FIND_COORDINATOR, version, key_type=key_type, coordinator_keys=group_ids, key="".join(group_ids[:1])
    )


def topic_id(simulation: Simulation, name: str) -> UUID:
    topic = simulation.cluster.metadata.topic(name)
    return UUID(int=99) if topic is None else topic.topic_id


def commit_values(simulation: Simulation, group_id: str, offsets: dict[tuple[str, int], Any], **values: Any) -> Any:
    """`offsets` are numbers, or (offset, leader epoch, metadata)."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, partition), committed in offsets.items():
        offset, epoch, metadata = committed if isinstance(committed, tuple) else (committed, -1, "")
        topics.setdefault(topic, []).append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_leader_epoch": epoch,
                "committed_metadata": metadata,
            }
        )
    return {
        "group_id": group_id,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [
            {"name": name, "topic_id": topic_id(simulation, name), "partitions": partitions}
            for name, partitions in topics.items()
        ],
    } | values


def commit(
    simulation: Simulation,
    client: SimulatedClient,
    group_id: str,
    offsets: dict[tuple[str, int], Any],
    version: int = 9,
    **values: Any,
) -> dict[tuple[str, int], int]:
    """Return the error of each partition."""
    answer = ask(client, OFFSET_COMMIT, version, **commit_values(simulation, group_id, offsets, **values))
    return errors_of(simulation, answer, version)


def errors_of(simulation: Simulation, answer: Any, version: int) -> dict[tuple[str, int], int]:
    return {
        (name_of(simulation, topic), partition.partition_index): int(partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    }


def name_of(simulation: Simulation, topic: Any) -> str:
    if hasattr(topic, "name"):
        return str(topic.name)
    metadata = simulation.cluster.metadata.topic_by_id(topic.topic_id)
    return "?" if metadata is None else metadata.name


def fetch_values(
    simulation: Simulation, groups: dict[str, list[tuple[str, int]] | None], version: int, **values: Any
) -> dict[str, Any]:
    """Return the fields of a request for these partitions by group; None: all of them."""
    group_requests = []
    for group_id, partitions in groups.items():
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions or ():
            by_topic.setdefault(topic, []).append(partition)
        topics = None
        if partitions is not None:
            topics = [
                {"name": name, "topic_id": topic_id(simulation, name), "partition_indexes": tuple(indexes)}
                for name, indexes in by_topic.items()
            ]
        group_requests.append({"group_id": group_id, "member_id": None, "member_epoch": -1, "topics": topics} | values)
    if version >= 8:
        return {"groups": group_requests, "require_stable": values.get("require_stable", False)}
    return group_requests[0] | {"require_stable": values.get("require_stable", False)}


def fetch(
    simulation: Simulation,
    client: SimulatedClient,
    groups: dict[str, list[tuple[str, int]] | None],
    version: int = 8,
    **values: Any,
) -> dict[str, Any]:
    """Return by group its error code, or by (topic, partition): (offset, leader epoch, metadata), or an error code."""
    answer = ask(client, OFFSET_FETCH, version, **fetch_values(simulation, groups, version, **values))
    return fetched(simulation, answer, version, next(iter(groups), ""))


def fetched(simulation: Simulation, answer: Any, version: int, group_id: str) -> dict[str, Any]:
    if version < 8:
        return {group_id: _of_group(simulation, answer)}
    return {group.group_id: _of_group(simulation, group) for group in answer.groups}


def _of_group(simulation: Simulation, group: Any) -> Any:
    if getattr(group, "error_code", 0):
        assert not group.topics
        return int(group.error_code)
    return {
        (name_of(simulation, topic), partition.partition_index): int(partition.error_code)
        or (partition.committed_offset, getattr(partition, "committed_leader_epoch", -1), partition.metadata)
        for topic in group.topics
        for partition in topic.partitions
    }
