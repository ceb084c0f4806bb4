"""A reader without a group: it reads one partition from its log end before the load, at its own pace.

Theory   A slow reader fetches little and pauses long: `fetch_bytes`, `records_per_s`, `pause_ms`. It ends when it has
         all records that the scenario sends to its partition, at `until_ms`, or when nothing arrives for 30 s.
Errors   None: a reader that cannot go on has "gave up" in its last row.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.plan import Row
from fakebroker_load.scenario.reads import ReaderOptions
from fakebroker_load.traffic.reading import FAILED, RETRY_S, STALLED_S, Cursor, Noter, Notes
from fakebroker_load.wire.client import sleep_until


class ReaderDriver:
    """A driver of a reader, used like the driver of a connection."""

    def __init__(self, load: Noter, row: Row, run_id: str) -> None:
        self._load = load
        self._row = row
        self._reading = ReaderOptions.from_json(row["reading"])
        self._notes = Notes(load, row, run_id)
        part = next(part for part in self._reading.parts if part.partition == row["partition"])
        self._cursor = Cursor(self._notes, row["topic"], part, self._reading, part.start)

    async def connect(self, at_once: asyncio.Semaphore) -> None:
        """Do nothing: it connects for its first request."""

    async def close(self) -> None:
        await self._cursor.close()

    async def send(self, start_ns: int, grace_ms: int) -> None:
        self._load.has_sent()
        await sleep_until(start_ns + self._row["first_us"] * 1000)
        until_ns = start_ns + self._reading.until_ms * 1_000_000 if self._reading.until_ms else None
        progress, failing = time.monotonic(), False
        while not self._cursor.has_all and time.monotonic() - progress < STALLED_S:
            if until_ns is not None and time.monotonic_ns() >= until_ns:
                break
            try:
                given = await self._cursor.fetch()
            except (ProtocolError, *FAILED):
                failing = True
                await asyncio.sleep(RETRY_S)
                with suppress(ProtocolError, *FAILED):
                    await self._cursor.find_leader()
                continue
            failing = False
            if given:
                progress = time.monotonic()
                await asyncio.sleep(self._pause_s(given))
        await self._cursor.close()
        self._notes.add("done", outcome="gave up" if failing else "done", partition=self._cursor.part.partition)

    def _pause_s(self, given: int) -> float:
        rate = self._reading.records_per_s
        return (given / rate if rate else 0.0) + float(self._row["pause_ms"]) / 1000
