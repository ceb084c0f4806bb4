"""A reader of messages by their tables: of any API and version, of untrusted bytes.

Theory   It reads as Kafka's generated classes do. A count is compared with the bytes left before anything is made.
         A negative length is null, and a struct with a negative marker. Varints drop the bits above the 32nd. True is
         anything but zero. Unknown tagged fields are skipped, and the size of a known one is ignored.
         Elements of arrays and tagged fields are counted when their number is read, before any of them is made.
Units    offsets are bytes, from the start of the frame.
Source   clients/src/main/java/org/apache/kafka/common/protocol/Readable.java, and the readers that
         generator/src/main/java/org/apache/kafka/message/MessageDataGenerator.java writes; KIP-482
Differs  A negative number of tagged fields is an error; for Kafka it is none. Text of 32 KiB or more is an error after
         its repair; Kafka reads it, but cannot write a response with it. A section has at most a thousand known tagged
         fields. As in kio, an id of zeros is None, and no tagged field is null.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from struct import unpack_from
from sys import maxsize
from typing import Final, final
from uuid import UUID

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from fakebroker.protocol.codec.tables import (
    ARRAY,
    BYTES,
    DATETIME_I64,
    ERROR_CODE,
    INT32,
    NUMBERS,
    STRING,
    STRUCT,
    TIMEDELTA_I32,
    TIMEDELTA_I64,
    UUID_,
    Field,
    Struct,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits

RUN = 128  # elements, nested ones included; a part with more than twice as many is read in slices
LARGE_BYTES = 524_288  # a part with more is read in slices, however few elements it has
_RUN_BYTES: Final = 65_536
_LARGEST_TEXT: Final = 0x7FFF
ENDS_WITHIN: Final = "the bytes end within it"
_MOST_KNOWN: Final = 1_000
_INT32_MIN: Final = -(1 << 31)
_INT32_MAX: Final = (1 << 31) - 1
_NO_ID: Final = bytes(16)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TIME: Final = _EPOCH - timedelta(milliseconds=1)
_ERROR_CODES: Final[dict[int, ErrorCode]] = {int(code): code for code in ErrorCode}


class TooMany(Exception):
    """A part has more elements or bytes than are read at once."""


@final
class Decoder:
    """A frame that is read from an offset on. `repairs` puts U+FFFD in place of what is no UTF-8."""

    __slots__ = (
        "_limit", "_max_elements", "_repairs", "_turn_at", "_until", "at", "elements", "frame", "turn_elements",
    )  # fmt: skip

    def __init__(self, frame: bytes, at: int, repairs: bool, max_elements: int = maxsize) -> None:
        self.frame = frame
        self.at = at
        self._repairs = repairs
        self.elements = 0
        self._max_elements = max_elements
        self._limit = maxsize  # of elements, for what is read at once
        self._until = maxsize  # of offsets
        self.turn_elements = 0  # when the slice began
        self._turn_at = at

    def struct(self, struct: Struct) -> object:
        """Read a message or a nested struct. Raises ProtocolError, IndexError or struct.error where the bytes end, and
        what Python raises for values that it has not."""
        made: object = struct.new(struct.kind)
        flexible = struct.flexible
        for field in struct.reading:
            kind = field.kind
            if kind == NUMBERS:
                at = self.at
                self.at = at + field.smallest
                for one, value in zip(field.numbers, field.unpack(self.frame, at)):  # noqa: B905  # as many
                    one.set(made, value)
            elif kind == STRING:
                field.set(made, self._text(field, flexible))
            else:
                field.set(made, self.field(field, flexible))
        if flexible:
            for field in struct.tagged:
                field.set(made, field.default)
            if self.frame[self.at] == 0:
                self.at += 1
            else:
                known = 0
                for _ in range(self.section()):
                    tagged = self.tag(struct)
                    if tagged is not None:
                        known += 1
                        tagged.set(made, self.field(tagged, True))
                check_known(known)
        return made if struct.finish is None else struct.finish(made)

    def field(self, field: Field, flexible: bool) -> object:
        kind = field.kind
        if kind == STRING:
            return self._text(field, flexible)
        if kind == INT32:
            at = self.at
            self.at += 4
            return read_i32_be(self.frame, at)
        if kind == ARRAY:
            count = self.array(field, flexible)
            if count < 0:
                return None
            element = field.element
            assert element is not None
            if element.kind == INT32:
                at = self.at
                self.at += 4 * count
                return unpack_from(f">{count}i", self.frame, at)
            items: list[object] = []
            for _ in range(count):
                if self.at > self._until and items:
                    raise TooMany
                items.append(self.element(element, flexible))
            return tuple(items)
        if kind == BYTES:
            size = self._size(flexible)
            if size < 0:
                self._null(field)
                return None
            return self._take(size)
        if kind == STRUCT:
            assert field.struct is not None
            return self.struct(field.struct) if self.is_there(field) else None
        return self._fixed(field)

    def element(self, element: Field, flexible: bool) -> object:
        """Read an element of an array."""
        return self.field(element, flexible) if element.struct is None else self.struct(element.struct)

    def _fixed(self, field: Field) -> object:
        """Read a value of a fixed size."""
        kind = field.kind
        frame, at = self.frame, self.at
        if kind == TIMEDELTA_I32:
            self.at = at + 4
            ms: int = read_i32_be(frame, at)
            return timedelta(milliseconds=ms)
        if kind == ERROR_CODE:
            self.at = at + 2
            number: int = read_i16_be(frame, at)
            code = _ERROR_CODES.get(number)
            if code is None:
                raise ProtocolError(f"{number} is no error code")
            return code
        if kind == UUID_:
            topic_id = self._take(16)
            return None if topic_id == _NO_ID and field.nullable else UUID(bytes=topic_id)
        if kind == TIMEDELTA_I64:
            self.at = at + 8
            ms = read_i64_be(frame, at)
            return timedelta(milliseconds=ms)
        if kind == DATETIME_I64:
            self.at = at + 8
            return _time(read_i64_be(frame, at), field.nullable)
        self.at = at + field.smallest
        return field.unpack(frame, at)[0]

    def _text(self, field: Field, flexible: bool) -> str | None:
        frame, start = self.frame, self.at
        if not flexible:
            size: int = read_i16_be(frame, start)
            start += 2
        elif 0 < frame[start] < 128:
            size = frame[start] - 1
            start += 1
        else:
            size = self._size(flexible)
            start = self.at
            if size > _LARGEST_TEXT:
                raise ProtocolError(f"a text has {size} bytes, and may have {_LARGEST_TEXT}")
        if size < 0:
            self.at = start
            self._null(field)
            return None
        end = start + size
        if end > len(frame):
            raise ProtocolError(ENDS_WITHIN)
        self.at = end
        data = frame[start:end]
        try:
            return data.decode()
        except UnicodeDecodeError:
            if not self._repairs:
                raise
            text = data.decode(errors="replace")
            if len(text.encode()) > _LARGEST_TEXT:
                raise ProtocolError("a text is no UTF-8") from None
            return text

    def _take(self, size: int) -> bytes:
        start = self.at
        end = start + size
        if end > len(self.frame):
            raise ProtocolError(ENDS_WITHIN)
        self.at = end
        return self.frame[start:end]

    def _null(self, field: Field) -> None:
        if not field.nullable:
            raise ProtocolError(f"{field.name or 'an element'} must not be null")

    def _size(self, flexible: bool) -> int:
        """Read a length of bytes or a count; negative is null."""
        frame, at = self.frame, self.at
        if not flexible:
            self.at = at + 4
            return read_i32_be(frame, at)
        byte = frame[at]
        if byte < 128:
            self.at = at + 1
            return byte - 1
        raw, self.at = decode_kept_bits(frame, at)
        if raw < 0:  # as a Java int: the smallest number minus one is the largest
            return _INT32_MAX if raw == _INT32_MIN else -1
        return raw - 1

    def array(self, field: Field, flexible: bool) -> int:
        """Read the number of elements, and count them; negative is null."""
        count = self._size(flexible)
        if count < 0:
            if not field.nullable:
                raise ProtocolError("an array must not be null")
            return -1
        element = field.element
        assert element is not None
        if count * element.smallest > len(self.frame) - self.at:
            raise ProtocolError(
                f"an array claims {count} elements, and only {len(self.frame) - self.at} bytes are left"
            )
        self._count(count)
        return count

    def _count(self, count: int) -> None:
        self.elements += count
        if self.elements > self._max_elements:
            raise ProtocolError(
                f"it has {self.elements} elements or more (of arrays, and tagged fields),"
                f" and one request may have {self._max_elements}"
            )
        if self.elements > self._limit:
            raise TooMany

    def is_there(self, field: Field) -> bool:
        """Read the marker of a struct, if it has one."""
        if not field.nullable:
            return True
        marker = self.frame[self.at]
        self.at += 1
        return marker < 128

    def section(self) -> int:
        """Read the number of tagged fields, and count them."""
        count, self.at = decode_kept_bits(self.frame, self.at)
        left = len(self.frame) - self.at
        if not 0 <= count * 2 <= left:
            raise ProtocolError(f"a section claims {count} tagged fields, and only {left} bytes are left")
        self._count(count)
        return count

    def tag(self, struct: Struct) -> Field | None:
        """Read the head of a tagged field. Skip the field, and return None, if it is unknown."""
        tag, at = decode_kept_bits(self.frame, self.at)
        size, self.at = decode_kept_bits(self.frame, at)
        for field in struct.tagged:
            if field.tag == tag:
                return field
        left = len(self.frame) - self.at
        if not 0 <= size <= left:
            raise ProtocolError(f"a tagged field claims {size} bytes, {size - left} more than there are")
        self.at += size
        return None

    def begin(self) -> None:
        """Limit what is read at once from here on."""
        self._limit = self.elements + 2 * RUN
        self._until = self.at + LARGE_BYTES

    def again(self, start: int, elements: int) -> None:
        """Go back, to read a part in slices."""
        self.at = start
        self.elements = elements
        self._limit = maxsize
        self._until = maxsize

    def is_over(self, walked: int) -> bool:
        """Return True if the slice is over, after so many elements of an array that is read in slices."""
        if walked + self.elements - self.turn_elements < RUN and self.at - self._turn_at < _RUN_BYTES:
            return False
        self.turn_elements = self.elements
        self._turn_at = self.at
        return True


def check_known(known: int) -> None:
    if known > _MOST_KNOWN:
        raise ProtocolError(f"a section has {known} tagged fields that are known, most of them again")


def _time(ms: int, nullable: bool) -> datetime | None:
    if ms == -1:  # kio refuses it where it is not null, but Kafka sends it in errors of CreateDelegationToken
        return None if nullable else _NO_TIME
    if ms < 0:
        raise ProtocolError("a time is negative")
    return _EPOCH + timedelta(milliseconds=ms)
