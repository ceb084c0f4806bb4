"""The fast way of an append, compared with the general one: what the fast way accepts, the general one appends
equally."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.batches import TIME_MS, batch_of, flipped, keyed, sequenced

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.append import place, validate_append
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.plain_append import PlainRules, prepare_plain
from fakebroker.core.log.transactions.verification import UNCHECKED
from fakebroker.protocol.plain_batch import is_plain, is_plain_in_transaction
from fakebroker.protocol.produce_request import is_transactional, validate_records
from fakebroker.protocol.record_batch import Record
from fakebroker.protocol.slices import finish
from fakebroker.protocol.topic_partition import TopicPartition

TP = TopicPartition("t", 0)
CONFIG = TopicConfig()

timestamps = st.sampled_from([-2, -1, 0, 1, TIME_MS - 1, TIME_MS, TIME_MS + 3_600_000, TIME_MS + 3_600_001, 2**63 - 1])
records = st.lists(
    st.builds(
        Record,
        st.none() | st.binary(max_size=2),
        st.none() | st.binary(max_size=3) | st.just(bytes(3_000)),
        st.just(()) | st.just((("h", None),)),
        timestamps,
        st.none() | st.integers(0, 3),
    ),
    max_size=4,
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "base_offset": st.sampled_from([0, 1, -1]),
        "attributes": st.sampled_from([0, 0x08, 0x10, 0x20, 0x40, 0x100]),
        "last_offset_delta": st.integers(-1, 4),
        "max_timestamp_ms": timestamps,
        "producer_id": st.sampled_from([-2, -1, 0, 2**63 - 1]),
        "base_sequence": st.sampled_from([-1, 0, 2**31 - 1]),
        "record_count": st.integers(-1, 4),
        "magic": st.sampled_from([1, 2, 3]),
    },
)
configs = st.builds(
    lambda changes: TopicConfig(**changes),
    st.fixed_dictionaries(
        {},
        optional={
            "max_message_bytes": st.sampled_from([68, 100, 1_048_588]),
            "segment_bytes": st.sampled_from([68, 100, 1_048_576]),
            "message_timestamp_type": st.sampled_from(["CreateTime", "LogAppendTime"]),
            "compression_type": st.sampled_from(["producer", "uncompressed", "gzip"]),
            "cleanup_policy": st.sampled_from([("delete",), ("compact",), ("compact", "delete"), ()]),
            "message_timestamp_before_max_ms": st.sampled_from([0, 1, 2**63 - 1]),
            "message_timestamp_after_max_ms": st.sampled_from([0, 3_600_000]),
        },
    ),
)


def fields(batch: LoggedBatch) -> tuple[object, ...]:
    producer = batch.producer
    said = producer and (
        producer.producer_id,
        producer.producer_epoch,
        producer.base_sequence,
        producer.max_timestamp_ms,
        producer.is_transactional,
    )
    return batch.base_offset, batch.last_offset, batch.data, batch.timestamp_ms, said


def agree(batch: bytes, config: TopicConfig, offset: int = 7, epoch: int = 3) -> bool:
    """Return True if the fast way took the batch; check that the general way gives the same result."""
    may_be = is_plain(batch) or is_plain_in_transaction(batch)
    fast = prepare_plain(batch, PlainRules(config), offset, epoch, TIME_MS) if may_be else None
    if fast is None:
        return False
    log = Log()
    log.truncate_fully_and_start_at(offset)
    prepared = place(finish(validate_append(batch, config, TP, TIME_MS)), log, TP, epoch, TIME_MS, UNCHECKED)
    assert isinstance(prepared, tuple)
    general, append_time_ms = prepared
    assert fields(fast) == fields(general)
    assert append_time_ms == -1
    return True


@given(
    records=records,
    header=headers,
    config=configs,
    change=st.none() | st.tuples(st.integers(0, 80), st.integers(1, 255)),
    behind=st.sampled_from([b"", b"\0"]),
)
@example([Record(b"k", b"v", (), TIME_MS)], {"producer_id": 5, "base_sequence": 0}, CONFIG, None, b"")
def test_what_it_takes_the_general_way_takes(
    records: list[Record],
    header: dict[str, Any],
    config: TopicConfig,
    change: tuple[int, int] | None,
    behind: bytes,
) -> None:
    batch = bytearray(batch_of(records, **header) + behind)
    if change is not None and change[0] < len(batch):
        batch[change[0]] ^= change[1]
    agree(bytes(batch), config)


@pytest.mark.parametrize(
    "batch",
    [
        keyed(),
        keyed(*[b"v"] * 300),
        keyed(bytes(100_000)),
        sequenced(4, 0, 17, 3),
        batch_of([Record(None, None, (("h", b"x"),))]),
        keyed(base_timestamp_ms=-1),
        keyed(attributes=0x10),
        keyed(attributes=0x10, producer_id=1, base_sequence=0),
    ],
    ids=["one", "many", "large", "idempotent", "headers", "no timestamp", "of no transaction", "in a transaction"],
)
def test_it_takes_good_batches(batch: bytes) -> None:
    assert agree(batch, CONFIG)


@pytest.mark.parametrize(
    "batch",
    [
        keyed(base_offset=1),
        keyed(codec=1),
        keyed(attributes=0x20),
        keyed(max_timestamp_ms=5),
        flipped(keyed()),
        keyed() + b"\0",
        keyed()[:-1],
        batch_of([]),
        batch_of([Record(b"k", b"v")], producer_id=1),
        batch_of([Record(b"k", b"v")], base_timestamp_ms=TIME_MS + 3_600_001),
    ],
)
def test_it_leaves_the_rest_to_the_general_way(batch: bytes) -> None:
    assert not agree(batch, CONFIG)


@given(
    batch=st.builds(
        lambda records, header, behind: batch_of(records, **header) + behind, records, headers, st.binary()
    ),
    version=st.integers(3, 13),
    change=st.tuples(st.integers(0, 40), st.integers(0, 255)),
    cut=st.integers(0, 200),
)
def test_a_plain_batch_may_be_appended_and_is_not_transactional(
    batch: bytes, version: int, change: tuple[int, int], cut: int
) -> None:
    changed = bytearray(batch[: max(cut, 61)])
    if change[0] < len(changed):
        changed[change[0]] = change[1]
    for candidate in (batch, bytes(changed)):
        if is_plain(candidate):
            assert not is_transactional(candidate)
            validate_records(candidate, version)


@given(batch=st.binary(max_size=100))
def test_any_bytes_may_be_asked_about(batch: bytes) -> None:
    if is_plain(batch):
        validate_records(batch, 9)
