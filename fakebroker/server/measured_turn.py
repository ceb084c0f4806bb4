"""A turn of the event loop, measured: so much time goes to requests, then sockets and timers are looked at.

Theory   What doors take is added up, however many of them there are in a turn of the loop. When it is a millisecond,
         nothing more is handled until the loop has gone round (`begin`). So who is idle most of the time costs the loop
         nothing, and who is busy lets everybody else in once a millisecond.
Units    nanoseconds.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import Final

from fakebroker.network.turn import Turn

_TURN_NS: Final = 1_000_000


class MeasuredTurn(Turn):
    """A millisecond of work."""

    def __init__(self) -> None:
        super().__init__()
        self._spent_ns = 0
        self._entered_ns = 0

    def begin(self) -> None:
        """The loop has gone round."""
        self._spent_ns = 0

    def enter(self) -> None:
        self._entered_ns = monotonic_ns()

    def is_over(self) -> bool:
        return self._spent_ns + monotonic_ns() - self._entered_ns >= _TURN_NS

    def handled(self, requests: int, size: int) -> None:
        """What it took is measured."""

    def leave(self) -> None:
        self._spent_ns += monotonic_ns() - self._entered_ns
