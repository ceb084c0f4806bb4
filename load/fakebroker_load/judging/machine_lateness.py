"""How late a machine makes a thread: by how much its work is behind because others had the processor.

Theory   Linux counts for each thread how long it ran, and how long it could have run and waited for a processor
         (/proc/.../schedstat). What it waited for puts its work back; what it slept lets it catch up, since a thread
         that has work left does not sleep. So it is behind by the sum of its waits, less its sleeps, and never less
         than 0. The greatest of that in a time is how late the machine was in it.
Units    nanoseconds; `take_ms` milliseconds.
Source   Documentation/scheduler/sched-stats.rst
"""

from __future__ import annotations

import time
from pathlib import Path


class MachineLateness:
    """Of one thread, looked at often (`look`). Nothing is known where the system does not count."""

    def __init__(self, thread_id: int | None) -> None:
        self._file = Path(f"/proc/self/task/{thread_id}/schedstat")
        self._before: tuple[int, int, int] | None = self._read()
        self._behind_ns = 0
        self._worst_ns = 0

    def look(self) -> None:
        """Take in what has happened since the last look."""
        now, before = self._read(), self._before
        self._before = now
        if now is None or before is None:
            return
        passed_ns, ran_ns, waited_ns = (after - then for after, then in zip(now, before, strict=True))
        self.take_in(passed_ns, ran_ns, waited_ns)

    def take_in(self, passed_ns: int, ran_ns: int, waited_ns: int) -> None:
        """Of a time that passed: what the thread ran, and what it waited for a processor."""
        slept_ns = max(0, passed_ns - ran_ns - waited_ns)
        self._behind_ns = max(0, self._behind_ns + waited_ns - slept_ns)
        self._worst_ns = max(self._worst_ns, self._behind_ns)

    def take_ms(self) -> int | None:
        """The most that it was behind since this was asked last; None if nothing is known."""
        self.look()
        worst_ns, self._worst_ns = self._worst_ns, self._behind_ns
        return None if self._before is None else worst_ns // 1_000_000

    def _read(self) -> tuple[int, int, int] | None:
        """The time, how long the thread ran, how long it waited."""
        try:
            ran, waited = self._file.read_text().split()[:2]
        except (OSError, ValueError):
            return None
        return time.monotonic_ns(), int(ran), int(waited)
