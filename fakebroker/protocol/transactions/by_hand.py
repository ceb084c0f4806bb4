"""Readers of AddPartitionsToTxn (versions 0 to 3) and EndTxn (0 to 5) requests by hand: each transaction has one, or
both.

Unusual requests (a null, a tagged field, bytes that end) are left to the general reader, which reports errors. Long
ones are left to it as well.
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.groups.fields import Fields
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.transactions.requests import (
    BATCHED_SINCE,
    AddedTopic,
    AddPartitionsRequest,
    EndTxnRequest,
    TransactionToAdd,
    read_add_partitions_of_kio,
    read_end_txn_of_kio,
)

_FLEXIBLE_SINCE: Final = 3  # of both
_SMALL_BYTES: Final = 4_096


def read_end_txn(version: int, frame: bytes | LargeFrame, offset: int) -> EndTxnRequest:
    """Read the body at the offset. Raises ProtocolError."""
    if isinstance(frame, bytes):
        try:
            return _end_txn(Fields(frame, offset, version >= _FLEXIBLE_SINCE))
        except (IndexError, UnicodeDecodeError, ProtocolError):
            pass
    return read_end_txn_of_kio(version, frame, offset)


def read_add_partitions(version: int, frame: bytes | LargeFrame, offset: int) -> AddPartitionsRequest:
    """Read the body at the offset. Raises ProtocolError."""
    if isinstance(frame, bytes) and version < BATCHED_SINCE and len(frame) <= _SMALL_BYTES:
        try:
            return _add_partitions(Fields(frame, offset, version >= _FLEXIBLE_SINCE))
        except (IndexError, UnicodeDecodeError, ProtocolError):
            pass
    return read_add_partitions_of_kio(version, frame, offset)


def _end_txn(fields: Fields) -> EndTxnRequest:
    transactional_id = fields.text()
    producer_id = fields.i64()
    producer_epoch = fields.i16()
    committed = fields.boolean()
    fields.end()
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)


def _add_partitions(fields: Fields) -> AddPartitionsRequest:
    transactional_id = fields.text()
    producer_id = fields.i64()
    producer_epoch = fields.i16()
    topics: list[AddedTopic] = []
    for _ in range(fields.count()):
        name = fields.text()
        partitions: list[int] = []
        for _ in range(fields.count()):
            partitions.append(fields.i32())
        fields.end()
        topics.append(AddedTopic(name, tuple(partitions)))
    fields.end()
    only = TransactionToAdd(transactional_id, producer_id, producer_epoch, False, tuple(topics))
    return AddPartitionsRequest((only,))
