"""Compaction: what is left of logs that were cleaned, byte for byte."""

from __future__ import annotations

from typing import Any

from conformance.frames import TIMESTAMP_MS, batch_of, fetch, list_offsets, produce
from conformance.scenario import Case, Pause, ReadLog, Send, Settle, Topic
from fakebroker.protocol.record_batch import Record

_CLEANED_MS = 6_000  # log.cleaner.backoff.ms is 500
_ROLL_MS = 1_000
_CONFIGS = {"cleanup.policy": "compact", "segment.ms": str(_ROLL_MS), "min.cleanable.dirty.ratio": "0.01"}

_PLAIN = Topic("compaction-plain", configs=_CONFIGS)
_PRODUCERS = Topic("compaction-producers", configs=_CONFIGS)
_MARKS = Topic("compaction-marks", configs=_CONFIGS)
_AT_ONCE = Topic("compaction-marks-at-once", configs=_CONFIGS | {"delete.retention.ms": "0"})
_ACTIVE = Topic("compaction-active", configs=_CONFIGS)


def _batch(*pairs: tuple[bytes, bytes | None], later_ms: int = 0, **header: Any) -> bytes:
    return batch_of([Record(*pair) for pair in pairs], timestamp_ms=TIMESTAMP_MS + later_ms, **header)


def _written(topic: Topic, *batches: bytes, number: int) -> tuple[bytes, ...]:
    return tuple(
        produce(topic.name, records, correlation_id=100 * number + index) for index, records in enumerate(batches)
    )


# The last batch of each is so much younger that it begins a segment, which is the active one.
_LAST = _batch((b"last", b"v"), later_ms=10 * _ROLL_MS)

CASES: list[Case] = [
    Case(
        "compaction/cleaned",
        "kept are the last record of each key, empty last batches of producers, tombstones and the active "
        "segment (Cleaner.cleanInto, MemoryRecords.filterTo)",
        (
            Send(
                (
                    *_written(
                        _PLAIN,
                        _batch((b"a", b"1"), (b"b", b"1"), (b"a", b"2")),
                        _batch((b"b", b"2")),
                        _batch((b"c", b"1"), (b"d", b"1"), later_ms=5),
                        _batch((b"c", b"2"), (b"e", b""), later_ms=7),
                        _batch((b"d", b"2")),
                        _LAST,
                        number=1,
                    ),
                    *_written(
                        _PRODUCERS,
                        _batch((b"a", b"1"), producer_id=7001, producer_epoch=0, base_sequence=0),
                        _batch((b"a", b"2"), producer_id=7001, producer_epoch=0, base_sequence=1),
                        _batch((b"a", b"3"), (b"a", b"4"), producer_id=7002, producer_epoch=3, base_sequence=0),
                        _batch((b"a", b"5")),
                        _LAST,
                        number=2,
                    ),
                    *_written(
                        _MARKS,
                        _batch((b"a", b"1"), (b"b", b"1")),
                        _batch((b"a", None)),
                        _batch((b"b", None), (b"c", b"1"), later_ms=3),
                        _LAST,
                        number=3,
                    ),
                    *_written(_AT_ONCE, _batch((b"a", b"1")), _batch((b"a", None)), _LAST, number=4),
                    *_written(_ACTIVE, _batch((b"a", b"1")), _batch((b"a", b"2")), _batch((b"a", b"3")), number=5),
                )
            ),
            Settle(),
            Pause(_CLEANED_MS),
            *(ReadLog(topic.name) for topic in (_PLAIN, _PRODUCERS, _MARKS, _AT_ONCE, _ACTIVE)),
            Send(
                (
                    *(list_offsets(_PLAIN.name, time, correlation_id=600 - time) for time in (-1, -2, -3)),
                    list_offsets(_PLAIN.name, TIMESTAMP_MS, correlation_id=610),
                    list_offsets(_PLAIN.name, TIMESTAMP_MS + 6, correlation_id=611),
                    *(fetch(_PLAIN.name, offset, correlation_id=620 + offset) for offset in range(10)),
                    # A batch that is sent again is known although the cleaner has emptied it, and its producer may
                    # continue.
                    *_written(
                        _PRODUCERS,
                        _batch((b"a", b"2"), producer_id=7001, producer_epoch=0, base_sequence=1),
                        _batch((b"a", b"9"), producer_id=7001, producer_epoch=0, base_sequence=2),
                        _batch((b"a", b"9"), producer_id=7002, producer_epoch=3, base_sequence=5),
                        number=7,
                    ),
                )
            ),
            Settle(),
        ),
        (_PLAIN, _PRODUCERS, _MARKS, _AT_ONCE, _ACTIVE),
        "compacts",
    ),
]
