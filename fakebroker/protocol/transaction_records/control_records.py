"""The transaction marker: a control batch with one record.

Layout   key    version 0 (int16), type (int16): 0 ABORT, 1 COMMIT; the metadata log has other types
         value  version 0 (int16), epoch of the transaction's coordinator (int32)
                The batch is transactional, has the producer's id and epoch and no sequence.
Source   clients/.../record/{ControlRecordType,EndTransactionMarker}.java, MemoryRecords.java
         writeEndTransactionalMarker @ 4.4; EndTxnMarker.json.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.batch_layout import CONTROL_FLAG, TRANSACTIONAL_FLAG
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import decode_records, encode_single

ABORT: Final = 0
COMMIT: Final = 1

_KEY: Final = Struct(">hh")
_VALUE: Final = Struct(">hi")


class EndTransactionMarker(NamedTuple):
    """The content of a marker. `control_type` is ABORT or COMMIT."""

    control_type: int
    coordinator_epoch: int


def encode_marker(marker: EndTransactionMarker, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytes:
    """Return the batch that ends a transaction of this producer."""
    return encode_single(
        _KEY.pack(0, marker.control_type),
        _VALUE.pack(0, marker.coordinator_epoch),
        timestamp_ms,
        producer_id,
        producer_epoch,
        TRANSACTIONAL_FLAG | CONTROL_FLAG,
    )


def decode_marker(batch: bytes) -> EndTransactionMarker | None:
    """Return the content of the only record of a control batch; None if it is of another type. Raises
    InvalidRecordError."""
    records = decode_records(batch)
    if not records:
        return None
    key, value = records[0].key, records[0].value
    if key is None or len(key) < _KEY.size:
        raise InvalidRecordError("A control record has no type.")
    control_type: int = _KEY.unpack_from(key)[1]
    if control_type not in (ABORT, COMMIT):
        return None
    if value is None or len(value) < _VALUE.size:
        raise InvalidRecordError("The marker at the end of a transaction has no coordinator epoch.")
    return EndTransactionMarker(control_type, _VALUE.unpack_from(value)[1])
