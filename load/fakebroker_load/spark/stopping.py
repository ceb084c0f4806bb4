"""A run that is told to stop (SIGTERM, SIGINT), or lasts longer than it may, takes back what it did and says so.

Theory   The signal's handler raises in the main thread, wherever that is: `with` blocks take back topics, faults and
         folders on the way out. It is a KeyboardInterrupt because py4j turns every other exception of ours into one
         of its own. The first signal begins the way out; SIGTERM and the limit say nothing more then, and a second
         Ctrl-C breaks that off too.
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
    """On its way out of the block."""


@contextmanager
def stoppable(max_time_s: float | None = None, remains: Callable[[], str] = str) -> Iterator[None]:
    """For the time of the block, in the main thread; elsewhere signals are not ours. Raises RunStopped, with a sentence
    of `remains` on what there is behind the block."""
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
        # What was in the middle of its work when the signal came may fail of it, in its own words.
        raise RunStopped(f"{reason[0]}; what it had set up is taken back. {remains()}".rstrip()) from error
    finally:
        if max_time_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals wait until the block, which is short, is over."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
