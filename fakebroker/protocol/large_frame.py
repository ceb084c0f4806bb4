"""A large frame in progress: its missing bytes are received into blocks of memory, and joined once.

A large frame that is fed like other bytes is copied out of the receive buffer, and joined from these pieces. Here the
socket is read straight into blocks. They are reused for the next large frame of any connection. So they are warm in the
processor's caches, and the kernel need not find and clear pages. `python -m benchmarks sink` shows the savings. A new
block is no larger than the received part of its frame: memory is in proportion to what a client has sent, not to what
it has announced.

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
_SPARE_BLOCKS: Final = 8  # kept for the next large frames of any connection
_EARNEST_BYTES: Final = 65_536
_WORTH_BYTES: Final = 131_072  # half of a usual read
# glibc maps large blocks anew each time, with new pages, until it has seen such a block freed. From then on it takes
# blocks up to that size from reused memory, and keeps twice that. So one block is allocated and freed, without touching
# its pages. Otherwise the first `log.memory.bytes` of large batches were mapped, and the next ones new again.
_HEAP_BYTES: Final = 16_777_216

_spare_blocks: list[bytearray] = []  # all of _BLOCK_BYTES
_is_heap_shown: list[bool] = []  # not empty once the block was freed


def is_worth_it(available: int, missing: int) -> bool:
    """Return True if the rest of a frame is worth receiving into blocks. Little missing data is not: an extra read
    costs more than it saves. An announced frame without any data gets no memory either."""
    return available >= _EARNEST_BYTES and missing >= _WORTH_BYTES


class LargeFrame:
    """A large frame. Its beginning is given; `missing` is the number of bytes to come, at least one.

    When it is complete, its bytes are taken out, all or a part of them. Then its blocks are reused.
    """

    __slots__ = ("_block", "_filled", "_given", "_parts", "_size", "missing")

    def __init__(self, beginning: Sequence[bytes | bytearray | memoryview], missing: int) -> None:
        self._parts = list(beginning)
        self._given = len(beginning)
        self._size = sum(map(len, beginning)) + missing
        self._block = bytearray()  # the last block
        self._filled = 0  # bytes in it
        self.missing = missing

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return len(self) > 0

    @property
    def available(self) -> int:
        return self._size - self.missing

    def room(self) -> memoryview:
        """Return the buffer for the next bytes, at least for some of them."""
        if self._filled == len(self._block):
            self._block = _block(self.available)
            self._parts.append(self._block)
            self._filled = 0
        return memoryview(self._block)[self._filled : self._filled + self.missing]

    def is_room(self, data: bytes | bytearray | memoryview) -> bool:
        """Return True if these bytes were received into `room`."""
        return isinstance(data, memoryview) and data.obj is self._block

    def advance(self, size: int) -> None:
        """Note that `size` bytes were received."""
        self._filled += size
        self.missing -= size

    def copy(self, data: bytes | bytearray | memoryview) -> int:
        """Copy the next bytes of the stream. Return how many belong to this frame."""
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
        """Return the part that was given as the beginning, or its first 64 KiB."""
        first_bytes = b""
        for part in self._parts[: self._given]:
            first_bytes += bytes(memoryview(part)[: _EARNEST_BYTES - len(first_bytes)])
        return first_bytes

    def last(self, size: int) -> bytes:
        """Return the last bytes, as far as they are in the last block."""
        return bytes(self._block[max(self._filled - size, 0) : self._filled])

    def join(self) -> bytes:
        """Return the whole frame; this may be repeated."""
        frame = self.cut(0, self._size)
        self._parts = [frame]
        self._given = 1
        return frame

    def join_in_slices(self) -> Slices[bytes]:
        """Return the whole frame, once. Copied blocks are reused."""
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
        """Return the bytes between two positions."""
        parts: list[memoryview] = []
        position = 0
        for part in self._parts:
            parts.append(memoryview(part)[max(start - position, 0) : max(end - position, 0)])
            position += len(part)
        content = b"".join(parts)
        for part in self._parts[self._given :]:
            _keep(part)
        self._parts = []
        return content


def _keep(part: bytes | bytearray | memoryview) -> None:
    if isinstance(part, bytearray) and len(part) == _BLOCK_BYTES and len(_spare_blocks) < _SPARE_BLOCKS:
        _spare_blocks.append(part)


def _block(received: int) -> bytearray:
    """Return a block for a frame of which `received` bytes have come: a spare one, or a new one that is no larger."""
    try:
        return _spare_blocks.pop()
    except IndexError:  # not checked before: clusters may run in several threads
        if not _is_heap_shown:
            _is_heap_shown.append(True)
            bytes(_HEAP_BYTES)
        return bytearray(min(max(received, _EARNEST_BYTES), _BLOCK_BYTES))
