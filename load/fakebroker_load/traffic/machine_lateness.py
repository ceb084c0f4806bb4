"""The lateness that a machine causes for a thread: how far its work is behind because others had the processor.

Theory   For each thread Linux counts how long it ran, and how long it was ready and waited for a processor
         (/proc/.../schedstat). Waiting delays its work. Sleeping lets it catch up, since a thread with work left does
         not sleep. So its lateness is the sum of its waits, less its sleeps, and never below 0. The lateness of the
         machine in a time span is the maximum in it.
Units    nanoseconds; `take_ms` milliseconds.
Source   Documentation/scheduler/sched-stats.rst
"""

from __future__ import annotations

import time
from pathlib import Path


class MachineLateness:
    """The lateness of one thread, sampled often (`look`). It is unknown where the system does not count."""

    def __init__(self, thread_id: int | None) -> None:
        self._file = Path(f"/proc/self/task/{thread_id}/schedstat")
        self._before: tuple[int, int, int] | None = self._read()
        self._behind_ns = 0
        self._worst_ns = 0

    def look(self) -> None:
        """Take in the time since the last sample."""
        now, before = self._read(), self._before
        self._before = now
        if now is None or before is None:
            return
        passed_ns, ran_ns, waited_ns = (after - then for after, then in zip(now, before, strict=True))
        self.take_in(passed_ns, ran_ns, waited_ns)

    def take_in(self, passed_ns: int, ran_ns: int, waited_ns: int) -> None:
        """Take in a time span: how long the thread ran, and how long it waited for a processor."""
        slept_ns = max(0, passed_ns - ran_ns - waited_ns)
        self._behind_ns = max(0, self._behind_ns + waited_ns - slept_ns)
        self._worst_ns = max(self._worst_ns, self._behind_ns)

    def take_ms(self) -> int | None:
        """Return the maximum since the last call; None if unknown."""
        self.look()
        worst_ns, self._worst_ns = self._worst_ns, self._behind_ns
        return None if self._before is None else worst_ns // 1_000_000

    def _read(self) -> tuple[int, int, int] | None:
        """Return the time, how long the thread ran, and how long it waited."""
        try:
            ran, waited = self._file.read_text().split()[:2]
        except (OSError, ValueError):
            return None
        return time.monotonic_ns(), int(ran), int(waited)
