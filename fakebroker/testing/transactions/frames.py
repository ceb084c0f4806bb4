"""The requests of simulated transactional producers and readers, and the content of the responses.

FindCoordinator v3, InitProducerId v5, AddPartitionsToTxn v3, AddOffsetsToTxn v3, Produce v11 and v12, TxnOffsetCommit
v3 and v5, EndTxn v4 and v5, Fetch v10, UpdateFeatures v1. Version 1 of transactions uses the lower ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.sent import requests
from fakebroker.protocol.sent.produce_frame import encode_produce_request
from fakebroker.testing.wire import CLIENT_ID, FETCH, FETCH_VERSION, PRODUCE

FIND, INIT, ADD, ADD_OFFSETS, END, COMMIT, UPDATE_FEATURES = 10, 22, 24, 25, 26, 28, 57
_ONLY = {FIND: 3, INIT: 5, ADD: 3, ADD_OFFSETS: 3, UPDATE_FEATURES: 1}
_BY_VERSION = {PRODUCE: (11, 12), COMMIT: (3, 5), END: (4, 5)}  # for transactions of version 1, and of version 2
GROUP, TRANSACTION = 0, 1  # types of coordinators
_SAFE_DOWNGRADE = 2

Place = tuple[str, int]


class ProducerIdentity(NamedTuple):
    """The identity of a producer. `version` is that of transactions."""

    transactional_id: str
    producer_id: int
    epoch: int
    version: int


class PartitionFetchResult(NamedTuple):
    """A Fetch response for one partition; `aborted` has producer ids and first offsets."""

    error: int
    watermark: int
    stable: int
    aborted: tuple[tuple[int, int], ...]
    records: bytes


def version_of(api: int, version: int) -> int:
    """Return the version of the API for a version of transactions."""
    return _BY_VERSION[api][version - 1] if api in _BY_VERSION else _ONLY[api]


def answered(api: int, version: int, frame: bytes) -> Any:
    return decode_response(api, version_of(api, version), frame)[1]


def find_coordinator(number: int, key: str, key_type: int) -> bytes:
    return _request(FIND, 1, number, {"key": key, "key_type": key_type})


def init(number: int, producer: ProducerIdentity, timeout_ms: int) -> bytes:
    """Return an InitProducerId; a new producer has producer id -1."""
    timeout = timedelta(milliseconds=timeout_ms)
    return _request(INIT, 1, number, requests.transactional(*_identity(producer), transaction_timeout=timeout))


def add_partitions(number: int, producer: ProducerIdentity, places: Sequence[Place]) -> bytes:
    names = sorted({topic for topic, _ in places})
    partitions = {name: [index for topic, index in places if topic == name] for name in names}
    return _request(ADD, 1, number, requests.add_partitions(*_identity(producer), partitions))


def added(answer: Any) -> set[int]:
    """Return the errors of an AddPartitionsToTxn response."""
    return {
        int(result.partition_error_code)
        for topic in answer.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    }


def add_offsets(number: int, producer: ProducerIdentity, group: str) -> bytes:
    return _request(ADD_OFFSETS, 1, number, requests.transactional(*_identity(producer), group_id=group))


def commit_offsets(number: int, producer: ProducerIdentity, group: str, offsets: Mapping[Place, int]) -> bytes:
    """Return a TxnOffsetCommit for a group without members."""
    topics = requests.committed_topics((*place, offset) for place, offset in offsets.items())
    values = requests.transactional(*_identity(producer), group_id=group, topics=topics)
    return _request(COMMIT, producer.version, number, values)


def offsets_committed(answer: Any) -> set[int]:
    """Return the errors of a TxnOffsetCommit response."""
    return {int(partition.error_code) for topic in answer.topics for partition in topic.partitions}


def end(number: int, producer: ProducerIdentity, commits: bool) -> bytes:
    return _request(END, producer.version, number, requests.transactional(*_identity(producer), committed=commits))


def produce(
    number: int,
    producer: ProducerIdentity,
    place: Place,
    values: Sequence[bytes],
    sequence: int,
    now_ms: int,
    timeout_ms: int,
) -> bytes:
    """Return a Produce of one batch with acks=all, with a record for each value."""
    data = encode_batch(
        [Record(None, value) for value in values],
        base_timestamp_ms=now_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL_FLAG,
    )
    version, topics = version_of(PRODUCE, producer.version), [(place[0], ((place[1], data),))]
    return encode_produce_request(version, number, CLIENT_ID, -1, timeout_ms, topics, producer.transactional_id)


def produced(answer: Any) -> tuple[int, int]:
    """Return error and base offset of a Produce response for one partition."""
    [topic] = answer.responses
    [partition] = topic.partition_responses
    return int(partition.error_code), int(partition.base_offset)


def fetched(frame: bytes) -> PartitionFetchResult:
    response: Any = decode_response(FETCH, FETCH_VERSION, frame)[1]
    [topic] = response.responses
    [partition] = topic.partitions
    aborted = tuple((int(txn.producer_id), int(txn.first_offset)) for txn in partition.aborted_transactions or ())
    return PartitionFetchResult(
        int(partition.error_code),
        partition.high_watermark,
        partition.last_stable_offset,
        aborted,
        bytes(partition.records or b""),
    )


def transaction_version(level: int) -> bytes:
    """Return an UpdateFeatures request that sets the version of transactions."""
    update = {"feature": "transaction.version", "max_version_level": level, "upgrade_type": _SAFE_DOWNGRADE}
    values = {"timeout": timedelta(seconds=1), "feature_updates": [update], "validate_only": False}
    return _request(UPDATE_FEATURES, 1, 1, values)


def _identity(producer: ProducerIdentity) -> tuple[str, int, int]:
    return producer.transactional_id, producer.producer_id, producer.epoch


def _request(api: int, version: int, number: int, values: Mapping[str, Any]) -> bytes:
    return request_frame(api, version_of(api, version), values, number, CLIENT_ID)
