"""Bytes that are joined only when they are read: parts of a log, and a response that contains them.

Theory   A response of 55 MiB is some bytes of ours and records that the log keeps anyway, in memory or in a store. It
         is a list of parts: `bytes`, and pieces, which know their size and return their bytes on demand. The writer
         takes as much as its socket takes at a time (`FrameInPieces.take`). So an unread response costs only the part
         in flight.
Units    sizes are bytes.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import mypyc_attr

Part = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Piece:
    """An immutable range of bytes in a store."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, start: int, size: int) -> list[Part]:
        """Return `size` existing bytes from `start` on. Memoryviews are of immutable bytes."""
        raise NotImplementedError


@final
class Pieces:
    """A sequence of parts with their total `size`."""

    __slots__ = ("pieces", "size")

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces
        size = 0
        for piece in pieces:
            size += piece.size
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return len(self) > 0

    def join(self) -> bytes:
        """Return all bytes."""
        parts: list[Part] = []
        for piece in self.pieces:
            parts += piece.read(0, piece.size)
        return b"".join(parts)


NOTHING: Final = Pieces([])


@final
class FrameInPieces:
    """A whole frame, including its length, which is taken from beginning to end. `size` is the total, `left` the
    rest."""

    __slots__ = ("_next", "_parts", "_taken", "left", "size")

    def __init__(self, parts: list[bytes | Piece]) -> None:
        self._parts = parts
        self._next = 0  # index of the part that is taken next
        self._taken = 0  # bytes taken of that part
        size = 0
        for part in parts:
            size += len(part) if isinstance(part, bytes) else part.size
        self.size = size
        self.left = size

    def __len__(self) -> int:
        return self.size

    def __bool__(self) -> bool:
        return len(self) > 0

    def take(self, max_bytes: int) -> list[Part]:
        """Return the next `max_bytes`, or all that is left; empty at the end. Parts that were taken are released."""
        taken: list[Part] = []
        room = min(max_bytes, self.left)
        self.left -= room
        while room > 0:
            part = self._parts[self._next]
            start = self._taken
            size = (len(part) if isinstance(part, bytes) else part.size) - start
            if size <= room:
                self._parts[self._next] = b""
                self._next += 1
                self._taken = 0
            else:
                size = room
                self._taken += size
            if isinstance(part, bytes):
                taken.append(part if size == len(part) else memoryview(part)[start : start + size])
            elif size > 0:
                taken += part.read(start, size)
            room -= size
        return taken

    def join(self) -> bytes:
        """Return all that is left, joined."""
        return b"".join(self.take(self.left))
