"""Comparison of in-sync followers with their leader: each log is read, and compared as bytes.

Theory   All in-sync replicas have the log below the high watermark, batch for batch and byte for byte. A consumer may
         fetch from a follower (KIP-392), up to the high watermark that the follower knows. A follower may learn of the
         high watermark late, so it is waited for. A follower that does not have such an offset, and is still in sync at
         that time, lacks records. If a follower does not respond, refuses, or never learns of the high watermark, it is
         not compared. A silent broker is tried only once. Bytes that are no response to the Fetch are a problem: a
         broker that is stopping closes the connection, and never sends them.
Units    seconds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fakebroker.protocol.record_batch import BatchHeader
from fakebroker_load.log import POLL_S, Asker, RecordsGone, Unreadable
from fakebroker_load.wire.client import WireError

CURRENT_WITHIN_S = 2.0  # for one broker, all partitions together
NOT_ON_A_FOLLOWER = "not on a follower"
OTHER_ON_A_FOLLOWER = "another log on a follower"
UNREADABLE_ON_A_FOLLOWER = "unreadable on a follower"

Row = Mapping[str, Any]
Address = tuple[str, int]


@dataclass(slots=True)
class Digest:
    """The digest of a partition's batches between two offsets, in their order."""

    start: int
    end: int
    batches: int = 0
    crc: int = 0

    def add(self, header: BatchHeader, data: bytes) -> None:
        if header.last_offset >= self.start and header.base_offset < self.end:
            self.batches += 1
            self.crc = zlib.crc32(data, self.crc)


class FollowersReader:
    """A reader of followers, for one task."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._left_s: dict[Address, float] = {}  # how long a broker is still waited for
        self._silent: set[Address] = set()

    def problem(self, part: Row, follower: Address, leaders: Digest) -> str | None:
        """Compare a partition (log.PART_SCHEMA) on a follower with `leaders`, the digest of its leader. Return the
        problem, or None."""
        if follower in self._silent:
            return None
        self._left_s.setdefault(follower, CURRENT_WITHIN_S)
        try:
            with Asker(*follower) as asker:
                if (has_all := self._is_current(asker, part, follower)) is None:
                    return None
                if not has_all:
                    return NOT_ON_A_FOLLOWER if self._is_in_sync(part, follower) else None
                own = read_digest(asker, part, leaders.start, leaders.end)
                return None if own == leaders else OTHER_ON_A_FOLLOWER
        except Unreadable:
            return UNREADABLE_ON_A_FOLLOWER
        except WireError:  # nothing is claimed about a broker that is gone
            self._silent.add(follower)
            return None

    def _is_current(self, asker: Asker, part: Row, follower: Address) -> bool | None:
        """Return True if the follower has all that its leader shows, False if it lacks that offset. Return None if it
        does not learn of the high watermark."""
        while True:
            has_all: bool | None = None
            try:
                end = part["readable_offset"]
                if asker.fetch(part["topic"], part["partition"], end, 0).high_watermark >= end:
                    return True
            except RecordsGone:
                has_all = False
            if self._left_s[follower] <= 0:
                return has_all
            self._left_s[follower] -= POLL_S
            self._sleep(POLL_S)

    def _is_in_sync(self, part: Row, follower: Address) -> bool:
        """Return True if the leader says that the follower is in sync now."""
        try:
            with Asker(part["host"], part["port"]) as leader:
                in_sync = leader.metadata(part["topic"]).followers.get((part["topic"], part["partition"]), ())
        except WireError:
            return False
        return f"{follower[0]}:{follower[1]}" in in_sync


def read_digest(asker: Asker, part: Row, start: int, end: int) -> Digest:
    """Return the digest. Raises WireError if the log ends before `end`."""
    digest, offset = Digest(start, end), start
    while offset < end:
        batches = asker.batches(part["topic"], part["partition"], offset)
        if not batches:
            raise WireError(f"{part['topic']}-{part['partition']} cannot be read at {offset} from a follower")
        for batch in batches:
            digest.add(batch.header, batch.data)
            offset = batch.header.last_offset + 1
    return digest
