"""Frames for cases of transactions: what producers, coordinators and admins send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from conformance.frames import batch, request
from conformance.scenario import placeholder
from conformance.transactions.stand_ins import producer
from fakebroker.protocol.sent import requests

INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, WRITE_MARKERS, TXN_OFFSET_COMMIT = 22, 24, 25, 26, 27, 28
FIND_COORDINATOR, DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 10, 61, 65, 66
BATCHED_SINCE = 4  # of AddPartitionsToTxn: brokers ask
FIRST = producer(1)
TIMEOUT_MS = 60_000  # of transactions for which the time is not the subject of the case

# By topic: partitions.
Partitions = Mapping[str, Sequence[int]]


def init_transactions(
    transactional_id: str | None,
    *,
    version: int = 5,
    correlation_id: int = 1,
    timeout_ms: int = TIMEOUT_MS,
    producer_id: int = -1,
    epoch: int = -1,
    **flags: bool,
) -> bytes:
    timeout = timedelta(milliseconds=timeout_ms)
    values = requests.transactional(transactional_id, producer_id, epoch, transaction_timeout=timeout)
    return request(INIT_PRODUCER_ID, version, values | flags, correlation_id)


def add_partitions(
    transactional_id: str,
    partitions: Partitions,
    *,
    producer_id: int = FIRST,
    epoch: int = 0,
    version: int = 3,
    correlation_id: int = 1,
    verify_only: bool = False,
) -> bytes:
    """A producer's request up to version 3, a broker's above that."""
    if version >= BATCHED_SINCE:
        one_transaction = transaction(transactional_id, partitions, producer_id, epoch, verify_only)
        return add_partitions_batched(one_transaction, version=version, correlation_id=correlation_id)
    values = requests.add_partitions(transactional_id, producer_id, epoch, partitions)
    return request(ADD_PARTITIONS, version, values, correlation_id)


def transaction(
    transactional_id: str,
    partitions: Partitions,
    producer_id: int = FIRST,
    epoch: int = 0,
    verify_only: bool = False,
) -> dict[str, Any]:
    """One transaction of a broker's AddPartitionsToTxn."""
    topics = [{"name": name, "partitions": tuple(indexes)} for name, indexes in partitions.items()]
    return requests.transactional(transactional_id, producer_id, epoch, verify_only=verify_only, topics=topics)


def add_partitions_batched(*transactions: Mapping[str, Any], version: int = 5, correlation_id: int = 1) -> bytes:
    return request(ADD_PARTITIONS, version, {"transactions": transactions}, correlation_id)


def add_offsets(
    transactional_id: str,
    group: str,
    *,
    producer_id: int = FIRST,
    epoch: int = 0,
    version: int = 4,
    correlation_id: int = 1,
) -> bytes:
    values = requests.transactional(transactional_id, producer_id, epoch, group_id=group)
    return request(ADD_OFFSETS, version, values, correlation_id)


def txn_offset_commit(
    transactional_id: str,
    group: str,
    offsets: Sequence[tuple[str, int, int]],
    *,
    producer_id: int = FIRST,
    epoch: int = 0,
    version: int = 5,
    correlation_id: int = 1,
    generation: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    metadata: str | None = "",
) -> bytes:
    """Offsets are (topic, partition, offset)."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for topic, partition, offset in offsets:
        topics.setdefault(topic, []).append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_metadata": metadata,
            }
        )
    values = {
        "transactional_id": transactional_id,
        "group_id": group,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "generation_id": generation,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "topics": [
            {"name": name, "topic_id": placeholder(name), "partitions": parts} for name, parts in topics.items()
        ],
    }
    return request(TXN_OFFSET_COMMIT, version, values, correlation_id)


def end_txn(
    transactional_id: str,
    *,
    commit: bool = True,
    producer_id: int = FIRST,
    epoch: int = 0,
    version: int = 5,
    correlation_id: int = 1,
) -> bytes:
    values = requests.transactional(transactional_id, producer_id, epoch, committed=commit)
    return request(END_TXN, version, values, correlation_id)


def marker(
    partitions: Partitions,
    *,
    producer_id: int = FIRST,
    epoch: int = 0,
    commit: bool = True,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> dict[str, Any]:
    """One of WriteTxnMarkers."""
    return {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": commit,
        "topics": [{"name": name, "partition_indexes": tuple(indexes)} for name, indexes in partitions.items()],
        "coordinator_epoch": coordinator_epoch,
        "transaction_version": transaction_version,
    }


def write_markers(*markers: Mapping[str, Any], version: int = 1, correlation_id: int = 1) -> bytes:
    return request(WRITE_MARKERS, version, {"markers": markers}, correlation_id)


def describe_transactions(*transactional_ids: str, correlation_id: int = 1) -> bytes:
    return request(DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": transactional_ids}, correlation_id)


def list_transactions(
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
    version: int = 2,
    correlation_id: int = 1,
) -> bytes:
    values = {
        "state_filters": tuple(states),
        "producer_id_filters": tuple(producer_ids),
        "duration_filter": longer_than_ms,
        "transactional_id_pattern": pattern,
    }
    return request(LIST_TRANSACTIONS, version, values, correlation_id)


def describe_producers(topic: str, *partitions: int, correlation_id: int = 1) -> bytes:
    values = {"topics": [{"name": topic, "partition_indexes": partitions or (0,)}]}
    return request(DESCRIBE_PRODUCERS, 0, values, correlation_id)


def find_transaction_coordinator(*transactional_ids: str, version: int = 6, correlation_id: int = 1) -> bytes:
    values = {"key": "".join(transactional_ids[:1]), "key_type": 1, "coordinator_keys": transactional_ids}
    return request(FIND_COORDINATOR, version, values, correlation_id)


def in_transaction(*values: bytes, sequence: int = 0, producer_id: int = FIRST, epoch: int = 0, **header: int) -> bytes:
    """A transactional batch with a record for each value."""
    ids = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
    return batch(*(values or (b"v",)), **{"attributes": 0x10} | ids | header)
