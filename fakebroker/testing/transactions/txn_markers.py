"""The transaction markers of a simulated coordinator (WriteTxnMarkers v1), and read_committed Fetches (v10): frames and
responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.testing.wire import (
    CLIENT_ID,
    COMMIT,
    FETCH,
    FETCH_VERSION,
    MARKER_TYPE_AT,
    PartitionResult,
    batches_of,
    ident,
)

WRITE_TXN_MARKERS, WRITE_TXN_MARKERS_VERSION = 27, 1


def write_markers(
    correlation_id: int, producer_id: int, epoch: int, commits: bool, keys: Sequence[tuple[str, int]]
) -> bytes:
    """Return the frame of a coordinator's WriteTxnMarkers."""
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    marker = {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": commits,
        "topics": [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()],
    }
    return request_frame(WRITE_TXN_MARKERS, WRITE_TXN_MARKERS_VERSION, {"markers": [marker]}, correlation_id, CLIENT_ID)


def read_markers_response(frame: bytes) -> tuple[PartitionResult, ...]:
    """Return the result of each partition, sorted by topic and partition, with -1 as offset."""
    response: Any = decode_response(WRITE_TXN_MARKERS, WRITE_TXN_MARKERS_VERSION, frame)[1]
    [marker] = response.markers
    return tuple(
        sorted(
            ((topic.name, partition.partition_index), int(partition.error_code), -1)
            for topic in marker.topics
            for partition in topic.partitions
        )
    )


def read_committed_answer(frame: bytes) -> tuple[int, int, int, tuple[bytes, ...]]:
    """Return (error, high watermark, last stable offset, ident of each batch that is not aborted) of a read_committed
    Fetch. Aborted batches are removed, as a client does."""
    response: Any = decode_response(FETCH, FETCH_VERSION, frame)[1]
    [topic] = response.responses
    [partition] = topic.partitions
    aborted = sorted((txn.first_offset, txn.producer_id) for txn in partition.aborted_transactions or ())
    idents: list[bytes] = []
    aborting: set[int] = set()
    for header, data in batches_of(partition.records or b""):
        while aborted and aborted[0][0] <= header.last_offset:
            aborting.add(aborted.pop(0)[1])
        if header.is_control:
            if data[MARKER_TYPE_AT] != COMMIT:
                aborting.discard(header.producer_id)
        elif header.producer_id in aborting and header.attributes & TRANSACTIONAL_FLAG:
            continue
        idents.append(ident(data))
    return int(partition.error_code), partition.high_watermark, partition.last_stable_offset, tuple(idents)
