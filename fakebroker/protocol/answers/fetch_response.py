"""A writer of Fetch responses, versions 4 to 18, by hand, and in pieces: their records are not copied.

The general writer needs a dataclass for every struct, and the records of each partition as one `bytes`. Here each
partition is written as soon as it is known. Large records are appended to the parts as they are. The time of a Fetch is
in docs/speed.md.

tests/protocol/test_fetch_response_properties.py ties it to kio, byte for byte.

Units    offsets count records, sizes are bytes, `_ms` is milliseconds.
Source   clients/src/main/resources/common/message/FetchResponse.json @ 4.4
Differs  There are no snapshots: that field is for the metadata log.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.answers.pieces import NOTHING, FrameInPieces, Piece, Pieces
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.varint import encode_unsigned_varint

VERSIONS: Final = range(4, 19)

_COPIED_BYTES: Final = 4_096  # records below that size are cheaper to copy than to keep apart
_NO_EPOCH: Final = (-1, -1)
_EPOCH: Final = Struct(">iq")
_LEADER: Final = Struct(">ii")


@mypyc_attr(acyclic=True)
@final
class PartitionFetchResponse:
    """The result of one partition. Fields that its version lacks are left out.

    aborted_transactions    (producer id, first offset) of each; None if they were not looked up
    diverging_epoch         (epoch, end offset), v12 and later; current_leader is (leader id, leader epoch), v12 and
                            later
    preferred_read_replica  a broker id, v11 and later; -1 for none
    """

    __slots__ = (
        "aborted_transactions", "current_leader", "diverging_epoch", "error_code", "high_watermark", "index",
        "last_stable_offset", "log_start_offset", "preferred_read_replica", "records",
    )  # fmt: skip

    def __init__(
        self,
        index: int,
        error_code: int,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        records: Pieces = NOTHING,
        aborted_transactions: tuple[tuple[int, int], ...] | None = (),
        diverging_epoch: tuple[int, int] | None = None,
        current_leader: tuple[int, int] | None = None,
        preferred_read_replica: int = -1,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.records = records
        self.aborted_transactions = aborted_transactions
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.preferred_read_replica = preferred_read_replica


@final
class FetchResponseWriter:
    """A writer of one response: call `topic`, its `partition`s, the next topic, and so on; `finish` returns the
    frame."""

    __slots__ = ("_flexible", "_open", "_out", "_parts", "_size", "_version")

    def __init__(
        self,
        version: int,
        correlation_id: int,
        number_of_topics: int,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
    ) -> None:
        """Raises ValueError for a version other than 4 to 18."""
        if version not in VERSIONS:
            raise ValueError(f"Fetch has versions 4 to 18, and not {version}")
        self._version = version
        self._flexible = version >= 12
        self._parts: list[bytes | Piece] = []
        self._size = 0  # of the parts
        self._open = False  # a topic is open
        out = self._out = BytesWriter()
        write_i32_be(out, correlation_id)
        if self._flexible:
            out.append(0)
        write_i32_be(out, throttle_time_ms)
        if version >= 7:
            write_i16_be(out, error_code)
            write_i32_be(out, session_id)
        self._count(number_of_topics)

    def topic(self, name: str, topic_id: bytes, number_of_partitions: int) -> None:
        """Begin a topic. The name is written up to v12, from v13 the id, which has sixteen bytes."""
        self._end_topic()
        self._open = True
        if self._version >= 13:
            self._out.write(topic_id)
        else:
            self._string(name)
        self._count(number_of_partitions)

    def partition(self, response: PartitionFetchResponse) -> None:
        out, version = self._out, self._version
        write_i32_be(out, response.index)
        write_i16_be(out, response.error_code)
        write_i64_be(out, response.high_watermark)
        write_i64_be(out, response.last_stable_offset)
        if version >= 5:
            write_i64_be(out, response.log_start_offset)
        aborted = response.aborted_transactions
        if aborted is None:
            if self._flexible:
                out.append(0)
            else:
                write_i32_be(out, -1)
        else:
            self._count(len(aborted))
            for producer_id, first_offset in aborted:
                write_i64_be(out, producer_id)
                write_i64_be(out, first_offset)
                if self._flexible:
                    out.append(0)
        if version >= 11:
            write_i32_be(out, response.preferred_read_replica)
        records = response.records
        if self._flexible:
            self._varint(records.size + 1)
        else:
            write_i32_be(out, records.size)
        if records.size:
            self._records(records)
        if self._flexible:
            self._partition_tags(response)

    def finish(self, endpoints: Sequence[NodeEndpoint] = ()) -> FrameInPieces:
        """Return the whole frame, including its length. `endpoints` are written in v16 and later."""
        self._end_topic()
        if self._flexible:
            if self._version >= 16 and endpoints:
                self._endpoints(endpoints)
            else:
                self._out.append(0)
        rest = self._out.getvalue()
        size = self._size + len(rest)
        start = BytesWriter()
        write_i32_be(start, size)
        parts = self._parts
        first = parts[0] if parts else rest
        assert isinstance(first, bytes)
        start.write(first)
        if not parts:
            return FrameInPieces([start.getvalue()])
        parts[0] = start.getvalue()
        if rest:
            parts.append(rest)
        return FrameInPieces(parts)

    def _records(self, records: Pieces) -> None:
        if records.size <= _COPIED_BYTES:
            for piece in records.pieces:
                for part in piece.read(0, piece.size):
                    self._out.write(part if isinstance(part, bytes) else bytes(part))
            return
        before = self._out.getvalue()
        self._parts.append(before)
        self._parts += records.pieces
        self._size += len(before) + records.size
        self._out = BytesWriter()

    def _end_topic(self) -> None:
        if self._open and self._flexible:
            self._out.append(0)

    def _partition_tags(self, response: PartitionFetchResponse) -> None:
        """Write the tagged fields; those with default values are left out."""
        out = self._out
        diverging, leader = response.diverging_epoch, response.current_leader
        if diverging == _NO_EPOCH:
            diverging = None
        if leader == _NO_EPOCH:
            leader = None
        if diverging is None and leader is None:
            out.append(0)
            return
        out.append((diverging is not None) + (leader is not None))
        if diverging is not None:
            out.write(b"\x00\x0d" + _EPOCH.pack(diverging[0], diverging[1]) + b"\0")
        if leader is not None:
            out.write(b"\x01\x09" + _LEADER.pack(leader[0], leader[1]) + b"\0")

    def _endpoints(self, endpoints: Sequence[NodeEndpoint]) -> None:
        out, self._out = self._out, BytesWriter()
        self._count(len(endpoints))
        for node_id, host, port, rack in endpoints:
            write_i32_be(self._out, node_id)
            self._string(host)
            write_i32_be(self._out, port)
            self._string(rack)
            self._out.append(0)
        value = self._out.getvalue()
        self._out = out
        out.append(1)
        out.append(0)
        self._varint(len(value))
        out.write(value)

    def _count(self, number: int) -> None:
        if self._flexible:
            self._varint(number + 1)
        else:
            write_i32_be(self._out, number)

    def _varint(self, number: int) -> None:
        if number < 128:
            self._out.append(number)
        else:
            self._out.write(encode_unsigned_varint(number))

    def _string(self, text: str | None) -> None:
        if text is None:
            self._out.append(0)  # only in flexible versions
            return
        encoded = text.encode()
        if self._flexible:
            self._varint(len(encoded) + 1)
        else:
            write_i16_be(self._out, len(encoded))
        self._out.write(encoded)
