"""Write the answers to AddPartitionsToTxn (versions 0 to 3) and EndTxn (0 to 5) by hand: whole frames.

tests/protocol/answers/test_transaction_answers.py ties it to kio.

Units    milliseconds.
Source   clients/src/main/resources/common/message/{AddPartitionsToTxn,EndTxn}Response.json @ 4.4
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.protocol.answers.frame import Frame


def encode_end_txn(
    version: int, correlation_id: int, throttle_time_ms: int, error_code: int, producer_id: int, producer_epoch: int
) -> bytes:
    """The producer's id and epoch are told from version 5 on."""
    frame = Frame(correlation_id, version >= 3)
    frame.i32(throttle_time_ms)
    frame.i16(error_code)
    if version >= 5:
        frame.i64(producer_id)
        frame.i16(producer_epoch)
    frame.end()
    return frame.whole()


def encode_add_partitions_to_txn(
    version: int, correlation_id: int, throttle_time_ms: int, topics: Sequence[tuple[str, Sequence[tuple[int, int]]]]
) -> bytes:
    """By topic: partitions with their errors."""
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
