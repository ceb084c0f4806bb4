"""Cut a stream of bytes into frames: a 4-byte big-endian length, then that many bytes.

Units    lengths and limits are bytes; a length excludes its own four bytes.
Source   clients/src/main/java/org/apache/kafka/common/network/NetworkReceive.java
"""

from __future__ import annotations

from struct import Struct

from fakebroker.protocol.errors import ProtocolError

__all__ = ["DEFAULT_MAX_REQUEST_BYTES", "FrameDecoder", "encode_frame"]

DEFAULT_MAX_REQUEST_BYTES = 104_857_600  # socket.request.max.bytes

_LENGTH = Struct(">i")

# Consumed bytes are dropped once they are most of the buffer and at least this many: each byte is moved at most once
# more, and a decoder never holds on to more than it has to.
_COMPACT_BYTES = 65_536

# Below this size the plain slice, which copies twice, is faster than the detour through a memoryview.
_COPY_ONCE_BYTES = 2_048


class FrameDecoder:
    """Feed it what the socket gave, ask it for frames, one at a time.

    A bad length is reported when that frame's turn comes, not before: the frames ahead of it are still good.
    """

    __slots__ = ("_buffer", "_max_request_bytes", "_position")

    def __init__(self, max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES) -> None:
        self._buffer = bytearray()
        self._position = 0
        self._max_request_bytes = max_request_bytes

    @property
    def buffered(self) -> int:
        """Bytes fed and not yet handed out."""
        return len(self._buffer) - self._position

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes of the stream."""
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """The next whole frame without its length, or None until more bytes come.

        Raises ProtocolError for a length that is negative or above the limit, again on every later call.
        """
        buffer = self._buffer
        start = self._position + 4
        if len(buffer) < start:
            return None
        (size,) = _LENGTH.unpack_from(buffer, start - 4)
        if size < 0:
            raise ProtocolError(f"The frame length {size} is negative.")
        if size > self._max_request_bytes:
            raise ProtocolError(f"The frame length {size} is above the limit of {self._max_request_bytes} bytes.")
        end: int = start + size
        if len(buffer) < end:
            return None
        if size < _COPY_ONCE_BYTES:
            frame = bytes(buffer[start:end])
        else:
            with memoryview(buffer) as view:
                frame = bytes(view[start:end])
        if end == len(buffer):
            buffer.clear()
            end = 0
        elif end >= _COMPACT_BYTES and end * 2 >= len(buffer):
            del buffer[:end]
            end = 0
        self._position = end
        return frame


def encode_frame(payload: bytes) -> bytes:
    """A payload with its length in front."""
    return _LENGTH.pack(len(payload)) + payload
