"""A reader of the fields of records, from pieces of bytes with arbitrary boundaries.

Theory   The walk of record_walk.py, with a state between pieces: the next field, the bytes of a key or value that are
         still to skip, the headers to come. Only an incomplete varint is kept until the next piece, so a record may be
         arbitrarily large. A subclass handles whole records within a piece faster; incomplete ones are read field by
         field.
Units    positions and sizes are bytes.
Source   as record_walk.py. tests/protocol/test_record_stream_properties.py ties the two together.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64, mypyc_attr

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_walk import delta_at, end_error, size_at, size_error, varint_at

# The next field.
_SIZE: Final = 0
_TIMESTAMP: Final = 1
_OFFSET: Final = 2
_KEY: Final = 3
_VALUE: Final = 4
_HEADERS: Final = 5
_HEADER_KEY: Final = 6
_HEADER_VALUE: Final = 7
_END: Final = 8  # of a record with its last bytes still to skip


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordFields:
    """A reader that is fed the bytes of `count` records; `finish` says that there are no more. Both raise
    InvalidRecordError where Kafka's iterator does. A subclass gets the fields by overriding `on_...`.

    index          the next record, or the one that is being read
    is_stopped     a subclass needs no more: bytes fed from then on are ignored
    headers_left   of this record
    to_pass_by     how many of the next bytes are not needed: the caller may leave them out
    """

    def __init__(self, count: i64, check_sizes: bool, largest_size: i64) -> None:
        self.count = count
        self.check_sizes = check_sizes
        self.largest_size = largest_size
        self.index: i64 = 0
        self.is_stopped = False
        self.wants_bytes = False  # keys and values are passed to a subclass that writes them
        self._next: i64 = _SIZE
        self._skip: i64 = 0  # bytes to skip: of a key or a value, or the attributes
        self._is_content = False  # True for bytes of a key or a value
        self.headers_left: i64 = 0
        self._claimed_end: i64 = 0
        self._base: i64 = 0  # the position of the first byte of this piece, counted from the first byte of all
        self._cut = b""  # the beginning of a varint

    # Methods for a subclass.

    def whole_records(self, data: bytes, position: i64) -> i64:
        """Read the whole records that begin at `position`, and count them in `index`. Return the position behind them;
        the last value may extend beyond the end of `data`."""
        return position

    def whole_headers(self, data: bytes, position: i64) -> i64:
        """Skip headers that are whole within `data`, and count them in `headers_left`, except for the last one of the
        record. Return the position of the first header that is left."""
        end: i64 = len(data)
        left = self.headers_left
        start = position
        raw: i64
        try:
            while left > 1:
                raw = data[position]
                position += 1
                if raw > 127:
                    raw, position = varint_at(data, position - 1)
                if raw & 1:
                    raise self.header_key_error()
                position += raw >> 1
                raw = data[position]
                position += 1
                if raw > 127:
                    raw, position = varint_at(data, position - 1)
                if not raw & 1:
                    position += raw >> 1
                if position > end:
                    break
                left -= 1
                start = position
        except IndexError:
            pass
        self.headers_left = left
        return start

    def on_record(self) -> None:
        """Begin a record that is not whole in one piece."""

    def on_timestamp(self, delta_ms: int) -> None: ...

    def on_offset(self, delta: i64) -> None: ...

    def on_key(self, size: i64) -> None:
        """Receive the size of its key, -1 for null; the bytes follow, if they are wanted."""

    def on_value(self, size: i64) -> None: ...

    def on_headers(self, count: i64) -> None: ...

    def on_header_key(self, size: i64) -> None: ...

    def on_header_value(self, size: i64) -> None: ...

    def on_bytes(self, data: bytes) -> None:
        """Receive bytes of the key or the value that was announced last; all of them, in one or several calls."""

    def on_record_end(self) -> None: ...

    # Methods for the owner of the bytes.

    @property
    def to_pass_by(self) -> int:
        return 0 if self.wants_bytes else self._skip

    def pass_by(self, size: int) -> None:
        """Skip bytes without feeding them, at most `to_pass_by`."""
        self._skip -= size
        self._base += size

    def feed(self, piece: bytes) -> None:
        data = piece
        if self._cut:
            data = self._cut + piece
            self._cut = b""
        end: i64 = len(data)
        position: i64 = 0
        start: i64 = 0
        try:
            while not self.is_stopped:
                if self._skip:
                    position = self._pass_by_some(data, position, end)
                    if self._skip:
                        break
                if self._next == _END:
                    self._end_record()
                if self._next == _SIZE:
                    if self.index == self.count:
                        if position < end:
                            raise InvalidRecordError("Bytes are left behind the last record.")
                        break
                    position = self.whole_records(data, position)
                    if position > end:
                        self._skip = position - end
                        self._is_content = False
                        position = end
                    if self.index == self.count and position < end:
                        continue
                elif self._next == _HEADER_KEY:
                    position = self.whole_headers(data, position)
                if position == end or self.is_stopped:
                    break
                start = position
                position = self._field(data, position)
        except IndexError:
            self._cut = data[start:]
            position = start
        self._base += position

    def finish(self) -> None:
        if self.is_stopped:
            return
        if self._next == _END and not self._skip:
            self._end_record()
        read = self.index + 1 if self._next == _END else self.index
        if read < self.count or self._skip or self._cut:
            raise InvalidRecordError(f"The bytes end within record {min(int(read), int(self.count - 1))}.")

    # Reading field by field.

    def _pass_by_some(self, data: bytes, position: i64, end: i64) -> i64:
        size = self._skip
        if size > end - position:
            size = end - position
        if self.wants_bytes and self._is_content and size:
            self.on_bytes(data[position : position + size])
        self._skip -= size
        return position + size

    def _field(self, data: bytes, position: i64) -> i64:
        """Read one field. Return the position behind it, or behind its size if it has one. Raises IndexError if it is
        incomplete."""
        raw: i64
        size: i64
        field = self._next
        if field == _SIZE:
            raw, position = size_at(data, position)
            size = raw >> 1
            if raw & 1 or size > self.largest_size:
                raise size_error(self.index, self.largest_size)
            self._claimed_end = self._base + position + size
            self._skip = 1  # the attributes of a record are unused
            self._is_content = False
            self._next = _TIMESTAMP
            self.on_record()
        elif field == _TIMESTAMP:
            delta, position = delta_at(data, position)
            self._next = _OFFSET
            self.on_timestamp(delta)
        elif field == _HEADERS:
            raw, position = varint_at(data, position)
            if raw & 1:
                raise InvalidRecordError(f"Record {self.index} has a negative number of headers.")
            self.headers_left = raw >> 1
            self.on_headers(raw >> 1)
            self._next = _HEADER_KEY
            if not self.headers_left:
                self._check_end(position)
        else:
            raw, position = varint_at(data, position)
            if field == _OFFSET:
                self._next = _KEY
                self.on_offset((raw >> 1) ^ -(raw & 1))
                return position
            size = -1 if raw & 1 else raw >> 1
            if size > 0:
                self._skip = size
                self._is_content = True
            if field == _KEY:
                self._next = _VALUE
                self.on_key(size)
            elif field == _VALUE:
                self._next = _HEADERS
                self.on_value(size)
            elif field == _HEADER_KEY:
                if size < 0:
                    raise self.header_key_error()
                self._next = _HEADER_VALUE
                self.on_header_key(size)
            else:
                self._next = _HEADER_KEY
                self.on_header_value(size)
                self.headers_left -= 1
                if not self.headers_left:
                    self._check_end(position)
        return position

    def _check_end(self, position: i64) -> None:
        """Check the end of a record: everything is read except bytes of its last value."""
        end = self._base + position + self._skip
        if self.check_sizes and end != self._claimed_end:
            raise end_error(self.index, end, self._claimed_end)
        self._next = _END

    def _end_record(self) -> None:
        self._next = _SIZE
        self.on_record_end()
        self.index += 1

    def header_key_error(self) -> InvalidRecordError:
        return InvalidRecordError(f"Record {self.index} has a header key of negative size.")
