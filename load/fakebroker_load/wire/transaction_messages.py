"""The requests of a raw transaction: AddPartitionsToTxn v3 and EndTxn v3, which every Kafka since 2.8 reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from kio.schema.add_partitions_to_txn.v3.response import AddPartitionsToTxnResponse
from kio.schema.end_txn.v3.response import EndTxnResponse

from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker_load.wire.messages import CLIENT_ID

_ADD_PARTITIONS, _ADD_PARTITIONS_VERSION = 24, 3
_END, _END_VERSION = 26, 3


class TransactionalIdentity(NamedTuple):
    """A producer with a transactional id."""

    transactional_id: str
    producer_id: int
    epoch: int


def encode_add_partitions(
    correlation_id: int, producer: TransactionalIdentity, parts: Sequence[tuple[str, int]]
) -> bytes:
    """Add partitions to the transaction. `parts` come topic by topic."""
    name, producer_id, epoch = producer
    topics = groupby(parts, lambda part: part[0])
    values = {
        "v3_and_below_transactional_id": name,
        "v3_and_below_producer_id": producer_id,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": [{"name": topic, "partitions": [at for _, at in some]} for topic, some in topics],
    }
    return request_frame(_ADD_PARTITIONS, _ADD_PARTITIONS_VERSION, values, correlation_id, CLIENT_ID)


def check_add_partitions(frame: bytes) -> None:
    """Raise ProtocolError for an error of any partition."""
    _, answer = decode_response(_ADD_PARTITIONS, _ADD_PARTITIONS_VERSION, frame)
    assert isinstance(answer, AddPartitionsToTxnResponse)
    for topic in answer.results_by_topic_v3_and_below:
        for part in topic.results_by_partition:
            if part.partition_error_code is not ErrorCode.none:
                code = kafka_name(part.partition_error_code)
                raise ProtocolError(f"AddPartitionsToTxn of {topic.name}-{part.partition_index}: {code}")


def encode_end(correlation_id: int, producer: TransactionalIdentity, is_commit: bool) -> bytes:
    name, producer_id, epoch = producer
    values = {"transactional_id": name, "producer_id": producer_id, "producer_epoch": epoch, "committed": is_commit}
    return request_frame(_END, _END_VERSION, values, correlation_id, CLIENT_ID)


def check_end(frame: bytes) -> None:
    """Raise ProtocolError for an error."""
    _, answer = decode_response(_END, _END_VERSION, frame)
    assert isinstance(answer, EndTxnResponse)
    if answer.error_code is not ErrorCode.none:
        raise ProtocolError(f"EndTxn: {kafka_name(answer.error_code)}")
