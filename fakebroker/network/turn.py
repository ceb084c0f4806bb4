"""How much is handled before somebody else has a turn.

Theory   Whoever drives the cluster has more to do than to handle requests: sockets to read, timers to look after. So a
         door handles a bounded amount and leaves the rest for the next one (`Cluster.has_work`, `go_on`). Here that is
         counted, so that the same calls do the same. The server measures instead (server/turn/measured_turn.py).
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
    """So many requests, or so many bytes of them, for each door: who looks at nothing else between two doors need not
    say that it did."""

    def __init__(self) -> None:
        self._requests = 0
        self._bytes = 0

    def begin(self) -> None:
        """Whoever else has something to do has had a turn."""
        self._requests = 0
        self._bytes = 0

    def enter(self) -> None:
        """A door begins to work."""
        self.begin()

    def is_over(self) -> bool:
        """Whether nothing more is to be handled in this turn."""
        return self._requests >= _REQUESTS or self._bytes >= _BYTES

    def handled(self, requests: int, size: int) -> None:
        """So many requests were, or slices of one, or timers, of so many bytes in all."""
        self._requests += requests
        self._bytes += size

    def leave(self) -> None:
        """The door ends."""
