"""The oracle of a log's bytes: the last stable offset, what was aborted, what a reader keeps."""

from __future__ import annotations

from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT, EndTransactionMarker, encode_marker
from fakebroker.testing.transactions.oracle import LogOracle, batches_in, committed


def written(offset: int, producer_id: int, *values: bytes) -> bytes:
    attributes = TRANSACTIONAL_FLAG if producer_id >= 0 else 0
    return encode_batch(
        [Record(None, value) for value in values],
        base_timestamp_ms=0,
        producer_id=producer_id,
        producer_epoch=0,
        attributes=attributes,
        base_offset=offset,
    )


def marker(offset: int, producer_id: int, result: int) -> bytes:
    data = encode_marker(EndTransactionMarker(result, 0), producer_id, 0, 0)
    return offset.to_bytes(8) + data[8:]


LOG = [
    written(0, 1, b"a", b"b"),
    written(2, 2, b"c"),
    written(3, -1, b"plain"),
    marker(4, 1, ABORT),
    written(5, 1, b"d"),
    marker(6, 2, COMMIT),
    marker(7, 1, COMMIT),
    written(8, 2, b"open"),
]
ORACLE = LogOracle(b"".join(LOG))


def test_what_is_stable_by_the_watermark() -> None:
    assert [ORACLE.stable(watermark) for watermark in range(10)] == [0, 0, 0, 0, 0, 2, 2, 5, 8, 8]


def test_what_was_aborted() -> None:
    assert ORACLE.aborted(4) == {(1, 0)}
    assert ORACLE.aborted(5) == set()


def test_what_is_committed_is_what_a_client_keeps() -> None:
    kept = [(2, b"c"), (3, b"plain"), (5, b"d")]
    assert ORACLE.committed(0, 8) == kept
    assert committed(ORACLE.batches[:-1], [(1, 0)]) == kept
    assert committed(ORACLE.batches[1:-1], [(1, 0)], 3) == kept[1:]
    assert ORACLE.committed(8, 9) == []


def test_a_batch_that_is_cut_off_counts_for_nothing() -> None:
    assert batches_in(LOG[0] + LOG[1][:-1]) == batches_in(LOG[0])
    assert batches_in(LOG[0] + LOG[1][:30]) == batches_in(LOG[0])
