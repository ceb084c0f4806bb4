"""The rules of what a broker that stands still finds in its sockets when it goes on.

Rules    An instant follower that has everything waits in one fetch for each leader, for all that it follows there. It
         is sent again when it is answered: with what came, or with nothing after half a second. The last one before
         the broker stands still is answered by the next request that writes there, with all that is there by then,
         unless that comes too late, or somebody else has led any of it meanwhile. The follower has it when it goes on,
         unless it has stood still for so long that it gives its fetches up.
Units    milliseconds since the start.
Source   DelayedFetch.scala, AbstractFetcherThread.scala @ 4.0, as described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.testing.messages import Key
from fakebroker.testing.oracle_partition import INSTANT, Logged, Partition

WAIT_MS = 500  # replica.fetch.wait.max.ms
PATIENCE_MS = 1_500  # request.timeout.ms, as simulated brokers have it (run.py)


class Sent(NamedTuple):
    """A fetch of a broker that stands still: whom it asked, how long that waits, and for each partition the epoch that
    it knew and how many batches it had. `brought` is what it got, with the watermark; None as long as it waits."""

    leader: int
    until: int
    asked: tuple[tuple[Key, int, int], ...]
    brought: tuple[tuple[Key, tuple[Logged, ...], int], ...] | None = None


def sent_by(follower: int, partitions: Mapping[Key, Partition], now: int) -> list[Sent]:
    """What it waits for as it stops."""
    found = []
    for leader in sorted({p.leader for p in partitions.values()}):
        shared = {
            key: p
            for key, p in partitions.items()
            if p.leader == leader
            and follower in [broker for broker, _ in p.followers()]
            and p.replicas[follower].lag_ms == INSTANT
            and p.replicas[follower].end == p.replicas[leader].end
        }
        if shared:
            until = max(p.replicas[follower].caught_up for p in shared.values())
            while until <= now:
                until += WAIT_MS
            asked = tuple((key, p.epoch, len(p.replicas[follower].log)) for key, p in shared.items())
            found.append(Sent(leader, until, asked))
    return found


def written(sent: Sent, leader: int, partitions: Mapping[Key, Partition], now: int) -> Sent:
    """The same after a request that has written something there."""
    if sent.leader != leader or sent.brought is not None:
        return sent
    is_same = all(key in partitions and partitions[key].epoch == epoch for key, epoch, _ in sent.asked)
    if now >= sent.until or not is_same:
        return sent._replace(brought=())
    new = [(key, tuple(partitions[key].log[had:]), partitions[key].watermark) for key, _, had in sent.asked]
    brought = tuple(got for got in new if got[1])
    return sent._replace(brought=brought) if brought else sent


def without(sent: Sent, topic: str) -> Sent:
    """The same after that topic was deleted; another one of its name is not meant."""
    if all(key[0] != topic for key, _, _ in sent.asked):
        return sent
    return sent._replace(brought=tuple(got for got in sent.brought or () if got[0][0] != topic))


def take(follower: int, sent: Sent, partitions: Mapping[Key, Partition], now: int) -> None:
    """It goes on, and reads."""
    if now > sent.until - WAIT_MS + PATIENCE_MS:
        return
    for key, batches, watermark in sent.brought or ():
        if key in partitions:
            replica = partitions[key].replicas[follower]
            replica.add(batches)
            replica.watermark = max(replica.watermark, min(watermark, replica.end))
