"""Whether the followers in sync have what the leader has: read from each, and compared as bytes.

Theory   What stands below the high watermark is on all in-sync replicas, batch for batch and byte for byte. A consumer
         may read from a follower (KIP-392), up to the watermark that this one knows of. A follower that was fetched
         from before the leader told it of the watermark is a little behind, and is waited for. One that has no such
         offset, and is still in sync when that was seen, says that it has what it has not.
         What does not answer, or does not come to know the watermark, is not compared. Of each broker that is found
         out once.
Units    seconds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fakebroker.protocol.record_batch import BatchHeader
from fakebroker_load.log import POLL_S, Asker, RecordsGone
from fakebroker_load.wire.client import WireError

CURRENT_WITHIN_S = 2.0  # of one broker, all partitions together
NOT_ON_A_FOLLOWER = "not on a follower"
OTHER_ON_A_FOLLOWER = "another log on a follower"

Row = Mapping[str, Any]
Address = tuple[str, int]


@dataclass(slots=True)
class Digest:
    """Of the batches of a partition from one offset to another, in their order."""

    start: int
    end: int
    batches: int = 0
    crc: int = 0

    def add(self, header: BatchHeader, data: bytes) -> None:
        if header.last_offset >= self.start and header.base_offset < self.end:
            self.batches += 1
            self.crc = zlib.crc32(data, self.crc)


class FollowersReader:
    """What one task reads of followers."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._left_s: dict[Address, float] = {}  # for how long a broker is waited for
        self._silent: set[Address] = set()

    def problem(self, part: Row, follower: Address, leaders: Digest) -> str | None:
        """Of a partition (log.PART_SCHEMA), on that broker; `leaders` is what its leader has."""
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
        except WireError:  # of a broker that is gone nothing is claimed
            self._silent.add(follower)
            return None

    def _is_current(self, asker: Asker, part: Row, follower: Address) -> bool | None:
        """Whether it has all that its leader shows. None: it does not come to know."""
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
        """As its leader says now."""
        with Asker(part["host"], part["port"]) as leader:
            told = leader.metadata(part["topic"]).followers.get((part["topic"], part["partition"]), ())
        return f"{follower[0]}:{follower[1]}" in told


def read_digest(asker: Asker, part: Row, start: int, end: int) -> Digest:
    """Raises WireError if it ends before `end`."""
    digest, offset = Digest(start, end), start
    while offset < end:
        found = asker.batches(part["topic"], part["partition"], offset)
        if not found:
            raise WireError(f"{part['topic']}-{part['partition']} cannot be read at {offset} from a follower")
        for each in found:
            digest.add(each.header, each.data)
            offset = each.header.last_offset + 1
    return digest
