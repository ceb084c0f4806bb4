"""The records of partitions as rows. A Spark task makes them from rows of PART_SCHEMA (log.py).

Theory   The records are those from the log end before the run up to the last readable offset. Problems that are found
         without the requests are in `problem`: a damaged batch (batches.py), a follower that differs (followers.py), or
         missing records. A problem that belongs to no record has a row without a key. A log that has lost an offset
         answers OFFSET_OUT_OF_RANGE. That is a finding, and the rest of the log is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pyarrow as pa

from fakebroker.protocol.compression import Codec
from fakebroker.protocol.record_batch import Record
from fakebroker_load.log import LOG_SCHEMA, Asker, LogBatch, RecordsGone, Row, read_key
from fakebroker_load.readback.batches import BatchJudge
from fakebroker_load.readback.followers import Digest, FollowersReader
from fakebroker_load.wire.messages import fingerprint

EMPTY_FETCHES = 20  # in succession, although there must be records
GONE = "records gone"


def read_parts(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return rows of LOG_SCHEMA. Only one response is in memory at a time."""
    followers = FollowersReader()
    for batch in parts:
        for part in batch.to_pylist():
            yield from read_part(part, followers)


def read_part(part: Row, followers: FollowersReader) -> Iterator[pa.RecordBatch]:
    """Return the rows of one partition. Raises WireError if the leader does not respond."""
    leaders = Digest(part["start_offset"], part["readable_offset"])
    said = [part["metadata_problem"]] if part["metadata_problem"] else []
    with Asker(part["host"], part["port"]) as asker:
        for rows in _rows(asker, part, leaders):
            yield to_batch(rows)
            said += [GONE] if rows[-1]["problem"] == GONE else []
    if GONE not in said and leaders.start < leaders.end:
        for address in part["followers"] or ():
            host, _, port = address.rpartition(":")
            if difference := followers.problem(part, (host, int(port)), leaders):
                said.append(difference)
    if rows := [_finding(part, leaders.end, problem) for problem in said if problem != GONE]:
        yield to_batch(rows)


def to_batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=LOG_SCHEMA)


def _rows(asker: Asker, part: Row, leaders: Digest) -> Iterator[list[Row]]:
    """Yield the rows of each response."""
    offset, end = part["start_offset"], part["readable_offset"]
    empty, is_committed = 0, bool(part["transactional"])
    judge = BatchJudge(part["first_epoch"], part["leader_epoch"], bool(part["transactional"]))
    while offset < end:
        before = offset
        try:
            batches = asker.batches(part["topic"], part["partition"], offset, is_committed)
        except RecordsGone:
            yield [_finding(part, offset, GONE)]
            if (offset := _first_readable(asker, part, offset, end)) >= end:
                return
            continue
        if is_committed and not batches:  # no read_committed consumer gets records from the last stable offset on
            is_committed = False
            continue
        rows: list[Row] = []
        for batch in batches:
            problem = judge.problem(batch.header, batch.data, batch.records)
            leaders.add(batch.header, batch.data)
            shown = batch.is_shown and is_committed if part["transactional"] else None
            rows += [row | {"visible": shown, "problem": problem} for row in _of_batch(part, batch)]
            if problem is not None and batch.header.is_control:  # it has no record that a row could be of
                rows.append(_finding(part, batch.header.base_offset, problem))
            offset = batch.header.last_offset + 1
        empty = 0 if offset > before else empty + 1
        if empty == EMPTY_FETCHES:
            yield [_finding(part, offset, GONE)]
            return
        if rows:
            yield rows


def _of_batch(part: Row, batch: LogBatch) -> Iterator[Row]:
    header = batch.header
    # A batch that cannot be decompressed has one row for all of its records.
    for record in [Record(None, None)] if batch.records is None else batch.records:
        at = header.base_offset + (record.offset_delta or 0)
        if part["start_offset"] <= at < part["readable_offset"]:
            yield log_row(part, at, record) | {
                "timestamp_ms": None if header.has_log_append_time else record.timestamp_ms,
                "append_ms": header.max_timestamp_ms if header.has_log_append_time else None,
                "producer_id": header.producer_id,
                "compression": codec_name(header.compression),
            }


def codec_name(codec: int) -> str:
    return Codec(codec).name.lower() if codec in tuple(Codec) else str(codec)


def log_row(part: Row, offset: int, record: Record) -> Row:
    connection, sequence = read_key(part["run_id"], record.key)
    return {
        "run": part["run"],
        "topic": part["topic"],
        "partition": part["partition"],
        "offset": offset,
        "connection": connection,
        "sequence": sequence,
        "value_crc": zlib.crc32(record.value or b""),
        "fingerprint": fingerprint(record),
    }


def _finding(part: Row, offset: int, problem: str) -> Row:
    return {name: part[name] for name in ("run", "topic", "partition")} | {"offset": offset, "problem": problem}


def _first_readable(asker: Asker, part: Row, low: int, high: int) -> int:
    """Return the present start of the log, which is above `low`; `high` if there is nothing below it."""
    while high - low > 1:
        middle = (low + high) // 2
        try:
            asker.fetch(part["topic"], part["partition"], middle, 0)
        except RecordsGone:
            low = middle
        else:
            high = middle
    return high
