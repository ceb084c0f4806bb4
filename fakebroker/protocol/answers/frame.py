"""A writer of a response, field by field, which returns a whole frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.answers.pieces import FrameInPieces, Piece
from fakebroker.protocol.varint import encode_unsigned_varint

_LARGE_BYTES: Final = 65_536  # values of this size or more are not copied into the frame


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Frame:
    """A response of a flexible version or not. The header is that of all responses but ApiVersions."""

    __slots__ = ("_before", "_flexible", "_out")

    def __init__(self, correlation_id: int, flexible: bool) -> None:
        self._flexible = flexible
        self._out = BytesWriter()
        self._before: list[bytes] | None = None  # the parts before `_out`, once there is a large value
        self.i32(correlation_id)
        self.end()

    def i32(self, value: int) -> None:
        write_i32_be(self._out, value)

    def i64(self, value: int) -> None:
        write_i64_be(self._out, value)

    def i16(self, value: int) -> None:
        write_i16_be(self._out, value)

    def boolean(self, value: bool) -> None:
        self._out.append(1 if value else 0)

    def text(self, value: str | None) -> None:
        """Write a string or null, without a check whether null is allowed."""
        if value is None:
            if self._flexible:
                self._out.append(0)
            else:
                self.i16(-1)
            return
        encoded = value.encode()
        if self._flexible:
            self._compact(len(encoded))
        else:
            self.i16(len(encoded))
        self._out.write(encoded)

    def raw(self, value: bytes) -> None:
        """Write bytes as they are, without their length."""
        self._out.write(value)

    def i32s(self, values: Sequence[int]) -> None:
        """Write an array of numbers."""
        self.count(len(values))
        for value in values:
            write_i32_be(self._out, value)

    def data(self, value: bytes) -> None:
        self.count(len(value))
        if len(value) < _LARGE_BYTES:
            self._out.write(value)
            return
        if self._before is None:
            self._before = []
        self._before.append(self._out.getvalue())
        self._before.append(value)
        self._out = BytesWriter()

    def count(self, value: int) -> None:
        """Write the count of an array, or of bytes."""
        if self._flexible:
            self._compact(value)
        else:
            self.i32(value)

    def end(self) -> None:
        """End a struct, with an empty tagged section."""
        if self._flexible:
            self._out.append(0)

    def finish(self) -> bytes | FrameInPieces:
        """Return the frame with its length, in pieces if large values are in it."""
        if self._before is None:
            return self.whole()
        parts: list[bytes | Piece] = [b""]
        size = 0
        for part in self._before:
            size += len(part)
            parts.append(part)
        last = self._out.getvalue()
        parts.append(last)
        length = BytesWriter()
        write_i32_be(length, size + len(last))
        parts[0] = length.getvalue()
        return FrameInPieces(parts)

    def whole(self) -> bytes:
        """Return the frame with its length, if it has no large values."""
        assert self._before is None
        body = self._out.getvalue()
        framed = BytesWriter()
        write_i32_be(framed, len(body))
        framed.write(body)
        return framed.getvalue()

    def _compact(self, value: int) -> None:
        if value < 127:
            self._out.append(value + 1)
        else:
            self._out.write(encode_unsigned_varint(value + 1))
