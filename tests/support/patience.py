"""How late something was, less what the machine is to blame for: the time for which it let our threads wait for a core.

A bound on lateness is a promise about the broker. On a machine with nothing else to do this subtracts next to nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic, process_time


def kept_waiting_s(pid: int) -> dict[str, float]:
    """By thread of a process: how long it has been ready to run and was not run. Linux tells it; elsewhere nothing."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):  # a thread that has just ended, or a system that does not count
            continue
    return found


class Stopwatch:
    """Started when it is made. `pids` are the other processes that have a part in what is timed."""

    def __init__(self, *pids: int) -> None:
        self._pids = (os.getpid(), *pids)
        self._waited = [kept_waiting_s(pid) for pid in self._pids]
        self._started = monotonic()
        self._ran = process_time()

    def real_s(self) -> float:
        return monotonic() - self._started

    def own_s(self) -> float:
        """Without what the machine kept us waiting for."""
        real_s = self.real_s()
        return real_s - self.waited_s()

    def ran_s(self) -> float:
        """For how long our own process was on a core, all threads together."""
        return process_time() - self._ran

    def waited_s(self) -> float:
        """What the machine kept us waiting for."""
        now = [kept_waiting_s(pid) for pid in self._pids]
        # A thread that was not there at the start has waited for all of its time since.
        return sum(
            after[thread] - before.get(thread, 0.0)
            for before, after in zip(self._waited, now, strict=True)
            for thread in after
        )
