"""The records of a transaction in __transaction_state, written and read.

Source   transaction-coordinator/.../TransactionLog.java @ 4.4.
Differs  Topics and partitions are in ascending order; in Kafka they come out of hash tables.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.transactions.metadata import NONE, TransactionMetadata, TransitMetadata
from fakebroker.core.transactions.states import EMPTY, STATES
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.transaction_log import (
    decode_record,
    encode_key,
    encode_value,
)

_TAGGED_SINCE: Final = 1


def transaction_record(
    transactional_id: str, transit: TransitMetadata | None, version: int
) -> tuple[bytes, bytes | None]:
    """Return key and value. The value is None, a tombstone, for a removed id.

    Raise UNSUPPORTED_VERSION for a version 2 client while transaction.version is 0: that cannot be written. As in Kafka
    the change then stays pending, and requests get CONCURRENT_TRANSACTIONS, until the coordinator moves.
    """
    key = encode_key(transactional_id)
    if transit is None:
        return key, None
    is_tagged = version >= _TAGGED_SINCE
    if not is_tagged and transit.transaction_version > 0:
        raise KafkaError(
            ErrorCode.unsupported_version,
            f"records of transaction.version 0 have no field for version {transit.transaction_version}",
        )
    value = encode_value(
        version,
        transit.producer_id,
        transit.producer_epoch,
        transit.timeout_ms,
        STATES.index(transit.state),
        None if transit.state is EMPTY else transit.by_topic,
        transit.last_update_ms,
        transit.start_ms,
        transit.prev_producer_id if is_tagged else NONE,
        transit.next_producer_id if is_tagged else NONE,
        transit.transaction_version,
    )
    return key, value


def read_id(key: bytes | None) -> str | None:
    """Return the transactional id of a record; None for a record of another kind. Raise InvalidRecordError."""
    read = decode_record(key, None)
    return None if read is None else read[0]


def read_transaction(key: bytes | None, value: bytes | None) -> tuple[str, TransactionMetadata | None] | None:
    """Return the id and its transaction, None for a tombstone. Return None for a record of another kind."""
    read = decode_record(key, value)
    if read is None:
        return None
    transactional_id, log_value = read
    if log_value is None:
        return transactional_id, None
    if not 0 <= log_value.transaction_status < len(STATES):
        raise InvalidRecordError(f"Unknown transaction state id {log_value.transaction_status}.")
    partitions = [
        TopicPartition(of_topic.topic, partition)
        for of_topic in log_value.transaction_partitions or ()
        for partition in of_topic.partition_ids
    ]
    now = TransitMetadata(
        log_value.producer_id,
        log_value.previous_producer_id,
        log_value.next_producer_id,
        log_value.producer_epoch,
        NONE,
        log_value.transaction_timeout_ms,
        STATES[log_value.transaction_status],
        frozenset(partitions),
        log_value.transaction_start_timestamp_ms,
        log_value.transaction_last_update_timestamp_ms,
        log_value.client_transaction_version,
    )
    return transactional_id, TransactionMetadata(transactional_id, now)
