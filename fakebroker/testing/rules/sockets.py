"""The rules of the sockets of a paused broker: the responses that it finds when it resumes.

Rules    An instant follower that is caught up has one fetch at each leader, for all partitions that it follows there.
         The fetch is sent again after each response: with records, or empty after half a second. The next request that
         writes there completes the last fetch before the pause, with all records at that time. It gets nothing if this
         is too late, or if the leadership of any of its partitions has changed. The follower has the records when it
         resumes, unless the pause was so long that its fetches time out.
Units    milliseconds since the start.
Source   DelayedFetch.scala, AbstractFetcherThread.scala @ 4.0, as described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.testing.messages import Key
from fakebroker.testing.oracle_partition import INSTANT, OracleLogEntry, OraclePartition

WAIT_MS = 500  # replica.fetch.wait.max.ms
PATIENCE_MS = 1_500  # request.timeout.ms of simulated brokers (run.py)


class InFlightFetch(NamedTuple):
    """A fetch of a paused broker: the leader, the time until which it waits, and for each partition the known epoch and
    number of batches. `brought` is the response, with the high watermarks; None while it waits."""

    leader: int
    until: int
    asked: tuple[tuple[Key, int, int], ...]
    brought: tuple[tuple[Key, tuple[OracleLogEntry, ...], int], ...] | None = None


def sent_by(follower: int, partitions: Mapping[Key, OraclePartition], now: int) -> list[InFlightFetch]:
    """Return the fetches in flight at the start of a pause."""
    fetches = []
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
            requested = tuple((key, p.epoch, len(p.replicas[follower].log)) for key, p in shared.items())
            fetches.append(InFlightFetch(leader, until, requested))
    return fetches


def written(sent: InFlightFetch, leader: int, partitions: Mapping[Key, OraclePartition], now: int) -> InFlightFetch:
    """Return the fetch after a request that wrote records at this leader."""
    if sent.leader != leader or sent.brought is not None:
        return sent
    is_same = all(key in partitions and partitions[key].epoch == epoch for key, epoch, _ in sent.asked)
    if now >= sent.until or not is_same:
        return sent._replace(brought=())
    new = [(key, tuple(partitions[key].log[had:]), partitions[key].watermark) for key, _, had in sent.asked]
    brought = tuple(got for got in new if got[1])
    return sent._replace(brought=brought) if brought else sent


def without(sent: InFlightFetch, topic: str) -> InFlightFetch:
    """Return the fetch after the deletion of that topic; another topic of that name does not count."""
    if all(key[0] != topic for key, _, _ in sent.asked):
        return sent
    return sent._replace(brought=tuple(got for got in sent.brought or () if got[0][0] != topic))


def take(follower: int, sent: InFlightFetch, partitions: Mapping[Key, OraclePartition], now: int) -> None:
    """Apply the response when the follower resumes."""
    if now > sent.until - WAIT_MS + PATIENCE_MS:
        return
    for key, batches, watermark in sent.brought or ():
        if key in partitions:
            replica = partitions[key].replicas[follower]
            replica.add(batches)
            replica.watermark = max(replica.watermark, min(watermark, replica.end))
