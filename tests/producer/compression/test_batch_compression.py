"""Compressed batches: their content, their size, and the split of one that was too large."""

from __future__ import annotations

import pytest

from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.compression.batch_compression import CODECS, BatchCompression
from fakebroker.producer.compression.compression_ratio_estimator import CompressionRatioEstimator
from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import MetadataSnapshot, PartitionInfo
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import RecordBatchBuilder
from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.compression import decompress
from fakebroker.protocol.record_batch import decode_records, is_crc_valid, pack_batch, read_batch_header
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)
METADATA = MetadataSnapshot([PartitionInfo(PARTITION, 1)])
VALUE = b"the same again and again " * 8
compressing = pytest.mark.parametrize("name", [name for name in CODECS if name != "none"])


def compression_of(name: str) -> BatchCompression:
    return BatchCompression(CODECS[name], CompressionRatioEstimator(Generation("4.3")))


def builder_of(name: str, records: int, ratio: float = 1.0) -> RecordBatchBuilder:
    builder = RecordBatchBuilder(100_000, compression_of(name), ratio)
    for at in range(records):
        builder.append(5, b"%d" % at, VALUE, ())
    return builder


def values(batch: bytes) -> list[bytes | None]:
    header = read_batch_header(batch)
    plain = decompress(header.attributes & 7, batch[RECORD_BATCH_OVERHEAD:], 1_000_000)
    return [record.value for record in decode_records(pack_batch(header._replace(attributes=0), plain))]


@compressing
def test_a_reader_finds_what_was_written(name: str) -> None:
    built = builder_of(name, 3).build()
    assert is_crc_valid(built, 0, len(built))
    assert read_batch_header(built).attributes == CODECS[name]
    assert values(built) == [VALUE] * 3


@compressing
def test_its_size_is_a_guess_until_it_is_built(name: str) -> None:
    builder = builder_of(name, 3)
    plain = RecordBatchBuilder(100_000)
    for at in range(3):
        plain.append(5, b"%d" % at, VALUE, ())
    written = plain.estimated_size_in_bytes() - RECORD_BATCH_OVERHEAD
    assert builder.estimated_size_in_bytes() == RECORD_BATCH_OVERHEAD + int(written * 1.05)
    built = builder.build()
    assert builder.estimated_size_in_bytes() == len(built)
    assert builder.compression_ratio == pytest.approx((len(built) - RECORD_BATCH_OVERHEAD) / written)
    assert builder.compression_ratio < 0.5


def test_the_ratio_that_is_expected_lets_more_in() -> None:
    assert builder_of("gzip", 3, 0.5).estimated_size_in_bytes() < builder_of("gzip", 3).estimated_size_in_bytes()


@compressing
def test_another_sequence_leaves_the_records_as_they_are(name: str) -> None:
    builder = builder_of(name, 2)
    builder.set_producer_state(7, 0, 5, False)
    first = builder.build()
    ratio = builder.compression_ratio
    builder.reopen_and_rewrite_producer_state(7, 1, 0, False)
    assert builder.compression_ratio == ratio != 1.0  # a broker may still say of the first that it was too large
    second = builder.build()
    assert first[RECORD_BATCH_OVERHEAD:] == second[RECORD_BATCH_OVERHEAD:]
    header = read_batch_header(second)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 0)
    assert is_crc_valid(second, 0, len(second))


def test_what_was_seen_is_expected_of_the_next_and_a_split_begins_anew() -> None:
    config = ProducerConfig("4.3", {"compression.type": "gzip", "linger.ms": 0, "batch.size": 2_000})
    accumulator = RecordAccumulator43(config, lambda: 0, lambda: 0.5)
    assert accumulator.compression is not None
    estimator = accumulator.compression.estimator
    for _ in range(3):
        accumulator.append("t", 0, 0, None, VALUE, (), None, 0, 0, METADATA, lambda append: None)
    [batch] = accumulator.drain(METADATA, [1], 1_000_000, 0)[1]
    assert estimator.estimation("t") == pytest.approx(0.995)
    assert values(batch.records()) == [VALUE] * 3
    assert accumulator.split_and_reenqueue(batch) == 1
    assert estimator.estimation("t") == 1.0
    [again] = accumulator.drain(METADATA, [1], 1_000_000, 0)[1]
    assert values(again.records()) == [VALUE] * 3


def test_without_a_codec_nothing_is_guessed() -> None:
    assert RecordAccumulator43(ProducerConfig("4.3", {}), lambda: 0, lambda: 0.5).compression is None
