"""A member of a group, with its successors: one after another joins, reads, commits, and is gone.

Theory   Each life lasts a drawn time, from its first assignment on. Then the member commits its position and leaves,
         like a consumer that is closed. But every `vanish_every`-th life closes its sockets without LeaveGroup, and is
         fenced when its session times out. The next member joins at once.
         After a rejoin, a member commits once more as member of the generation before. After leaving, it commits once
         more under its old id. The coordinator must refuse both; the rows show it.
         It ends when everything that the scenario sends is committed, at `until_ms`, or when nothing new is committed
         for 30 s.
Errors   None: a member that cannot go on has "gave up" in its last row.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fakebroker.protocol.errors import ProtocolError
from fakebroker_load.plan import Row
from fakebroker_load.scenario.reads import ReaderOptions
from fakebroker_load.traffic.membership import MUST_REJOIN, REBALANCING, JoinResult, Membership
from fakebroker_load.traffic.reading import FAILED, RETRY_S, STALLED_S, Cursor, Noter, Notes
from fakebroker_load.wire.client import sleep_until

HEARTBEAT_S = 0.3
COMMIT_S = 0.5
FETCH_WAIT_MS = 50  # of each partition in turn; heartbeats are sent in between
NO_LIFE_ENDS = float("inf")


class MemberDriver:
    """A driver of members, used like the driver of a connection."""

    def __init__(self, load: Noter, row: Row, run_id: str) -> None:
        self._load = load
        self._row = row
        self._reading = ReaderOptions.from_json(row["reading"])
        self._group_id = f"{row['group']}-{run_id}"
        self._notes = Notes(load, row, run_id, self._group_id)
        self._draw = random.Random(f"{row['seed']}/{row['group']}/{row['number']}/lives")
        self._parts = {part.partition: part for part in self._reading.parts}
        self._committed = {part.partition: part.start for part in self._reading.parts}  # as far as known here
        self._progress = 0.0  # when a commit last advanced
        self._until = NO_LIFE_ENDS
        self._lives = 0
        self._vanishes = False  # True if the life that just ended neither commits nor leaves

    async def connect(self, at_once: asyncio.Semaphore) -> None:
        """Do nothing: it connects for its first request."""

    async def close(self) -> None:
        """Do nothing: each life closes what it has opened."""

    async def send(self, start_ns: int, grace_ms: int) -> None:
        self._load.has_sent()
        await sleep_until(start_ns + self._row["first_us"] * 1000)
        self._progress, failing = time.monotonic(), False
        if self._reading.until_ms:
            self._until = start_ns / 1e9 + self._reading.until_ms / 1000
        while not self._is_over:
            try:
                await self._live()
                failing = False
            except (ProtocolError, *FAILED):
                failing = True
                await asyncio.sleep(RETRY_S)
        with suppress(ProtocolError, *FAILED):
            await self._tell_what_is_committed()
        self._notes.add("done", outcome="gave up" if failing else "done")

    @property
    def _has_all(self) -> bool:
        return all(self._committed[part.partition] >= part.start + part.records for part in self._reading.parts)

    @property
    def _is_over(self) -> bool:
        now = time.monotonic()
        return self._has_all or now >= self._until or now - self._progress > STALLED_S

    async def _live(self) -> None:
        """Run one life, from its first JoinGroup to its end."""
        me = Membership(self._group_id, self._row["topic"], self._reading)
        ends: float | None = None
        before: tuple[str, int, JoinResult] | None = None
        try:
            await me.find_coordinator()
            while True:
                joined = await me.join()
                for partition in joined.partitions or (None,):
                    self._notes.add("owns", joined.exchange, partition=partition, **who(me))
                if before is not None and before[:2] != (me.member_id, me.generation):
                    await self._commit_as_before(me, *before)
                before = me.member_id, me.generation, joined
                ends = ends or time.monotonic() + self._draw_life_s()
                error = await self._take_part(me, joined, ends)
                if error is None:
                    break
            self._lives += 1
            if not self._vanishes:
                self._notes.add("left", await me.leave(), **who(me))
                await self._commit_as_before(me, *before)
        finally:
            await me.close()

    def _draw_life_s(self) -> float:
        low_ms, high_ms = self._reading.life_ms or (0, 0)
        return self._draw.uniform(low_ms, high_ms) / 1000 if high_ms else NO_LIFE_ENDS

    async def _take_part(self, me: Membership, joined: JoinResult, ends: float) -> int | None:
        """Take part in one generation. Return the error that ended the generation; None if the life is over."""
        cursors: list[Cursor] = []
        try:
            for partition in joined.partitions:
                offset = await self._told_committed(me, partition)
                part = self._parts[partition]
                cursors.append(
                    Cursor(self._notes, self._row["topic"], part, self._reading, max(offset, part.start), **who(me))
                )
            beat = commit = time.monotonic()
            while True:
                now = time.monotonic()
                if now >= beat:
                    beat = now + HEARTBEAT_S
                    if error := await me.heartbeat():
                        if error == REBALANCING:
                            await self._commit(me, cursors)
                        return error if error in MUST_REJOIN else self._fail(error)
                if now >= commit:
                    commit = now + COMMIT_S
                    if error := await self._commit(me, cursors):
                        return error if error in MUST_REJOIN else self._fail(error)
                    await self._look_at_the_group(me)
                if now >= ends or self._is_over:
                    every = self._reading.vanish_every
                    self._vanishes = not self._is_over and bool(every) and (self._lives + 1) % every == 0
                    if not self._vanishes:
                        await self._commit_in_the_end(me, cursors)
                    return None
                await self._read(cursors)
        finally:
            for cursor in cursors:
                await cursor.close()

    def _fail(self, error: int) -> int:
        raise ProtocolError(f"the group cannot be gone on with: error {error}")

    async def _read(self, cursors: list[Cursor]) -> None:
        given = 0
        for cursor in cursors:
            try:
                given += await cursor.fetch(FETCH_WAIT_MS)
            except (ProtocolError, *FAILED):
                await asyncio.sleep(RETRY_S)
                await cursor.find_leader()
        rate = self._reading.records_per_s
        pause_s = (given / rate if rate else 0.0) + (self._row["pause_ms"] / 1000 if given else 0.0)
        await asyncio.sleep(min(pause_s, HEARTBEAT_S) if cursors else HEARTBEAT_S)

    async def _commit(self, me: Membership, cursors: list[Cursor]) -> int:
        """Commit the positions. Return the error code; 0 for none."""
        if not cursors:
            return 0
        offsets = {cursor.part.partition: cursor.position for cursor in cursors}
        errors = await self._told_commit(me, offsets, me.member_id, me.generation)
        return max(errors.values())

    async def _commit_in_the_end(self, me: Membership, cursors: list[Cursor]) -> None:
        """Commit at the end of a life. An error that means a rebalance is ignored: the group goes on without this
        member."""
        error = await self._commit(me, cursors)
        if error and error not in MUST_REJOIN:
            self._fail(error)
        await self._look_at_the_group(me)

    async def _commit_as_before(self, me: Membership, member_id: str, generation: int, joined: JoinResult) -> None:
        """Commit as an earlier member or generation, like a commit that was delayed. The offset is the start of its
        first partition."""
        offsets = {partition: self._parts[partition].start for partition in joined.partitions[:1]}
        if offsets:
            await self._told_commit(me, offsets, member_id, generation)

    async def _told_commit(
        self, me: Membership, offsets: Mapping[int, int], member_id: str, generation: int
    ) -> dict[int, int]:
        exchange, errors = await me.commit(offsets, member_id, generation)
        for partition, error in errors.items():
            self._notes.add(
                "commit",
                exchange,
                partition=partition,
                error_code=error,
                offset=offsets[partition],
                member=member_id,
                generation=generation,
            )
        return errors

    async def _told_committed(self, me: Membership, partition: int) -> int:
        """Return the committed offset of the group; -1 if there is none."""
        exchange, offset = await me.committed(partition)
        self._notes.add("committed", exchange, partition=partition, offset=offset)
        return offset

    async def _look_at_the_group(self, me: Membership) -> None:
        """Read the group's committed offsets, of whichever member."""
        for partition, known in self._committed.items():
            offset = await self._told_committed(me, partition)
            if offset > known:
                self._committed[partition], self._progress = offset, time.monotonic()

    async def _tell_what_is_committed(self) -> None:
        me = Membership(self._group_id, self._row["topic"], self._reading)
        try:
            await me.find_coordinator()
            for partition in self._committed:
                await self._told_committed(me, partition)
        finally:
            await me.close()


def who(me: Membership) -> dict[str, Any]:
    return {"member": me.member_id, "generation": me.generation}
