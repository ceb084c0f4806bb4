"""The time of a process: it ran, waited for a core, or slept. A verdict never uses the wall clock.

Theory   A slow or busy machine makes a process run for longer in wall time, and lets it wait for a core. It does not
         make it use more CPU time, apart from cold caches and a shared core: for that there is a control, a fixed piece
         of work that is timed by the same clock in the same moment. Nor does it make a process sleep longer.
Source   proc(5): /proc/PID/schedstat has nanoseconds on a core, and nanoseconds ready to run but not on a core.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import monotonic, thread_time_ns

CONTROL_STEPS = 30_000
CONTROL_MS = 1.0  # what so many steps take on a core of its own, CPython 3.11 on a server of 2022


def scheduled_s(pid: int) -> dict[str, tuple[float, float]]:
    """Return seconds on a core and seconds ready for one, by thread. Empty for a process that does not exist."""
    seconds = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError, ValueError):  # a thread that has just ended, or a system that does not count
            ran, waited, _ = (task / "schedstat").read_text().split()
            seconds[task.name] = int(ran) / 1e9, int(waited) / 1e9
    return seconds


def control_ms() -> float:
    """Return the CPU time of a fixed piece of work, in this thread."""
    began = thread_time_ns()
    total = 0
    for number in range(CONTROL_STEPS):
        total += number * number & 7
    return (thread_time_ns() - began) / 1e6


class Slowness:
    """A control measurement, repeated next to the measured work."""

    def __init__(self) -> None:
        self._taken_ms: list[float] = []

    def take(self) -> None:
        self._taken_ms.append(control_ms())

    def factor(self) -> float:
        """Return by how much a core is slower now than the one the limits were set on; at least 1."""
        return max(1.0, median(self._taken_ms) / CONTROL_MS)


class ProcessTimes:
    """The times of a process since this was created. Call `look` to take the figures of a process that will end."""

    def __init__(self, pid: int | None = None) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._before = scheduled_s(self._pid)
        self._began = monotonic()
        self._after = dict(self._before)
        self._wall_s = 0.0

    def look(self) -> None:
        now = scheduled_s(self._pid)
        # A process that has ended, and is not waited for yet, has its first thread only.
        self._after |= now
        self._wall_s = monotonic() - self._began

    def ran_s(self) -> float:
        """Return the CPU time of all its threads."""
        return self._since(0)

    def waited_s(self) -> float:
        """Return for how long its threads were ready to run and had no core."""
        return self._since(1)

    def slept_s(self) -> float:
        """Return for how long, at least, none of its threads ran or wanted to."""
        return max(0.0, self._wall_s - self.ran_s() - self.waited_s())

    def _since(self, which: int) -> float:
        nothing = (0.0, 0.0)  # a thread that was not there at the start
        return sum(after[which] - self._before.get(thread, nothing)[which] for thread, after in self._after.items())
