"""The requests of a transaction manager on the wire: API and versions, request fields, response fields.

Theory   In transactions of version 2 (KIP-890) EndTxn and TxnOffsetCommit have an extended meaning. So a producer that
         has not switched to it uses the versions before.
Source   clients/.../common/requests/{InitProducerId,FindCoordinator,AddPartitionsToTxn,AddOffsetsToTxn,
         TxnOffsetCommit,EndTxn}Request.java and their responses.
Differs  Topics are in the order of their first partition. A producer without a transactional id requests the
         coordinator of an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, NamedTuple

from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.node_api_versions import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    TXN_OFFSET_COMMIT,
    ApiVersion,
    client_range,
)
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    InitProducerId,
    TxnAnswer,
    TxnOffsetCommit,
    TxnRequest,
)
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.topic_partition import TopicPartition

_LAST_BEFORE_TRANSACTION_V2: Final = 4  # EndTxn and TxnOffsetCommit
_KEYS: Final[dict[type[TxnRequest], int]] = {
    InitProducerId: INIT_PRODUCER_ID,
    AddPartitionsToTxn: ADD_PARTITIONS_TO_TXN,
    AddOffsetsToTxn: ADD_OFFSETS_TO_TXN,
    TxnOffsetCommit: TXN_OFFSET_COMMIT,
    EndTxn: END_TXN,
    FindCoordinator: FIND_COORDINATOR,
}


class TransactionResponse(NamedTuple):
    """A response for the transaction manager, and the address of the coordinator if it was requested."""

    answer: TxnAnswer
    coordinator: Node | None = None


def transaction_range(request: TxnRequest, generation: Generation) -> ApiVersion:
    """Return the versions in which the release can send the request."""
    wanted = client_range(_KEYS[type(request)], generation)
    if isinstance(request, EndTxn | TxnOffsetCommit) and not request.is_v2:
        return wanted._replace(max_version=min(wanted.max_version, _LAST_BEFORE_TRANSACTION_V2))
    return wanted


def transaction_values(request: TxnRequest) -> dict[str, Any]:
    """Return the fields of all versions."""
    match request:
        case InitProducerId():
            return _producer(request.producer) | {
                "transactional_id": request.transactional_id,
                "transaction_timeout": timedelta(milliseconds=request.timeout_ms),
            }
        case AddPartitionsToTxn():
            return {
                "v3_and_below_transactional_id": request.transactional_id,
                "v3_and_below_producer_id": request.producer.producer_id,
                "v3_and_below_producer_epoch": request.producer.epoch,
                "v3_and_below_topics": [
                    {"name": topic, "partitions": tuple(one.partition for one in partitions)}
                    for topic, partitions in _by_topic(request.partitions)
                ],
            }
        case AddOffsetsToTxn():
            values = _producer(request.producer) | {"group_id": request.group_id}
            return values | {"transactional_id": request.transactional_id}
        case TxnOffsetCommit():
            return _producer(request.producer) | _offsets(request)
        case EndTxn():
            values = _producer(request.producer) | {"committed": request.committed}
            return values | {"transactional_id": request.transactional_id}
        case FindCoordinator():
            key = request.key or ""
            return {"key": key, "key_type": request.kind.value, "coordinator_keys": (key,)}


def transaction_response(request: TxnRequest, answer: Any) -> TransactionResponse:
    """Return the content of the response. Raises ProtocolError if the requested coordinator is missing."""
    match request:
        case AddPartitionsToTxn():
            partitions = [
                (TopicPartition(topic.name, int(one.partition_index)), int(one.partition_error_code))
                for topic in answer.results_by_topic_v3_and_below
                for one in topic.results_by_partition
            ]
            return TransactionResponse(TxnAnswer(partitions=tuple(partitions)))
        case TxnOffsetCommit():
            partitions = [
                (TopicPartition(topic.name, int(one.partition_index)), int(one.error_code))
                for topic in answer.topics
                for one in topic.partitions
            ]
            return TransactionResponse(TxnAnswer(partitions=tuple(partitions)))
        case FindCoordinator():
            return _coordinator(answer)
        case _:
            producer = ProducerIdAndEpoch(
                int(getattr(answer, "producer_id", ProducerIdAndEpoch().producer_id)),
                int(getattr(answer, "producer_epoch", ProducerIdAndEpoch().epoch)),
            )
            return TransactionResponse(TxnAnswer(int(answer.error_code), producer=producer))


def _coordinator(answer: Any) -> TransactionResponse:
    one = answer
    if hasattr(answer, "coordinators"):
        if len(answer.coordinators) != 1:
            raise ProtocolError(f"one coordinator was asked for, and {len(answer.coordinators)} are answered")
        one = answer.coordinators[0]
    code, node_id = int(one.error_code), int(one.node_id)
    coordinator = None if code else Node(node_id, str(one.host), int(one.port))
    return TransactionResponse(TxnAnswer(code, node_id), coordinator)


def _producer(producer: ProducerIdAndEpoch) -> dict[str, Any]:
    return {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}


def _offsets(request: TxnOffsetCommit) -> dict[str, Any]:
    group = request.group
    return {
        "transactional_id": request.transactional_id,
        "group_id": group.group_id,
        "generation_id": group.generation,
        "member_id": group.member_id,
        "group_instance_id": group.group_instance_id,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": one.partition,
                        "committed_offset": request.offsets[one],
                    }
                    for one in partitions
                ],
            }
            for topic, partitions in _by_topic(request.offsets)
        ],
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterable[tuple[str, list[TopicPartition]]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics.items()
