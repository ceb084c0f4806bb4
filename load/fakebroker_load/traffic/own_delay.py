"""How late the load itself was: a control that is treated as a broker's answer is, beside what is measured.

Theory   Every 20 ms a timer of the load's loop sends a byte over loopback, and the loop notes when its echo is there.
         If that takes longer, nothing was noted meanwhile, no answer either: the load stood still, stopped or without a
         processor. A row has for how long it did between sending and answer (`load_late_us`), which is what it may have
         made the answer later than it was.
         A broker on this machine is made late by the same neighbours. Linux counts for how long anything was ready and
         waited for a processor (/proc/pressure/cpu): the row has that of its time (`machine_late_us`), null where the
         broker is elsewhere or the system does not count. It is the most that the machine can have made it late.
         A row is held until the echo behind its answer, which is when that is known.
Units    *_ns is time.monotonic_ns.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import cast

from fakebroker_load.plan import Row
from fakebroker_load.wire.client import sleep_until

PERIOD_NS = 20_000_000
LEAST_NS = 5_000_000  # by so much a timer may be late, and nothing stands still
PRESSURE = Path("/proc/pressure/cpu")

Held = tuple[Row, int | None, int | None]


class Standstills:
    """By when each echo was noted."""

    def __init__(self, now_ns: int) -> None:
        self._last_ns = now_ns
        self._begun: list[int] = []
        self._ended: list[int] = []

    def note(self, now_ns: int) -> None:
        """An echo."""
        if now_ns - self._last_ns > PERIOD_NS + LEAST_NS:
            self._begun.append(self._last_ns)
            self._ended.append(now_ns)
        self._last_ns = now_ns

    def within(self, since_ns: int, until_ns: int) -> int:
        """For how many of these nanoseconds the load stood still."""
        total = 0
        for number in range(bisect_right(self._ended, since_ns), len(self._ended)):
            if self._begun[number] >= until_ns:
                break
            total += min(self._ended[number], until_ns) - max(self._begun[number], since_ns)
        return total


class Pressure:
    """How long something waited for a processor, by the times at which that was looked at."""

    def __init__(self, read: Callable[[], int | None]) -> None:
        self._read = read
        self._at = array("q")  # fifty a second, as long as the load lasts
        self._total_us = array("q")

    def note(self, now_ns: int) -> None:
        total_us = self._read()
        if total_us is not None:
            self._at.append(now_ns)
            self._total_us.append(total_us)

    def within(self, since_ns: int, until_ns: int) -> int | None:
        """In microseconds, from the last look before to the first one behind; None: not known."""
        first, last = bisect_right(self._at, since_ns) - 1, bisect_left(self._at, until_ns)
        if first < 0 or last >= len(self._at):
            return None
        return self._total_us[last] - self._total_us[first]


def read_pressure() -> int | None:
    """Of the whole machine, in microseconds."""
    with suppress(OSError, ValueError, IndexError):
        return int(PRESSURE.read_text().splitlines()[0].rpartition("total=")[2])
    return None


def is_here(hosts: Iterable[str | None]) -> bool:
    """Whether all of them are this machine, by loopback addresses."""
    return all(host is not None and (host in ("localhost", "::1") or host.startswith("127.")) for host in hosts)


class _Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class _Asker(asyncio.Protocol):
    def __init__(self, heard: asyncio.Event) -> None:
        self._heard = heard

    def data_received(self, data: bytes) -> None:
        self._heard.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard.set()


class OwnDelay:
    """Of one loop. `release` is given each row with both columns filled."""

    def __init__(self, release: Callable[[Row], None], hosts: Iterable[str | None]) -> None:
        self._release = release
        self._held: list[Held] = []
        self._standstills = Standstills(time.monotonic_ns())
        self._pressure = Pressure(read_pressure if is_here(hosts) else lambda: None)
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """In the loop."""
        self._standstills.note(time.monotonic_ns())
        self._pressure.note(time.monotonic_ns())
        self._task = asyncio.create_task(self._run())

    async def finish(self) -> None:
        """Release what is held."""
        self._is_over = True
        if self._task is not None:
            await self._task
        self._look()

    def hold(self, row: Row, sent_ns: int | None, answered_ns: int | None) -> None:
        self._held.append((row, sent_ns, answered_ns))

    async def _run(self) -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        server = await loop.create_server(_Echo, "127.0.0.1", 0)
        transport, _ = await loop.create_connection(lambda: _Asker(heard), *server.sockets[0].getsockname())
        while not self._is_over and not transport.is_closing():
            await sleep_until(time.monotonic_ns() + PERIOD_NS)
            heard.clear()
            transport.write(b".")
            await heard.wait()
            self._look()
        transport.abort()
        server.close()

    def _look(self) -> None:
        now_ns = time.monotonic_ns()
        self._standstills.note(now_ns)
        self._pressure.note(now_ns)
        held, self._held = self._held, []
        for row, sent_ns, answered_ns in held:
            if sent_ns is not None and answered_ns is not None:
                row["load_late_us"] = self._standstills.within(sent_ns, answered_ns) // 1000
                row["machine_late_us"] = self._pressure.within(sent_ns, answered_ns)
            self._release(row)
