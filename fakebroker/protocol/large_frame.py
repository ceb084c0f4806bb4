"""A large frame on its way: what is missing of it is received into blocks of memory, and put together once.

Fed like other bytes, a large frame is copied out of what the socket is read into, and put together of these pieces.
Here the socket is read straight into the pieces. They are used again for the next large frame, of whatever connection:
so they are warm in the processor's caches, and the kernel need not find and clear pages for them.
`python -m benchmarks sink` shows what it saves. A new block is no larger than what has come of its frame: memory is
held in proportion to what a client has sent, not to what it has announced.

tests/protocol/test_large_frame.py ties it to the decoder that is fed.

Units    sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Final

from fakebroker.protocol.slices import Slices

__all__ = ["LargeFrame", "is_worth_it"]

_BLOCK_BYTES: Final = 524_288
_SLICE_BYTES: Final = 262_144  # copied in one slice
_SPARE_BLOCKS: Final = 8  # kept for the next large frames, of whatever connection
_EARNEST_BYTES: Final = 65_536
_WORTH_BYTES: Final = 131_072  # half of what is read at once otherwise
# glibc maps what is large anew each time, so that every page of it is new, until it has seen such memory freed: from
# then on it takes up to that size out of memory that it uses again, and keeps twice that. So it is shown some, of which
# no page is touched. Without it the first `log.memory.bytes` of large batches were mapped, and the next ones new again.
_HEAP_BYTES: Final = 16_777_216

_spare_blocks: list[bytearray] = []  # all of _BLOCK_BYTES
_is_heap_shown: list[bool] = []  # not empty once it is


def is_worth_it(available: int, missing: int) -> bool:
    """Whether to receive the rest of a frame into blocks. Not if little is missing: to read just that costs more than
    it saves. Nor before some of it is there: who only announces a large frame is given no memory."""
    return available >= _EARNEST_BYTES and missing >= _WORTH_BYTES


class LargeFrame:
    """One such frame. Its beginning is given; `missing` is how many bytes are still to come, at least one.

    Once nothing is missing its bytes are taken out, all or a part of them: then its blocks are free for others.
    """

    __slots__ = ("_block", "_filled", "_given", "_parts", "_size", "missing")

    def __init__(self, beginning: Sequence[bytes | bytearray | memoryview], missing: int) -> None:
        self._parts = list(beginning)
        self._given = len(beginning)
        self._size = sum(map(len, beginning)) + missing
        self._block = bytearray()  # the last part
        self._filled = 0  # of it
        self.missing = missing

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return len(self) > 0

    @property
    def available(self) -> int:
        return self._size - self.missing

    def room(self) -> memoryview:
        """Where the next bytes go, some of them at least."""
        if self._filled == len(self._block):
            self._block = _block(self.available)
            self._parts.append(self._block)
            self._filled = 0
        return memoryview(self._block)[self._filled : self._filled + self.missing]

    def is_room(self, data: bytes | bytearray | memoryview) -> bool:
        """Whether these bytes were put where `room` said."""
        return isinstance(data, memoryview) and data.obj is self._block

    def advance(self, size: int) -> None:
        """So many bytes are there now."""
        self._filled += size
        self.missing -= size

    def copy(self, data: bytes | bytearray | memoryview) -> int:
        """Take the next bytes of the stream from elsewhere; how many of them belong to this frame."""
        source = memoryview(data)[: self.missing]
        taken = 0
        while taken < len(source):
            room = self.room()
            size = min(len(room), len(source) - taken)
            room[:size] = source[taken : taken + size]
            self.advance(size)
            taken += size
        return taken

    @property
    def beginning(self) -> bytes:
        """As much of it as was given, or the first 64 KiB of that."""
        found = b""
        for part in self._parts[: self._given]:
            found += bytes(memoryview(part)[: _EARNEST_BYTES - len(found)])
        return found

    def last(self, size: int) -> bytes:
        """The last bytes, as far as they are in the last block."""
        return bytes(self._block[max(self._filled - size, 0) : self._filled])

    def join(self) -> bytes:
        """The whole frame. It may be taken out again."""
        frame = self.cut(0, self._size)
        self._parts = [frame]
        self._given = 1
        return frame

    def join_in_slices(self) -> Slices[bytes]:
        """The whole frame, once. What has been copied is free for others."""
        parts, self._parts = self._parts, []
        parts.reverse()
        left = self._size
        with BytesIO() as buffer:
            while left:
                part = memoryview(parts[-1])[:left]
                for start in range(0, len(part), _SLICE_BYTES):
                    buffer.write(part[start : start + _SLICE_BYTES])
                    yield
                left -= len(part)
                _keep(parts.pop())
            return buffer.getvalue()

    def cut(self, start: int, end: int) -> bytes:
        """The bytes between two positions."""
        parts: list[memoryview] = []
        position = 0
        for part in self._parts:
            parts.append(memoryview(part)[max(start - position, 0) : max(end - position, 0)])
            position += len(part)
        found = b"".join(parts)
        for part in self._parts[self._given :]:
            _keep(part)
        self._parts = []
        return found


def _keep(part: bytes | bytearray | memoryview) -> None:
    if isinstance(part, bytearray) and len(part) == _BLOCK_BYTES and len(_spare_blocks) < _SPARE_BLOCKS:
        _spare_blocks.append(part)


def _block(received: int) -> bytearray:
    """Return a block for a frame of which so many bytes have come: a spare one, or one that is no larger than that."""
    try:
        return _spare_blocks.pop()
    except IndexError:  # and not a look before: clusters may run in several threads
        if not _is_heap_shown:
            _is_heap_shown.append(True)
            bytes(_HEAP_BYTES)
        return bytearray(min(max(received, _EARNEST_BYTES), _BLOCK_BYTES))
