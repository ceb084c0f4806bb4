"""An operation that waits for its condition or for its timeout, and completes exactly once.

Theory   `force_complete` is the only gate: whoever passes it first cancels the timer and calls `on_complete`;
         everybody else is told False. Expiry is: force_complete, and only if that won, `on_expiration`.
         `try_complete` checks the condition and passes the gate itself; it is called many times and must be cheap.
Units    delay_ms is monotonic milliseconds.
Source   server-common/.../purgatory/DelayedOperation.java @ 4.0.
Differs  One thread: the lock and the `safe_` variants are gone, the order of the steps is not.
"""

from __future__ import annotations

from timingwheel import TimerTask
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation(TimerTask):
    """Subclasses define `try_complete`, `on_complete` and `on_expiration`. `has_expired`: it was, or is being,
    completed because its time is over."""

    __slots__ = ("_completed", "has_expired")

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self._completed = False
        self.has_expired = False

    def is_completed(self) -> bool:
        return self._completed

    def force_complete(self) -> bool:
        """Complete if nobody did before. True for the one call that did it."""
        if self._completed:
            return False
        self._completed = True
        self.cancel()
        self.on_complete()
        return True

    def run(self) -> None:
        """The timer's call: the delay is over."""
        self.has_expired = not self._completed
        if self.force_complete():
            self.on_expiration()

    def try_complete(self) -> bool:
        """If the condition holds, call `force_complete` and return what it says; else False."""
        raise NotImplementedError

    def try_complete_for(self, key: object) -> bool:
        """The same after an event on one of its keys: who has very many may look there alone."""
        return self.try_complete()

    def on_complete(self) -> None:
        """Called once, on completion or expiry."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Called after `on_complete`, only if the timeout won."""
        raise NotImplementedError
