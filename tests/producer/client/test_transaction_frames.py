"""Requests of a transaction manager can be read in every version of a release, and it gets the responses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fakebroker.producer.client.frames import decode, encode
from fakebroker.producer.client.transaction_frames import TransactionResponse, transaction_range
from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from fakebroker.producer.sending.client import TransactionalRequest
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorType,
    EndTxn,
    FindCoordinator,
    GroupMetadata,
    InitProducerId,
    TxnAnswer,
    TxnOffsetCommit,
    TxnRequest,
)
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, encode_response, is_flexible, response_type
from fakebroker.protocol.topic_partition import TopicPartition

NEWEST = Generation("4.4")
OLDEST = Generation("2.0")
PRODUCER = ProducerIdAndEpoch(7, 3)
A, B, C = TopicPartition("t", 0), TopicPartition("u", 1), TopicPartition("t", 2)
ADD_PARTITIONS = AddPartitionsToTxn("tx", PRODUCER, (A, B, C))
COMMIT = TxnOffsetCommit("tx", PRODUCER, GroupMetadata("g", 4, "m"), {A: 5, B: 6, C: 8}, True)
FIND = FindCoordinator(CoordinatorType.TRANSACTION, "tx")
REQUESTS: list[TxnRequest] = [
    InitProducerId("tx", 2**31 - 1, PRODUCER),
    ADD_PARTITIONS,
    AddOffsetsToTxn("tx", PRODUCER, "g"),
    COMMIT,
    EndTxn("tx", PRODUCER, True, True),
    FIND,
]


def asked(request: TxnRequest, version: int) -> ClientRequest:
    made = ClientRequest(1, transaction_range(request, NEWEST), TransactionalRequest(1, 100, request, None), 5, 0, 100)
    made.version = version
    return made


def written(request: TxnRequest, version: int) -> Any:
    made = asked(request, version)
    frame = encode(made, "me", NEWEST)[4:]
    header = decode_request_header(frame, is_flexible(made.api_key, version))
    return decode_request(made.api_key, version, frame, header.body_offset)


def versions(request: TxnRequest) -> list[int]:
    """Return all versions that a client sends; it looks for a transaction coordinator from version 1 on."""
    newest = transaction_range(request, NEWEST).max_version
    return list(range(int(isinstance(request, FindCoordinator)), newest + 1))


ALL = [(request, version) for request in REQUESTS for version in versions(request)]


@pytest.mark.parametrize(("request_", "version"), ALL)
def test_what_is_asked_can_be_read(request_: TxnRequest, version: int) -> None:
    message = written(request_, version)
    if isinstance(request_, FindCoordinator):
        assert (message.coordinator_keys == ("tx",)) if version >= 4 else (message.key == "tx")
        assert message.key_type == 1
    elif isinstance(request_, AddPartitionsToTxn):
        assert message.v3_and_below_producer_id == 7
        topics = [(topic.name, topic.partitions) for topic in message.v3_and_below_topics]
        assert topics == [("t", (0, 2)), ("u", (1,))]
    else:
        assert message.transactional_id == "tx"
        assert getattr(message, "producer_id", 7) == 7
    if isinstance(request_, TxnOffsetCommit):
        offsets = [(one.partition_index, one.committed_offset) for topic in message.topics for one in topic.partitions]
        assert offsets == [(0, 5), (2, 8), (1, 6)]
        assert getattr(message, "generation_id", 4) == 4


@pytest.mark.parametrize(("request_", "version"), ALL)
def test_what_is_answered_is_told(request_: TxnRequest, version: int) -> None:
    made = asked(request_, version)
    code = ErrorCode.concurrent_transactions
    coordinator = {"key": "tx", "node_id": 2, "host": "there", "port": 9, "error_message": None}
    part = {"partition_index": 2, "partition_error_code": code, "error_code": code}
    topic = {"name": "t", "results_by_partition": [part], "partitions": [part]}
    values: dict[str, Any] = {
        "throttle_time": timedelta(milliseconds=40),
        "error_code": ErrorCode.none if isinstance(request_, FindCoordinator) else code,
        "producer_id": 9,
        "producer_epoch": 1,
        "coordinators": [coordinator | {"error_code": ErrorCode.none}],
        "results_by_topic_v3_and_below": [topic],
        "topics": [topic],
    } | coordinator
    frame = bytes(encode_response(build(response_type(made.api_key, version), values), 5))[4:]
    response, throttle_ms = decode(made, frame)
    assert throttle_ms == 40
    assert isinstance(response, TransactionResponse)
    if isinstance(request_, FindCoordinator):
        assert response == TransactionResponse(TxnAnswer(0, 2), Node(2, "there", 9))
    elif isinstance(request_, AddPartitionsToTxn | TxnOffsetCommit):
        assert response.answer == TxnAnswer(partitions=((C, code),))
    else:
        has_producer = isinstance(request_, InitProducerId) or (isinstance(request_, EndTxn) and version >= 5)
        producer = ProducerIdAndEpoch(9, 1) if has_producer else ProducerIdAndEpoch()
        assert response.answer == TxnAnswer(code, producer=producer)


def test_without_transaction_version_2_end_txn_stays_at_version_4() -> None:
    for request in (COMMIT, EndTxn("tx", PRODUCER, True, True)):
        assert transaction_range(request, NEWEST).max_version == 5
        assert transaction_range(request._replace(is_v2=False), NEWEST).max_version == 4
    assert [transaction_range(request, OLDEST).max_version for request in REQUESTS] == [1, 1, 1, 1, 1, 2]
