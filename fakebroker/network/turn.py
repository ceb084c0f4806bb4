"""The limit of the work in one turn.

Theory   The program that drives the cluster also reads sockets and runs timers. So a door does a bounded amount of work
         and leaves the rest for the next one (`Cluster.has_work`, `go_on`). Here the work is counted, so that the same
         calls give the same results. The server measures time instead (server/turn/measured_turn.py).
Source   Kafka's Processor takes one request of each connection in a poll of its selector; its request handlers are
         threads, which the system interrupts.
"""

from __future__ import annotations

from typing import Final

from timingwheel.mypyc import mypyc_attr

_REQUESTS: Final = 64  # or slices of long work
_BYTES: Final = 1_048_576


@mypyc_attr(allow_interpreted_subclasses=True)
class Turn:
    """A turn of some requests, or bytes of them, for each door. A driver that does nothing else between two doors need
    not call `begin`."""

    def __init__(self) -> None:
        self._requests = 0
        self._bytes = 0

    def begin(self) -> None:
        """Begin a turn, after other work of the driver."""
        self._requests = 0
        self._bytes = 0

    def enter(self) -> None:
        """Begin the work of a door."""
        self.begin()

    def is_over(self) -> bool:
        """Return True if nothing more is to be handled in this turn."""
        return self._requests >= _REQUESTS or self._bytes >= _BYTES

    def handled(self, requests: int, size: int) -> None:
        """Count requests (or slices of one, or timers) of `size` bytes in total."""
        self._requests += requests
        self._bytes += size

    def leave(self) -> None:
        """End the work of a door."""
