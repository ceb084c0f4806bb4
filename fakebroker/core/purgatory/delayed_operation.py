"""An operation that is parked until its condition holds or its timeout is over, and completes exactly once.

Theory   `force_complete` is the only gate. The first call cancels the timer, calls `on_complete` and returns True;
         later calls return False. Expiry calls `force_complete`, and then `on_expiration` if that returned True.
         `try_complete` checks the condition and passes the gate itself. It is called many times and must be cheap.
Units    delay_ms is monotonic milliseconds.
Source   server-common/.../purgatory/DelayedOperation.java @ 4.0.
Differs  One thread: the lock and the `safe_` variants are gone, the order of the steps is not.
"""

from __future__ import annotations

from timingwheel import TimerTask
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation(TimerTask):
    """A delayed operation. Subclasses define `try_complete`, `on_complete` and `on_expiration`. `has_expired`: the
    timeout completed it, or is completing it."""

    __slots__ = ("_completed", "has_expired")

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self._completed = False
        self.has_expired = False

    def is_completed(self) -> bool:
        return self._completed

    def force_complete(self) -> bool:
        """Complete the operation unless it is completed already. Return True for the one call that completes it."""
        if self._completed:
            return False
        self._completed = True
        self.cancel()
        self.on_complete()
        return True

    def run(self) -> None:
        """Expire the operation. The timer calls this at the end of the delay."""
        self.has_expired = not self._completed
        if self.force_complete():
            self.on_expiration()

    def try_complete(self) -> bool:
        """Call `force_complete` and return its result if the condition holds, else return False."""
        raise NotImplementedError

    def try_complete_for(self, key: object) -> bool:
        """Do the work of `try_complete` after an event on `key`. An operation with very many keys may check that key
        alone."""
        return self.try_complete()

    def on_complete(self) -> None:
        """Deliver the result. Called once, on completion or expiry."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """React to the expiry. Called after `on_complete`, only if the timeout won."""
        raise NotImplementedError
