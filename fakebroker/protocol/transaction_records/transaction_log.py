"""The records of __transaction_state: one for each change of a transaction, a tombstone when its id expires.

Source   transaction-coordinator/.../{TransactionLog.java, message/TransactionLogKey.json, TransactionLogValue.json} @
         4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct, pack
from typing import Final

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.group_records.layout import INT8, INT16, INT32, INT64, STRING, StructField, StructLayout, array
from fakebroker.protocol.varint import encode_unsigned_varint

NONE: Final = -1
_KIND: Final = 0  # of the key
_FLEXIBLE_SINCE: Final = 1
_KEY_HEAD: Final = Struct(">hh")
_HEAD: Final = Struct(">hqhib")
_TIMES: Final = Struct(">qq")
_USUAL_END: Final = Struct(">qqBBBqBBh")
_TAGGED_ID: Final = Struct(">BBq")
_TAGGED_VERSION: Final = Struct(">BBh")
_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_NULL: Final = _INT32.pack(-1)


@dataclass(frozen=True, slots=True)
class TransactionLogKey:
    transactional_id: str

    def encode(self) -> bytes:
        return _KEY.encode(self, _KIND)


@dataclass(frozen=True, slots=True)
class TransactionPartitions:
    topic: str
    partition_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransactionLogValue:
    """The value of a record. Times are wall milliseconds. `transaction_status` is the number of a state; in state Empty
    the partitions are null. The tagged fields belong to version 1, of transactions v2."""

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: tuple[TransactionPartitions, ...] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    previous_producer_id: int = NONE
    next_producer_id: int = NONE
    client_transaction_version: int = 0
    next_producer_epoch: int = NONE

    def encode(self, version: int) -> bytes:
        return _VALUE.encode_value(self, version)


def encode_key(transactional_id: str) -> bytes:
    """Return `TransactionLogKey.encode` by hand; tests/protocol/transaction_records ties the two."""
    encoded = transactional_id.encode()
    return _KEY_HEAD.pack(_KIND, len(encoded)) + encoded


def encode_value(
    version: int,
    producer_id: int,
    producer_epoch: int,
    transaction_timeout_ms: int,
    transaction_status: int,
    partitions: Sequence[tuple[str, Sequence[int]]] | None,
    last_update_timestamp_ms: int,
    start_timestamp_ms: int,
    previous_producer_id: int,
    next_producer_id: int,
    client_transaction_version: int,
) -> bytes:
    """Return `TransactionLogValue.encode` by hand: it is written three times in each transaction. Partitions are by
    topic."""
    is_flexible = version >= _FLEXIBLE_SINCE
    head = _HEAD.pack(version, producer_id, producer_epoch, transaction_timeout_ms, transaction_status)
    parts = [head]
    if partitions is None:
        parts.append(b"\0" if is_flexible else _NULL)
    else:
        parts.append(_count(len(partitions), is_flexible))
        for topic, indexes in partitions:
            encoded = topic.encode()
            parts.append(encode_unsigned_varint(len(encoded) + 1) if is_flexible else _INT16.pack(len(encoded)))
            parts.append(encoded)
            parts.append(_count(len(indexes), is_flexible))
            if len(indexes) == 1:
                parts.append(_INT32.pack(indexes[0]))
            else:
                parts.append(pack(f">{len(indexes)}i", *indexes))
            if is_flexible:
                parts.append(b"\0")
    if not is_flexible:
        parts.append(_TIMES.pack(last_update_timestamp_ms, start_timestamp_ms))
    elif previous_producer_id != NONE and next_producer_id == NONE and client_transaction_version != 0:
        # The common case of transactions v2.
        times, previous = (last_update_timestamp_ms, start_timestamp_ms), previous_producer_id
        parts.append(_USUAL_END.pack(*times, 2, 0, 8, previous, 2, 2, client_transaction_version))
    else:
        parts.append(_TIMES.pack(last_update_timestamp_ms, start_timestamp_ms))
        tagged = [b""]
        if previous_producer_id != NONE:
            tagged.append(_TAGGED_ID.pack(0, 8, previous_producer_id))
        if next_producer_id != NONE:
            tagged.append(_TAGGED_ID.pack(1, 8, next_producer_id))
        if client_transaction_version != 0:
            tagged.append(_TAGGED_VERSION.pack(2, 2, client_transaction_version))
        tagged[0] = encode_unsigned_varint(len(tagged) - 1)
        parts += tagged
    return b"".join(parts)


def _count(count: int, is_flexible: bool) -> bytes:
    return encode_unsigned_varint(count + 1) if is_flexible else _INT32.pack(count)


_KEY: Final = StructLayout(TransactionLogKey, (StructField("transactional_id", STRING),))
_PARTITIONS: Final = StructLayout(
    TransactionPartitions,
    (StructField("topic", STRING), StructField("partition_ids", array(INT32))),
    flexible_since=_FLEXIBLE_SINCE,
)
_VALUE: Final = StructLayout(
    TransactionLogValue,
    (
        StructField("producer_id", INT64),
        StructField("producer_epoch", INT16),
        StructField("transaction_timeout_ms", INT32),
        StructField("transaction_status", INT8),
        StructField("transaction_partitions", array(_PARTITIONS.type)),
        StructField("transaction_last_update_timestamp_ms", INT64),
        StructField("transaction_start_timestamp_ms", INT64),
        StructField("previous_producer_id", INT64, since=1, default=NONE, tag=0),
        StructField("next_producer_id", INT64, since=1, default=NONE, tag=1),
        StructField("client_transaction_version", INT16, since=1, default=0, tag=2),
        StructField("next_producer_epoch", INT16, since=1, default=NONE, tag=3),
    ),
    highest_version=1,
    flexible_since=_FLEXIBLE_SINCE,
)


def decode_record(key: bytes | None, value: bytes | None) -> tuple[str, TransactionLogValue | None] | None:
    """Return the transactional id and its value; None for a record of another kind. Raises InvalidRecordError."""
    if key is None or len(key) < 2:
        raise InvalidRecordError("A record of the transaction log has no key.")
    if int.from_bytes(key[:2], "big", signed=True) != _KIND:
        return None
    transactional_id = _KEY.decode_key(key).transactional_id
    return transactional_id, None if value is None else _VALUE.decode_value(value)
