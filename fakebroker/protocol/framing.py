"""A decoder that cuts a stream of bytes into frames: a 4-byte big-endian length, then that many bytes.

Units    lengths and limits are bytes; a length excludes its own four bytes.
Source   clients/src/main/java/org/apache/kafka/common/network/NetworkReceive.java
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.large_frame import LargeFrame, is_worth_it

__all__ = ["DEFAULT_MAX_REQUEST_BYTES", "LENGTH_BYTES", "FrameDecoder", "encode_frame"]

DEFAULT_MAX_REQUEST_BYTES = 104_857_600  # socket.request.max.bytes

LENGTH_BYTES: Final = 4  # of a frame's length prefix, which the length does not count
_LENGTH = Struct(">i")

_UNKNOWN: Final = -1

_MERGE_BYTES: Final = 65_536  # Smaller pieces are joined, so that single bytes do not become a list of millions.
_COPY_ONCE_BYTES: Final = 2_048  # Below it a plain slice is faster than a memoryview.
# After this much of a piece was returned, the rest is moved once it is an eighth of that. So a decoder holds little
# more memory than needed, and moves few bytes.
_COMPACT_BYTES: Final = 65_536


class FrameDecoder:
    """A decoder of frames: feed it the bytes of a socket, and ask it for one frame at a time.

    Fed bytes are kept as they are, and a frame is cut out at its turn. So each byte is copied once; small pieces of a
    large frame twice. A bad length is reported at the turn of that frame, not before: the frames ahead of it are still
    good.

    The missing bytes of a large frame may be received in place: put them where `get_buffer` says, then feed that part.
    The result is the same, without a copy.
    """

    __slots__ = ("_data", "_large", "_later", "_later_bytes", "_max_request_bytes", "_position", "_size")

    def __init__(self, max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES) -> None:
        self._data = b""  # the current piece, returned up to the position
        self._position = 0
        self._later: list[bytes | bytearray] = []  # the pieces behind it
        self._later_bytes = 0
        self._size = _UNKNOWN  # of the next frame, once its length is read
        self._large: LargeFrame | None = None  # if set, all other bytes are behind it
        self._max_request_bytes = max_request_bytes

    def set_limit(self, max_request_bytes: int) -> None:
        """Set the limit for the next frames, also for one with a length that is known already."""
        self._max_request_bytes = max_request_bytes

    @property
    def buffered(self) -> int:
        """Return the number of bytes that were fed and not yet returned."""
        length_bytes = 0 if self._size == _UNKNOWN else 4
        in_large = 0 if self._large is None else self._large.available
        return len(self._data) - self._position + self._later_bytes + length_bytes + in_large

    @property
    def claimed(self) -> int:
        """Return the length that the next frame claims, valid or not, as an unsigned number; -1 while it is unknown."""
        return self._size

    @property
    def behind_next(self) -> int:
        """Return the number of bytes behind the next frame."""
        size = self.next_size()
        return 0 if size < 0 or self._large is not None else max(self.buffered - LENGTH_BYTES - size, 0)

    def next_size(self) -> int:
        """Return the size of the next frame without its length; -1 while that is unknown, or if it is invalid."""
        if self._large is not None:
            return len(self._large)
        if self._size == _UNKNOWN and not self._read_length():
            return -1
        return self._size if self._size <= self._max_request_bytes else -1

    def has_next(self) -> bool:
        """Return True if `next_in_parts` has a result: a whole frame, or an error for a bad length."""
        if self._large is not None:
            return self._large.missing == 0
        if self._size == _UNKNOWN and not self._read_length():
            return False
        size = self._size
        return size > self._max_request_bytes or size <= len(self._data) - self._position + self._later_bytes

    def get_buffer(self) -> memoryview | None:
        """Return the buffer for the next bytes of the stream; None if any buffer will do."""
        large = self._large
        return large.room() if large is not None and large.missing else None

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the stream."""
        large = self._large
        if large is not None and large.missing:
            if large.is_room(data):
                large.advance(len(data))
                return
            taken = large.copy(data)
            if taken == len(data):
                return
            data = data[taken:]
        if self._position == len(self._data):  # then no bytes are behind it
            self._data = bytes(data)
            self._position = 0
            return
        self._later_bytes += len(data)
        if len(data) < _MERGE_BYTES:
            if self._later:
                last = self._later[-1]
                if isinstance(last, bytearray) and len(last) < _MERGE_BYTES:
                    last += data
                    return
            self._later.append(bytearray(data))
        else:
            self._later.append(bytes(data))

    def next_frame(self) -> bytes | None:
        """Return the next whole frame without its length, or None until more bytes come.

        Raises ProtocolError for a length that is negative or above the limit, again on every later call.
        """
        frame = self.next_in_parts()
        return frame.join() if isinstance(frame, LargeFrame) else frame

    def next_in_parts(self) -> bytes | LargeFrame | None:
        """Return the next frame, a large one without joining it: the caller takes out what it needs."""
        if self._large is not None:
            return self._take_large(self._large)
        if self._size == _UNKNOWN and not self._read_length():
            return None
        size = self._size
        if size > self._max_request_bytes:
            if size >> 31:
                raise ProtocolError(f"The frame length {size - (1 << 32)} is negative.")
            raise ProtocolError(f"The frame length {size} is above the limit of {self._max_request_bytes} bytes.")
        available = len(self._data) - self._position + self._later_bytes
        if available < size:
            if is_worth_it(available, size - available):
                self._begin_large(size - available)
            return None
        self._size = _UNKNOWN
        return self._cut(size)

    def _begin_large(self, missing: int) -> None:
        """Move all bytes into a large frame."""
        self._large = LargeFrame([memoryview(self._data)[self._position :], *self._later], missing)
        self._data = b""
        self._position = 0
        self._later = []
        self._later_bytes = 0

    def _take_large(self, large: LargeFrame) -> LargeFrame | None:
        if large.missing:
            return None
        self._large = None
        self._size = _UNKNOWN
        return large

    def _read_length(self) -> bool:
        data, start = self._data, self._position
        if start + 4 <= len(data):
            self._move_to(start + 4)
        elif len(data) - start + self._later_bytes < 4:
            return False
        else:
            data, start = self._cut(4), 0
        self._size = data[start] << 24 | data[start + 1] << 16 | data[start + 2] << 8 | data[start + 3]
        return True

    def _cut(self, size: int) -> bytes:
        """Cut the next `size` bytes, which must be there."""
        data, start = self._data, self._position
        end = start + size
        if end <= len(data):
            frame = data[start:end] if size < _COPY_ONCE_BYTES else bytes(memoryview(data)[start:end])
            self._move_to(end)
            return frame
        parts: list[bytes | bytearray | memoryview] = [memoryview(data)[start:]]
        missing = size - (len(data) - start)
        while missing:
            self._move_to(len(self._data))
            piece = self._data
            if len(piece) > missing:
                parts.append(memoryview(piece)[:missing])
                self._move_to(missing)
                break
            parts.append(piece)
            missing -= len(piece)
            self._position = len(piece)
        if self._position == len(self._data):
            self._move_to(self._position)
        return b"".join(parts)

    def _move_to(self, position: int) -> None:
        """Release all bytes before the position. At the end of a piece the next one becomes the current one."""
        left = len(self._data) - position
        if left == 0:
            self._position = 0
            if self._later:
                self._data = bytes(self._later.pop(0))
                self._later_bytes -= len(self._data)
            else:
                self._data = b""
        elif position >= _COMPACT_BYTES and left <= position >> 3:
            self._data = self._data[position:]
            self._position = 0
        else:
            self._position = position


def encode_frame(payload: bytes) -> bytes:
    """Return a payload with its length prefix."""
    return _LENGTH.pack(len(payload)) + payload
