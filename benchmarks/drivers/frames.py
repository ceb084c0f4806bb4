"""Requests of the benchmarks as bytes, made before anything is measured.

Produce v7 is the newest version that every peer speaks. All frames of a file have one size: the driver relies on it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.sent.produce_frame import encode_produce_request

PRODUCE_VERSION = 7
CLIENT_ID = "bench"
MIB = 1 << 20
_TIMESTAMP_MS = 1_700_000_000_000
_FILE_BYTES = MIB  # so much is sent from one file before it begins again, so that a write is long


def error_at(topic: str) -> int:
    """Return the offset of the error code in the response to `produce_frame`: behind lengths, correlation id, name and
    index."""
    return 4 + 4 + 4 + 2 + len(topic) + 4 + 4


def answer_bytes(topic: str) -> int:
    """The size of the answer to `produce_frame`, length included: offset, append time, log start, throttle time."""
    return error_at(topic) + 2 + 8 + 8 + 8 + 4


def record_batch(value_bytes: int, records: int = 1, sequence: int = -1) -> bytes:
    """Return a batch of `records` records with values of that size. A value of 1 MiB is cut so that the batch fits into
    the default `max.message.bytes`. With a sequence the batch is of the idempotent producer 7."""
    if value_bytes == MIB:
        value_bytes -= len(encode_batch([Record(None, bytes(MIB))], base_timestamp_ms=_TIMESTAMP_MS)) - MIB
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": sequence} if sequence >= 0 else {}
    return encode_batch([Record(None, b"x" * value_bytes)] * records, base_timestamp_ms=_TIMESTAMP_MS, **producer)


def produce_frame(topic: str, partition: int, batch: bytes, acks: int, timeout_ms: int = 30_000) -> bytes:
    return encode_produce_request(PRODUCE_VERSION, 1, CLIENT_ID, acks, timeout_ms, [(topic, ((partition, batch),))])


def repeated(frames: Sequence[bytes]) -> bytes:
    """The frames one after another, so often that they fill a file of a sensible size."""
    once = b"".join(frames)
    return once * max(1, _FILE_BYTES // len(once))


@contextmanager
def frame_file(frames: Sequence[bytes]) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".frames") as file:
        file.write(repeated(frames))
        file.flush()
        yield Path(file.name)
