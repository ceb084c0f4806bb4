"""The actions on the bytes of a response: values that act themselves.

Theory   A response is a frame: four bytes of length, the correlation id, and the body. Positions count from its first
         byte. `part` counts the parts of the response from 1 (the partitions of a Produce or Fetch, in the response's
         order): with it positions count from that part's error code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, TypeAlias

from fakebroker.core.faults import reading
from fakebroker.core.faults.acting import ChangeOfBytes, Waits, WrittenResponse
from fakebroker.core.faults.actions import FIN, MAX_MS, RESET, STAY, Action, RequestAtPoint
from fakebroker.core.faults.points import WITHIN_ANSWER

Frame: TypeAlias = bytes  # some actions have a member of that name
_MOST_BYTES: Final = 2**31 - 1
_START: Final = Struct(">iI")
_MASK: Final = 0xFFFF_FFFF


@dataclass(frozen=True)
class ByteAction(Action):
    """A change of the bytes of a response. `copies` is how often they are written in addition."""

    usual_point = WITHIN_ANSWER
    copies: ClassVar[int] = 0

    def act(self, on: RequestAtPoint) -> Waits:
        on.change_bytes(self)
        return ()

    def changed(self, frame: Frame) -> Frame:
        """Return the frame to write in its place."""
        return frame

    def write(self, frame: Frame, to: WrittenResponse) -> Waits:
        """Write the frame. Only the last action of a fault is called."""
        to.write(frame, len(frame))
        return ()


def changed_by(actions: Sequence[ChangeOfBytes], frame: Frame) -> Frame:
    """Return the bytes to write in place of a frame."""
    for action in actions:
        frame = action.changed(frame)
    return frame * (1 + sum(action.copies for action in actions))


@dataclass(frozen=True)
class Cut(ByteAction):
    """Write so many bytes of the response, `then` close ("fin"), reset ("reset") or keep the connection open
    ("stay")."""

    verb = "cut"
    main = "bytes"
    ends = True
    bytes: int = 0
    part: int = 0
    then: str = FIN

    def __post_init__(self) -> None:
        reading.whole(self.bytes, "'bytes' of 'cut'", 0, _MOST_BYTES)
        reading.whole(self.part, "'part' of 'cut'", 0, _MOST_BYTES)
        if self.then not in (FIN, RESET, STAY):
            raise ValueError(f"'then' of 'cut' is 'fin', 'reset' or 'stay', not {reading.shown(self.then)}")

    def write(self, frame: Frame, to: WrittenResponse) -> Waits:
        end = self.bytes + (to.position_of_part(self.part) if self.part else 0)
        to.write(frame[:end], len(frame))
        to.end_with(self.then)
        return ()


@dataclass(frozen=True)
class Drip(ByteAction):
    """Write so many bytes at a time, every so many milliseconds, the first ones at once."""

    verb = "drip"
    main = "bytes"
    ends = True
    bytes: int = 1
    every_ms: int = 1

    def __post_init__(self) -> None:
        reading.whole(self.bytes, "'bytes' of 'drip'", 1, _MOST_BYTES)
        reading.whole(self.every_ms, "'every_ms' of 'drip'", 1, MAX_MS)

    def write(self, frame: Frame, to: WrittenResponse) -> Waits:
        for start in range(0, len(frame), self.bytes):
            if to.is_closed:
                return
            to.write(frame[start : start + self.bytes], None if start else len(frame))
            if start + self.bytes < len(frame):
                yield from to.wait(self.every_ms)


@dataclass(frozen=True)
class Coalesce(ByteAction):
    """Keep the response and write it together with the next ones of its connection, so many in all. It is written after
    so many milliseconds at the latest. The connection's next requests are handled meanwhile."""

    verb = "coalesce"
    main = "answers"
    ends = True
    answers: int = 2
    within_ms: int = 1_000

    def __post_init__(self) -> None:
        reading.whole(self.answers, "'answers' of 'coalesce'", 2, 1_000_000)
        reading.whole(self.within_ms, "'within_ms' of 'coalesce'", 1, MAX_MS)

    def act(self, on: RequestAtPoint) -> Waits:
        on.coalesce(self.answers, self.within_ms)
        return ()


@dataclass(frozen=True)
class WrongCorrelationId(ByteAction):
    """Send a response with a wrong correlation id, off by so much."""

    verb = "wrong_correlation_id"
    main = "by"
    by: int = 1

    def __post_init__(self) -> None:
        reading.whole(self.by, "'by' of 'wrong_correlation_id'", -_MOST_BYTES, _MOST_BYTES)
        if self.by == 0:
            raise ValueError("'by' of 'wrong_correlation_id' is 0, which changes nothing")

    def changed(self, frame: Frame) -> Frame:
        length, correlation_id = _START.unpack_from(frame)
        return _START.pack(length, (correlation_id + self.by) & _MASK) + frame[_START.size :]


@dataclass(frozen=True)
class Duplicate(ByteAction):
    """Write the response twice."""

    verb = "duplicate"
    copies = 1


@dataclass(frozen=True)
class Oversize(ByteAction):
    """Claim this length of the response."""

    verb = "oversize"
    main = "bytes"
    bytes: int = _MOST_BYTES

    def __post_init__(self) -> None:
        reading.whole(self.bytes, "'bytes' of 'oversize'", -_MOST_BYTES, _MOST_BYTES)

    def changed(self, frame: Frame) -> Frame:
        return self.bytes.to_bytes(4, "big", signed=True) + frame[4:]


@dataclass(frozen=True)
class CorruptBatch(ByteAction):
    """Flip a bit in the records of the parts of a Fetch that match: their checksum is wrong."""

    verb = "corrupt_batch"

    def act(self, on: RequestAtPoint) -> Waits:
        on.corrupt_batches()
        return ()
