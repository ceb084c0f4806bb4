"""The sender thread as its callers know it: it waits between two turns, they wake it, and it runs until closed.

Theory   There is no thread: `poll_until_ms` is the time of the next turn, and the producer runs the turn.

         A wait that nothing cuts short ends late: Linux lets `select` take 0.1 % longer, 100 ms at most. So Kafka's
         clock is nearly always past a strict limit (`>`), even if the wait was exactly as long. Here a wait that ends
         at such a limit is late by the same time (`oversleep`). Otherwise the limit would not be exceeded at its
         millisecond, and the next wait could be as long again.
Units    monotonic milliseconds.
Source   Sender.{wakeup,isRunning,initiateClose} and Selector.select, as KafkaProducer of 2.0 and 4.3 uses them.
"""

from __future__ import annotations

from typing import Final, final

_LATEST_MS: Final = 100  # MAX_SLACK of Linux's fs/select.c


@final
class SenderThread:
    """The wait and the life of the sender. `is_woken`: the turn to come was not waited for. `poll_until_ms` is None
    when the thread has ended (`is_closed`). Until `close_until_ms` remaining records may be sent."""

    def __init__(self, now_ms: int) -> None:
        self.poll_until_ms: int | None = now_ms
        self.close_until_ms: int | None = None
        self.is_woken = False
        self.is_closed = False
        self._poll_since_ms = now_ms

    @property
    def is_running(self) -> bool:
        """True until the producer is being closed."""
        return self.close_until_ms is None

    def wake(self, now_ms: int) -> None:
        """Run the sender at once, instead of at the end of its wait."""
        if not self.is_closed:
            self.is_woken = True
            self.poll_until_ms = now_ms

    def wait(self, now_ms: int, until_ms: int) -> None:
        self._poll_since_ms = now_ms
        self.poll_until_ms = until_ms

    def oversleep(self, now_ms: int) -> None:
        """Prolong a wait that has ended, as `select` would have."""
        self.poll_until_ms = now_ms + _lateness_ms(now_ms - self._poll_since_ms)

    def initiate_close(self, now_ms: int, timeout_ms: int) -> None:
        self.close_until_ms = now_ms + timeout_ms

    def has_to_end(self, now_ms: int) -> bool:
        """Return True if the time to close is over, and the thread has not ended."""
        return self.close_until_ms is not None and self.close_until_ms <= now_ms and not self.is_closed

    def end(self) -> None:
        self.is_closed = True
        self.poll_until_ms = None


def _lateness_ms(wait_ms: int) -> int:
    """Return by how much a wait of this length is late, in whole milliseconds, rounded up to at least 1."""
    return max(1, min(wait_ms // 1_000, _LATEST_MS))
