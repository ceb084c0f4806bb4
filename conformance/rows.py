"""Tables of records that are put to Produce: a case per row, and the builders that only such tables need."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from zlib import crc32

from conformance.frames import TIMESTAMP_MS, batch_of, produce, with_crc
from conformance.scenario import Case, ReadLog, Send, Settle, Topic
from fakebroker.protocol.record_batch import Record

LENGTH_AT, MAGIC_AT = 8, 16
VERSIONS = (3, 7, 8, 9, 13)

Rows = Mapping[str, tuple[str, bytes]]  # what is wrong: (why, the records)


def cases(group: str, rows: Rows, versions: Sequence[int] = VERSIONS, **configs: str) -> list[Case]:
    """A case per row with a topic of its own: the same records in several versions on one connection, each answer with
    its version as correlation id, then a good batch, and what is stored."""
    return [_case(group, name, why, records, versions, configs) for name, (why, records) in rows.items()]


def _case(group: str, name: str, why: str, records: bytes, versions: Sequence[int], configs: Mapping[str, str]) -> Case:
    topic = Topic(f"{group}-{name}", configs={key.replace("_", "."): value for key, value in configs.items()})
    frames = tuple(
        produce(topic.placeholder if version >= 13 else topic.name, records, version=version, correlation_id=version)
        for version in versions
    )
    good = produce(topic.name, batch_of([Record(b"k", b"behind")]), correlation_id=100)
    return Case(f"{group}/{name}", why, (Send((*frames, good)), Settle(), ReadLog(topic.name)), (topic,))


def raw(data: bytes, codec: int = 0) -> bytes:
    """A batch that counts one record, with these bytes behind the header: not compressed, whatever the codec says."""
    return batch_of([Record(None, b"v")], raw=data, attributes=codec)


def packed(data: bytes, codec: int) -> bytes:
    """A batch that counts one record, with these bytes compressed behind the header."""
    return batch_of([Record(None, b"v")], codec, body=data)


def deltas(*numbers: int, codec: int = 0) -> bytes:
    """A batch of one record per offset delta."""
    return batch_of(
        [Record(b"k", b"%d" % number, offset_delta=number) for number in numbers],
        codec,
        last_offset_delta=len(numbers) - 1,
    )


def resized(data: bytes, size: int) -> bytes:
    """A batch cut to `size` bytes, its length saying so and its CRC right."""
    cut = data[:LENGTH_AT] + struct.pack(">i", size - 12) + data[LENGTH_AT + 4 : size]
    return with_crc(cut) if size > 21 else cut


def flipped(data: bytes, at: int) -> bytes:
    """The batch with one byte changed, its CRC left as it was."""
    changed = bytearray(data)
    changed[at] ^= 0xFF
    return bytes(changed)


def old_message(value: bytes, magic: int) -> bytes:
    """A message set of magic 0 or 1 with one message, its CRC right."""
    body = struct.pack(">bb", magic, 0)
    body += struct.pack(">q", TIMESTAMP_MS) if magic else b""
    body += struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", 0, 4 + len(body), crc32(body)) + body
