"""A reader of a request's fields, one after the other, as long as they are usual."""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.errors import ProtocolError

_LONGEST_TEXT: Final = 32_767


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Fields:
    """The fields from an offset on, of a flexible version or not. All methods raise IndexError, UnicodeDecodeError or
    ProtocolError for input of the general reader: bytes that end, invalid nulls, tagged fields, invalid UTF-8."""

    __slots__ = ("_at", "_flexible", "_frame")

    def __init__(self, frame: bytes, offset: int, flexible: bool) -> None:
        self._frame = frame
        self._at = offset
        self._flexible = flexible

    def i32(self) -> int:
        value: int = read_i32_be(self._frame, self._at)
        self._at += 4
        return value

    def i64(self) -> int:
        value: int = read_i64_be(self._frame, self._at)
        self._at += 8
        return value

    def i16(self) -> int:
        value: int = read_i16_be(self._frame, self._at)
        self._at += 2
        return value

    def boolean(self) -> bool:
        value = self._frame[self._at]
        if value > 1:
            raise ProtocolError("neither true nor false")
        self._at += 1
        return value == 1

    def text(self) -> str:
        size = self._compact() if self._flexible else self.i16()
        return self._text(size)

    def text_or_none(self) -> str | None:
        size = self._compact() if self._flexible else self.i16()
        return None if size == -1 else self._text(size)

    def data(self) -> bytes:
        return self._take(self._compact() if self._flexible else self.i32())

    def count(self) -> int:
        """Read the count of an array, which is not checked."""
        length = self._compact() if self._flexible else self.i32()
        if length < 0:
            raise ProtocolError("null, or less")
        return length

    def end(self) -> None:
        """Read the end of a struct: an empty tagged section."""
        if self._flexible:
            if self._frame[self._at] != 0:
                raise ProtocolError("tagged fields")
            self._at += 1

    def _text(self, size: int) -> str:
        if size > _LONGEST_TEXT:
            raise ProtocolError("very long text")
        return self._take(size).decode()

    def _take(self, size: int) -> bytes:
        start = self._at
        end = start + size
        if size < 0 or end > len(self._frame):
            raise ProtocolError("bytes that end, or none")
        self._at = end
        return self._frame[start:end]

    def _compact(self) -> int:
        """Read a length or a count, which is one too large; -1 is null."""
        value = self._frame[self._at]
        self._at += 1
        if value >= 128:
            value &= 127
            for shift in (7, 14):
                byte = self._frame[self._at]
                self._at += 1
                value |= (byte & 127) << shift
                if byte < 128:
                    return value - 1
            raise ProtocolError("a very large number")
        return value - 1
