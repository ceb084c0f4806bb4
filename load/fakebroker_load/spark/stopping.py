"""A run that is stopped (SIGTERM, SIGINT) or exceeds its time limit: it undoes its setup and reports.

Theory   The signal's handler raises in the main thread, wherever that is. `with` blocks then undo topics, faults and
         folders. The exception is a KeyboardInterrupt, because py4j replaces every other exception by its own. After
         the first signal, SIGTERM and the time limit are ignored. A second Ctrl-C breaks off the undoing too.
Errors   RunStopped.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGALRM") if hasattr(signal, name))


class RunStopped(Exception):
    """The run was stopped; the message is for the user."""


class _Stop(KeyboardInterrupt):
    """The run leaves the block."""


@contextmanager
def stoppable(max_time_s: float | None = None, remains: Callable[[], str] = str) -> Iterator[None]:
    """Handle signals during the block, in the main thread only. Raises RunStopped, with the sentence that `remains`
    returns after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reason: list[str] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if reason:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        name = signal.Signals(number).name
        reason.append(f"--max-time {max_time_s:g} s is over" if name == "SIGALRM" else f"it was stopped by {name}")
        raise _Stop

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    if max_time_s is not None:
        signal.setitimer(signal.ITIMER_REAL, max_time_s)
    try:
        yield
    except KeyboardInterrupt as error:
        if not isinstance(error, _Stop):
            raise
        raise RunStopped(f"{reason[0]}; what it had set up is taken back. {remains()}".rstrip()) from None
    except Exception as error:
        if not reason:
            raise
        # Work that the signal interrupts may fail with an error of its own.
        raise RunStopped(f"{reason[0]}; what it had set up is taken back. {remains()}".rstrip()) from error
    finally:
        if max_time_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay signals until the block ends, which is short."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
