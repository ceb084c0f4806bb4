"""The actions on the bytes of a response: values.

Theory   A response is a frame: four bytes of length, the correlation id, and the body. Positions count from its first
         byte. `part` counts the parts of the response from 1 (the partitions of a Produce or Fetch, in the response's
         order): with it positions count from that part's error code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fakebroker.core.faults import reading
from fakebroker.core.faults.actions import FIN, MAX_MS, RESET, STAY, Action

_MOST_BYTES: Final = 2**31 - 1


@dataclass(frozen=True)
class Cut(Action):
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


@dataclass(frozen=True)
class Drip(Action):
    """Write so many bytes at a time, every so many milliseconds, the first ones at once."""

    verb = "drip"
    main = "bytes"
    ends = True
    bytes: int = 1
    every_ms: int = 1

    def __post_init__(self) -> None:
        reading.whole(self.bytes, "'bytes' of 'drip'", 1, _MOST_BYTES)
        reading.whole(self.every_ms, "'every_ms' of 'drip'", 1, MAX_MS)


@dataclass(frozen=True)
class Coalesce(Action):
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


@dataclass(frozen=True)
class WrongCorrelationId(Action):
    """Send a response with a wrong correlation id, off by so much."""

    verb = "wrong_correlation_id"
    main = "by"
    by: int = 1

    def __post_init__(self) -> None:
        reading.whole(self.by, "'by' of 'wrong_correlation_id'", -_MOST_BYTES, _MOST_BYTES)
        if self.by == 0:
            raise ValueError("'by' of 'wrong_correlation_id' is 0, which changes nothing")


@dataclass(frozen=True)
class Duplicate(Action):
    """Write the response twice."""

    verb = "duplicate"


@dataclass(frozen=True)
class Oversize(Action):
    """Claim this length of the response."""

    verb = "oversize"
    main = "bytes"
    bytes: int = _MOST_BYTES

    def __post_init__(self) -> None:
        reading.whole(self.bytes, "'bytes' of 'oversize'", -_MOST_BYTES, _MOST_BYTES)


@dataclass(frozen=True)
class CorruptBatch(Action):
    """Flip a bit in the records of the parts of a Fetch that match: their checksum is wrong."""

    verb = "corrupt_batch"
