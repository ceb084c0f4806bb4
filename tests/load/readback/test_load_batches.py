"""Checks of a batch of the log alone, without the request that sent it."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.protocol.record_batch import (
    Record,
    compute_crc,
    decode_records,
    encode_batch,
    read_batch_header,
)
from fakebroker_load.readback.batches import (
    DAMAGED,
    DOES_NOT_FOLLOW,
    HALF_A_PRODUCER,
    OF_A_TRANSACTION,
    OF_NO_TRANSACTION,
    OTHER_EPOCH,
    OTHER_TIMES,
    BatchJudge,
)

TIME_MS = 1_000
ATTRIBUTES_AT = 21  # what the CRC covers begins here
TRANSACTIONAL, CONTROL = 16, 32


def judged(*batches: bytes, first_epoch: int | None = 3, last_epoch: int | None = 5) -> list[str | None]:
    judge = BatchJudge(first_epoch, last_epoch)
    return [judge.problem(read_batch_header(stored), stored, decode_records(stored)) for stored in batches]


def batch(epoch: int = 3, records: int = 1, **fields: int) -> bytes:
    """Return a batch with this leader epoch; `fields` replace fields of its header."""
    plain = encode_batch([Record(b"k", b"v")] * records, base_timestamp_ms=TIME_MS)
    header = read_batch_header(plain)._replace(partition_leader_epoch=epoch, **fields)
    whole = bytearray(pack_header(header) + plain[61:])
    whole[17:21] = compute_crc(bytes(whole), 0, len(whole)).to_bytes(4, "big")
    return bytes(whole)


def pack_header(header: Any) -> bytes:
    from fakebroker.protocol.batch_layout import HEADER

    return bytes(HEADER.pack(*header))


def by_producer(sequence: int, producer: int = 7, epoch: int = 0, records: int = 1) -> bytes:
    return batch(records=records, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


def test_a_batch_that_is_right() -> None:
    assert judged(batch(), batch(4), batch(4), batch(5)) == [None] * 4


@pytest.mark.parametrize("at", [ATTRIBUTES_AT, 60, -1])
def test_a_byte_that_is_another_is_found(at: int) -> None:
    damaged = bytearray(batch())
    damaged[at] ^= 0x40
    judge, whole = BatchJudge(None, None), bytes(damaged)
    assert judge.problem(read_batch_header(whole), whole, None) == DAMAGED


def test_times_that_its_records_do_not_have_are_found() -> None:
    assert judged(batch(max_timestamp_ms=TIME_MS + 1)) == [OTHER_TIMES]
    assert judged(batch(max_timestamp_ms=TIME_MS + 1, attributes=8)) == [None]  # LogAppendTime


def test_epochs_never_fall_and_are_those_of_the_run() -> None:
    assert judged(batch(2)) == [OTHER_EPOCH]
    assert judged(batch(6)) == [OTHER_EPOCH]
    assert judged(batch(5), batch(4)) == [None, OTHER_EPOCH]
    assert judged(batch(9), first_epoch=None, last_epoch=None) == [None]


def test_a_producer_is_there_or_is_not() -> None:
    assert judged(by_producer(0)) == [None]
    assert judged(batch(producer_id=7)) == [HALF_A_PRODUCER]
    assert judged(batch(base_sequence=0)) == [HALF_A_PRODUCER]
    assert judged(batch(base_sequence=-2)) == [HALF_A_PRODUCER]
    assert judged(batch(attributes=TRANSACTIONAL)) == [HALF_A_PRODUCER]


def test_each_batch_of_a_producer_goes_on_where_the_one_before_ended() -> None:
    assert judged(by_producer(4, records=2), by_producer(6), by_producer(7)) == [None] * 3
    assert judged(by_producer(4, records=2), by_producer(7)) == [None, DOES_NOT_FOLLOW]
    assert judged(by_producer(4), by_producer(4)) == [None, DOES_NOT_FOLLOW]
    assert judged(by_producer(4), by_producer(0, epoch=1), by_producer(9, producer=8)) == [None] * 3
    assert judged(by_producer((1 << 31) - 1), by_producer(0)) == [None] * 2


def test_markers_have_no_sequence() -> None:
    marker = batch(producer_id=7, producer_epoch=0, attributes=TRANSACTIONAL | CONTROL)
    judge = BatchJudge(3, 5)
    assert judge.problem(read_batch_header(marker), marker, []) is None
    assert judged(by_producer(4))[0] is None


def test_only_a_topic_with_transactions_has_batches_of_them() -> None:
    stored = batch(producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL)
    for has_transactions, problem in ((False, OF_A_TRANSACTION), (True, None)):
        judge = BatchJudge(3, 5, has_transactions)
        assert judge.problem(read_batch_header(stored), stored, decode_records(stored)) == problem


def test_a_producer_with_a_marker_has_no_batch_outside_of_transactions() -> None:
    marker = batch(producer_id=7, producer_epoch=1, attributes=TRANSACTIONAL | CONTROL)
    for producer, problem in ((7, OF_NO_TRANSACTION), (8, None)):
        judge, plain = BatchJudge(3, 5, True), by_producer(0, producer)
        assert judge.problem(read_batch_header(plain), plain, decode_records(plain)) is None
        assert judge.problem(read_batch_header(marker), marker, []) == problem
