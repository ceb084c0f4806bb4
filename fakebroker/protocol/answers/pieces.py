"""Bytes that are not put together until somebody takes them: what a log has, and an answer that is made of it.

Theory   An answer of 55 MiB is some bytes of ours and then what the log keeps anyway, in memory or in a store. It is a
         list of parts: `bytes`, which are there, and pieces, which know their size and give their bytes when they are
         asked. Whoever writes it to a socket takes as much as the socket takes at a time (`FrameInPieces.take`), so an
         answer that nobody reads costs what is asked for next, and not what is announced.
Units    sizes are bytes.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import mypyc_attr

Part = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Piece:
    """So many bytes from somewhere. What they are never changes."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, start: int, size: int) -> list[Part]:
        """The bytes from `start` on, `size` of them: there are so many. Memoryviews are of what stays as it is."""
        raise NotImplementedError


@final
class Pieces:
    """A row of them. `size` is that of all."""

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
        """All of it."""
        parts: list[Part] = []
        for piece in self.pieces:
            parts += piece.read(0, piece.size)
        return b"".join(parts)


NOTHING: Final = Pieces([])


@final
class FrameInPieces:
    """A whole frame, its length included, to be taken from its beginning to its end. `size` is that of all of it,
    `left` of what was not taken."""

    __slots__ = ("_next", "_parts", "_taken", "left", "size")

    def __init__(self, parts: list[bytes | Piece]) -> None:
        self._parts = parts
        self._next = 0  # the part that is taken next
        self._taken = 0  # of that one
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
        """What comes next, `max_bytes` or all that is left; nothing once all is taken. It lets go of what was taken."""
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
        """All that is left, in one."""
        return b"".join(self.take(self.left))
