"""One batch of a compacted log, without the records that are no longer needed.

Theory   A batch that keeps all of its records stays as it is, byte for byte. Otherwise it is built anew, with the same
         first and last offset, epoch, producer and sequence, so offsets and sequences keep their meaning. A batch
         without records left is kept, empty, if its last offset or its producer is still needed. A tombstone (null
         value) gets a delete horizon at its first cleaning (KIP-534): a flag, and the time in the place of the base
         timestamp. A transaction marker without batches left gets one too.
Units    timestamps are milliseconds since the epoch; offsets count records.
Source   clients/.../record/{MemoryRecords.java filterTo, filterBatch, buildRetainedRecordsInto; DefaultRecordBatch.java
         writeEmptyHeader, deleteHorizonMs}; storage/.../log/Cleaner.java shouldRetainRecord, checkBatchRetention @ 4.4.
Differs  A batch stays as it is if its records cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.compaction.offset_map import OffsetMap
from fakebroker.core.log.records.record_source import MAX_DECOMPRESSED_BYTES
from fakebroker.protocol.batch_layout import COMPRESSION_MASK, RECORD_BATCH_OVERHEAD
from fakebroker.protocol.compression import (
    DecompressedTooLargeError,
    DecompressionError,
    compress,
    decompress_pieces,
)
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import (
    BatchHeader,
    Record,
    decode_some,
    encode_record,
    pack_batch,
)
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.varint import encode_varint

DELETE_HORIZON_FLAG: Final = 0x40  # of the attributes: the base timestamp is the delete horizon
_NO_TIMESTAMP: Final = -1
_RECORDS_OF_A_SLICE: Final = 64  # decoded or encoded; a batch has up to hundreds of thousands


class Rules(NamedTuple):
    """The rules of a cleaning.

    latest           the last offset of each key in the dirty part
    now_ms           the start of the cleaning
    delete_retention_ms
                     how long tombstones stay from then on
    kept_ends        last offsets of batches that are kept whatever is in them
    kept_markers       producers and epochs of markers that are kept: those of producers without a batch
    """

    latest: OffsetMap
    now_ms: int
    delete_retention_ms: int
    kept_ends: frozenset[int]
    kept_markers: frozenset[tuple[int, int]] = frozenset()


def keys_of(batch: LoggedBatch, header: BatchHeader, note: Callable[[bytes, int], None]) -> Slices[None]:
    """Call `note` with the key of each record that has one, and its offset, in slices; never for a control batch, or
    for one that cannot be read."""
    records = None if header.is_control else (yield from _records(batch.records, header))
    for number, record in enumerate(records or (), 1):
        if record.key is not None:
            note(record.key, batch.base_offset + (record.offset_delta or 0))
        if number % _RECORDS_OF_A_SLICE == 0:
            yield


def filtered(batch: LoggedBatch, rules: Rules, header: BatchHeader, may_go: bool = False) -> Slices[LoggedBatch | None]:
    """Return the cleaned form of a batch, in slices: itself, a replacement, or None. `may_go`: its transaction was
    aborted, so all records go at once; or it is a marker that is no longer needed, which goes at its delete horizon."""
    horizon_ms = header.base_timestamp_ms if header.attributes & DELETE_HORIZON_FLAG else None
    is_past_horizon = horizon_ms is not None and rules.now_ms >= horizon_ms
    records: list[Record] | None
    if may_go and (is_past_horizon or not header.is_control):
        records, retained = [], []
    else:
        records = yield from _records(batch.records, header)
        if records is None:
            return batch
        retained = records
        if not header.is_control:
            base, latest = batch.base_offset, rules.latest
            retained = []
            for start in range(0, len(records), _RECORDS_OF_A_SLICE):
                some = records[start : start + _RECORDS_OF_A_SLICE]
                retained += [record for record in some if _is_retained(record, base, is_past_horizon, latest)]
                if start + _RECORDS_OF_A_SLICE < len(records):
                    yield
    if not retained:
        is_kept = batch.last_offset in rules.kept_ends or (
            header.is_control and (header.producer_id, header.producer_epoch) in rules.kept_markers
        )
        return _empty(batch, header) if is_kept else None
    if header.is_control:
        needs_horizon = horizon_ms is None and may_go
    else:
        needs_horizon = horizon_ms is None and any(record.value is None for record in retained)
    if len(retained) == len(records) and not needs_horizon:
        return batch
    if needs_horizon:
        horizon_ms = rules.now_ms + rules.delete_retention_ms
    return (yield from _built(batch, header, retained, horizon_ms))


def _is_retained(record: Record, base_offset: int, tombstones_go: bool, latest: OffsetMap) -> bool:
    if record.key is None:
        return False
    offset = base_offset + (record.offset_delta or 0)
    return offset >= latest.get(record.key) and (record.value is not None or not tombstones_go)


def _records(data: bytes, header: BatchHeader) -> Slices[list[Record] | None]:
    """Return the records, or None if they cannot be read."""
    start = RECORD_BATCH_OVERHEAD
    try:
        if header.compression:
            pieces: list[bytes] = []
            for piece in decompress_pieces(header.compression, data[start:], MAX_DECOMPRESSED_BYTES):
                if pieces:
                    yield
                pieces.append(piece)
            data, start = b"".join(pieces), 0
        records: list[Record] = []
        while True:
            count = min(header.record_count - len(records), _RECORDS_OF_A_SLICE)
            start = decode_some(data, start, header, count, records)
            if len(records) == header.record_count:
                return records
            yield
    except (InvalidRecordError, DecompressionError, DecompressedTooLargeError):
        return None


def _built(
    batch: LoggedBatch, header: BatchHeader, retained: list[Record], horizon_ms: int | None
) -> Slices[LoggedBatch]:
    first_ms = retained[0].timestamp_ms
    assert first_ms is not None
    base_ms = first_ms if horizon_ms is None else horizon_ms
    largest_ms = header.max_timestamp_ms
    if not header.has_log_append_time:
        largest_ms = max([_NO_TIMESTAMP if record.timestamp_ms is None else record.timestamp_ms for record in retained])
    attributes = header.attributes & ~DELETE_HORIZON_FLAG
    if horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
    pieces: list[bytes] = []
    for number, record in enumerate(retained, 1):
        timestamp_ms = base_ms if record.timestamp_ms is None else record.timestamp_ms
        encoded = encode_record(record, timestamp_ms - base_ms, record.offset_delta or 0)
        pieces += (encode_varint(len(encoded)), encoded)
        if number % _RECORDS_OF_A_SLICE == 0:
            yield
    body = b"".join(pieces)
    built = header._replace(
        base_offset=batch.base_offset,
        partition_leader_epoch=batch.leader_epoch,
        attributes=attributes,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp_ms=base_ms,
        max_timestamp_ms=largest_ms,
        record_count=len(retained),
    )
    data = pack_batch(built, compress(header.compression, body) if header.compression else body)
    return _instead_of(batch, data, batch.timestamp_ms if largest_ms == _NO_TIMESTAMP else largest_ms)


def _empty(batch: LoggedBatch, header: BatchHeader) -> LoggedBatch:
    kept = header._replace(
        base_offset=batch.base_offset,
        partition_leader_epoch=batch.leader_epoch,
        attributes=header.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_FLAG),
        base_timestamp_ms=_NO_TIMESTAMP,
        record_count=0,
    )
    left = _instead_of(batch, pack_batch(kept, b""), batch.timestamp_ms)
    if header.is_control:
        left.producer = None  # an empty marker does not change the state of its producer
    return left


def _instead_of(batch: LoggedBatch, data: bytes, timestamp_ms: int) -> LoggedBatch:
    return LoggedBatch(batch.base_offset, batch.last_offset, batch.leader_epoch, data, timestamp_ms, batch.producer)
