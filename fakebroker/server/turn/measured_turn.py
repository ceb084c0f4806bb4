"""A turn of the event loop with a time limit for requests; then sockets and timers have their turn.

Theory   The time of all doors in a turn of the loop is added up. After a millisecond no more requests are handled until
         the loop has gone round (`begin`). So idle clients cost the loop nothing, and busy clients let all others in
         once a millisecond. The clock is read every few requests: a small request takes the compiled broker 3 us, of
         which a read of the clock would be a twentieth.
Units    nanoseconds.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import Final

from fakebroker.network.turn import Turn

_TURN_NS: Final = 1_000_000
_LOOK_EVERY: Final = 8  # requests between two reads of the clock
_BYTES_OF_REQUEST: Final = 2_048  # bytes of a large request that take as long as a small request


class MeasuredTurn(Turn):
    """A turn with a millisecond of work."""

    def __init__(self) -> None:
        super().__init__()
        self._spent_ns = 0
        self._entered_ns = 0
        self._unlooked = 0
        self._is_over = False

    def begin(self) -> None:
        """Begin a turn of the loop."""
        self._spent_ns = 0

    def enter(self) -> None:
        self._entered_ns = monotonic_ns()
        self._unlooked = 0
        self._is_over = self._spent_ns >= _TURN_NS

    def is_over(self) -> bool:
        return self._is_over

    def handled(self, requests: int, size: int) -> None:
        self._unlooked += requests + size // _BYTES_OF_REQUEST
        if self._unlooked >= _LOOK_EVERY:
            self._unlooked = 0
            self._is_over = self._spent_ns + monotonic_ns() - self._entered_ns >= _TURN_NS

    def leave(self) -> None:
        self._spent_ns += monotonic_ns() - self._entered_ns
