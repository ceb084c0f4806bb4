"""Writers of responses to AddPartitionsToTxn and EndTxn (versions 0 to 5) by hand: whole frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from fakebroker.protocol.answers.frame import Frame
from fakebroker.protocol.slices import Slices

_PARTITIONS_OF_A_SLICE: Final = 256

TopicErrors = tuple[str, Sequence[tuple[int, int]]]


def encode_end_txn(
    version: int, correlation_id: int, throttle_time_ms: int, error_code: int, producer_id: int, producer_epoch: int
) -> bytes:
    """Return the frame. It has the producer's id and epoch from version 5 on."""
    frame = Frame(correlation_id, version >= 3)
    frame.i32(throttle_time_ms)
    frame.i16(error_code)
    if version >= 5:
        frame.i64(producer_id)
        frame.i16(producer_epoch)
    frame.end()
    return frame.whole()


def encode_add_partitions_to_txn(
    version: int, correlation_id: int, throttle_time_ms: int, topics: Sequence[TopicErrors]
) -> bytes:
    """Return the frame of versions 0 to 3: partitions with their errors, by topic."""
    frame = Frame(correlation_id, version >= 3)
    frame.i32(throttle_time_ms)
    frame.count(len(topics))
    for topic, partitions in topics:
        frame.text(topic)
        frame.count(len(partitions))
        for index, error_code in partitions:
            frame.i32(index)
            frame.i16(error_code)
            frame.end()
        frame.end()
    frame.end()
    return frame.whole()


def encode_add_partitions_in_slices(
    version: int,
    correlation_id: int,
    throttle_time_ms: int,
    error_code: int,
    transactions: Sequence[tuple[str, Collection[TopicErrors]]],
) -> Slices[bytes]:
    """Return the frame of any version, in slices. Before version 4 there is one transaction without a name, and no
    top-level error."""
    frame = Frame(correlation_id, version >= 3)
    frame.i32(throttle_time_ms)
    is_batched = version >= 4
    if is_batched:
        frame.i16(error_code)
        frame.count(len(transactions))
    left = _PARTITIONS_OF_A_SLICE
    for transactional_id, topics in transactions:
        if is_batched:
            frame.text(transactional_id)
            left -= 1
        frame.count(len(topics))
        for topic, partitions in topics:
            frame.text(topic)
            frame.count(len(partitions))
            for index, code in partitions:
                frame.i32(index)
                frame.i16(code)
                frame.end()
                left -= 1
                if left <= 0:
                    left = _PARTITIONS_OF_A_SLICE
                    yield
            frame.end()
            left -= 1
            if left <= 0:
                left = _PARTITIONS_OF_A_SLICE
                yield
        if is_batched:
            frame.end()
            if left <= 0:
                left = _PARTITIONS_OF_A_SLICE
                yield
    frame.end()
    return frame.whole()
