"""The answers to AddPartitionsToTxn and EndTxn by hand and by kio: byte for byte."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.answers.transaction_answers import (
    encode_add_partitions_in_slices,
    encode_add_partitions_to_txn,
    encode_end_txn,
)
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type
from fakebroker.protocol.slices import finish

i16s = st.integers(-(1 << 15), (1 << 15) - 1)
i32s = st.integers(-(1 << 31), (1 << 31) - 1)
i64s = st.integers(-(1 << 63), (1 << 63) - 1)
throttles = st.integers(0, (1 << 31) - 1)
codes = st.sampled_from(ErrorCode)
topics = st.lists(st.tuples(st.text(max_size=200), st.lists(st.tuples(i32s, codes), max_size=200)), max_size=3)


def by_kio(key: int, version: int, correlation_id: int, **values: Any) -> bytes:
    return encode_response(build(response_type(key, version), values), correlation_id)


@given(st.integers(0, 5), i32s, throttles, codes, i64s, i16s)
def test_end_txn(
    version: int, correlation_id: int, throttle_ms: int, code: ErrorCode, producer_id: int, epoch: int
) -> None:
    assert encode_end_txn(version, correlation_id, throttle_ms, code, producer_id, epoch) == by_kio(
        26,
        version,
        correlation_id,
        throttle_time=timedelta(milliseconds=throttle_ms),
        error_code=code,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


@given(st.integers(0, 3), i32s, throttles, topics)
def test_add_partitions_to_txn(
    version: int, correlation_id: int, throttle_ms: int, told: list[tuple[str, list[tuple[int, ErrorCode]]]]
) -> None:
    results = [
        {
            "name": topic,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": code} for index, code in partitions
            ],
        }
        for topic, partitions in told
    ]
    assert encode_add_partitions_to_txn(version, correlation_id, throttle_ms, told) == by_kio(
        24,
        version,
        correlation_id,
        throttle_time=timedelta(milliseconds=throttle_ms),
        results_by_topic_v3_and_below=results,
    )


@given(st.integers(0, 5), i32s, throttles, codes, st.lists(st.tuples(st.text(max_size=20), topics), max_size=3))
def test_add_partitions_to_txn_in_slices(
    version: int,
    correlation_id: int,
    throttle_ms: int,
    code: ErrorCode,
    transactions: list[tuple[str, list[tuple[str, list[tuple[int, ErrorCode]]]]]],
) -> None:
    """A request has many transactions since version 4, and one before."""
    if version < 4:
        transactions = [*transactions, ("", [])][:1]
    results = [
        {
            "transactional_id": transactional_id,
            "topic_results": [
                {
                    "name": topic,
                    "results_by_partition": [
                        {"partition_index": index, "partition_error_code": error} for index, error in partitions
                    ],
                }
                for topic, partitions in named
            ],
        }
        for transactional_id, named in transactions
    ]
    encoded = encode_add_partitions_in_slices(version, correlation_id, throttle_ms, code, transactions)
    assert finish(encoded) == by_kio(
        24,
        version,
        correlation_id,
        throttle_time=timedelta(milliseconds=throttle_ms),
        error_code=code,
        results_by_transaction=results,
        results_by_topic_v3_and_below=results[0]["topic_results"] if version < 4 else (),
    )
