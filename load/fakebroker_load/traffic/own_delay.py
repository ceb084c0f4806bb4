"""The lateness of the load itself, measured by an echo that is handled like a broker's response.

Theory   Every 20 ms a timer of the load's loop sends a byte over loopback, and the loop notes when its echo arrives. If
         that takes longer, the load stood still: it was stopped or had no processor, and noted no response meanwhile. A
         row has the time of such standstills between sending and response (`load_late_us`). The response may have
         arrived that much earlier than noted.
         A broker on this machine is slowed by the same processes. Linux counts how long any task was ready and waited
         for a processor (/proc/pressure/cpu). The row has that time between sending and response (`machine_late_us`),
         the most that the machine can have made it late. It is null if the broker is elsewhere or the system does not
         count.
         A row is held until the echo after its response, when both are known.
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
LEAST_NS = 5_000_000  # a timer may be this late without a standstill
PRESSURE = Path("/proc/pressure/cpu")

HeldRow = tuple[Row, int | None, int | None]


class Standstills:
    """The standstills of the load, from the times of the echoes."""

    def __init__(self, now_ns: int) -> None:
        self._last_ns = now_ns
        self._begun: list[int] = []
        self._ended: list[int] = []

    def note(self, now_ns: int) -> None:
        """Note an echo."""
        if now_ns - self._last_ns > PERIOD_NS + LEAST_NS:
            self._begun.append(self._last_ns)
            self._ended.append(now_ns)
        self._last_ns = now_ns

    def within(self, since_ns: int, until_ns: int) -> int:
        """Return for how many of these nanoseconds the load stood still."""
        total = 0
        for number in range(bisect_right(self._ended, since_ns), len(self._ended)):
            if self._begun[number] >= until_ns:
                break
            total += min(self._ended[number], until_ns) - max(self._begun[number], since_ns)
        return total


class Pressure:
    """The time that tasks waited for a processor, sampled."""

    def __init__(self, read: Callable[[], int | None]) -> None:
        self._read = read
        self._at = array("q")  # fifty per second, as long as the load lasts
        self._total_us = array("q")

    def note(self, now_ns: int) -> None:
        total_us = self._read()
        if total_us is not None:
            self._at.append(now_ns)
            self._total_us.append(total_us)

    def within(self, since_ns: int, until_ns: int) -> int | None:
        """Return the time in microseconds, from the last sample before to the first one after; None if unknown."""
        first, last = bisect_right(self._at, since_ns) - 1, bisect_left(self._at, until_ns)
        if first < 0 or last >= len(self._at):
            return None
        return self._total_us[last] - self._total_us[first]


def read_pressure() -> int | None:
    """Return the time for the whole machine, in microseconds."""
    with suppress(OSError, ValueError, IndexError):
        return int(PRESSURE.read_text().splitlines()[0].rpartition("total=")[2])
    return None


def is_here(hosts: Iterable[str | None]) -> bool:
    """Return True if all hosts are loopback addresses of this machine."""
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
    """The measurement of one loop. `release` gets each row with both columns filled."""

    def __init__(self, release: Callable[[Row], None], hosts: Iterable[str | None]) -> None:
        self._release = release
        self._held: list[HeldRow] = []
        self._standstills = Standstills(time.monotonic_ns())
        self._pressure = Pressure(read_pressure if is_here(hosts) else lambda: None)
        self._is_over = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the measurement, in the loop."""
        self._standstills.note(time.monotonic_ns())
        self._pressure.note(time.monotonic_ns())
        self._task = asyncio.create_task(self._run())

    async def finish(self) -> None:
        """Release all held rows."""
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
