"""The rules of one partition in their simplest form: lists of batches, and numbers.

Rules    append       ISR below the minimum and acks=-1: 19. Then the batch, its producer, the log
         producer     the same (first, last) among the last five of its epoch: the old offset. Else it must continue
                      the last one (45). A new epoch begins at 0 (45); an old one is refused (47), also in a marker
         watermark    the least log end offset of the leader, the ISR, and the replicas that are caught up within the
                      lag and may join it. It only rises, and not while the ISR is below the minimum. It is updated
                      when a log or the ISR changes
         ISR          a replica leaves if it lacks records and was last caught up more than the lag ago. It joins when
                      it has reached the high watermark and the start of the leadership
         election     rules/elections.py; followers truncate what the leader does not have
Units    milliseconds since the start; offsets count records.
Source   the rules of core/.../cluster/Partition.scala, Replica.scala, storage/.../log/ProducerStateManager.java and
         metadata/.../controller/PartitionChangeBuilder.java @ 4.0, as described.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.testing.messages import ClientBatch, RuleErrorCode
from fakebroker.testing.rules.elections import NOBODY, elect, eligible
from fakebroker.testing.rules.producers import check_producer, is_of_the_past
from fakebroker.testing.rules.transactions import last_stable_offset

REFUSED_BY_LOG = {"crc": 2, "no records": 87}  # the defect of a batch, and the error of the leader's log
INSTANT, FROZEN = -1, None  # special values of a follower's lag
NEVER = -(1 << 62)
UNKNOWN = -1


class OracleLogEntry(NamedTuple):
    base: int
    end: int
    batch: ClientBatch
    epoch: int
    at_ms: int


class OracleReplica:
    """A log with its `end`, and the leader's knowledge of it: the `known` end, and when it was last caught up."""

    def __init__(self, lag_ms: int | None) -> None:
        self.log: list[OracleLogEntry] = []
        self.end, self.known, self.watermark, self.caught_up = 0, UNKNOWN, 0, NEVER
        self.lag_ms = lag_ms
        self.under_way: deque[tuple[int, int]] = deque()  # (arrival time, log end offset)

    def add(self, batches: Sequence[OracleLogEntry]) -> None:
        self.log += batches
        self.end = self.log[-1].end if self.log else 0


class OraclePartition:
    """A partition. `alive` are the brokers that may lead, `working` those that are not paused or crashed."""

    def __init__(
        self,
        replicas: Sequence[int],
        alive: set[int],
        min_isr: int,
        unclean: bool,
        lag_max_ms: int,
        working: set[int] | None = None,
    ) -> None:
        self.replicas: dict[int, OracleReplica] = {broker: OracleReplica(INSTANT) for broker in replicas}
        self.alive, self.min_isr, self.unclean = alive, min(min_isr, len(replicas)), unclean
        self.leader, self.epoch, self.last_known = NOBODY, -1, NOBODY
        self.isr, self.elr = set[int](), set[int]()
        self.lag_max_ms = lag_max_ms
        self.working = alive if working is None else working
        self.epoch_start = 0
        self.is_begun = True
        self.had_transactions = False

    @property
    def log(self) -> list[OracleLogEntry]:
        return self.replicas[self.leader].log

    @property
    def watermark(self) -> int:
        return self.replicas[self.leader].watermark

    def followers(self) -> list[tuple[int, OracleReplica]]:
        """Return the followers that reach the leader."""
        led = self.leader in self.working
        return [(b, r) for b, r in self.replicas.items() if led and b != self.leader and b in self.working]

    def lose_touch(self, broker: int, now: int) -> None:
        """Record that the broker is about to stop working: followers that have everything were caught up until now."""
        for follower, replica in self.followers():
            if broker in (follower, self.leader):
                if replica.known == self.replicas[self.leader].end:
                    replica.caught_up = now
                replica.under_way.clear()

    def change_isr(self, isr: set[int]) -> None:
        self.isr, self.elr = isr, eligible(isr, self.elr | self.isr, self.min_isr)

    def elect(self, target: set[int], now: int, killed: int = NOBODY) -> None:
        """Elect for this target ISR. `killed` is no longer eligible."""
        living = [broker for broker in self.replicas if broker in self.alive]
        elr = eligible(target, self.elr | self.isr, self.min_isr) - {killed}
        leader, isr, self.elr, begins = elect(living, self.leader, self.last_known, target, elr, self.unclean)
        if begins:
            self.lead(leader, isr, now)
            return
        self.isr = isr
        if leader != NOBODY:
            self.move_watermark(now)
        elif self.leader != NOBODY:
            self.last_known, self.leader, self.epoch = self.leader, NOBODY, self.epoch + 1
            self.forget_under_way()

    def lead(self, broker: int, isr: set[int], now: int) -> None:
        self.leader, self.isr, self.epoch, self.last_known = broker, set(isr), self.epoch + 1, NOBODY
        self.begin(now)
        self.move_watermark(now)
        for other, _ in self.followers():
            self.start_over(other, now)

    def begin(self, now: int) -> None:
        """Start a leadership without knowledge of the followers. A paused leader learns of it later."""
        self.is_begun = self.leader in self.working
        self.epoch_start = self.replicas[self.leader].end
        for other, replica in self.replicas.items():
            replica.known, replica.caught_up = UNKNOWN, now if other in self.isr else NEVER
            replica.under_way.clear()

    def forget_under_way(self) -> None:
        for replica in self.replicas.values():
            replica.under_way.clear()

    def start_over(self, broker: int, now: int) -> None:
        """Truncate what the leader does not have, and fetch from there."""
        replica, leader = self.replicas[broker], self.log
        replica.under_way.clear()
        same = 0
        while same < min(len(replica.log), len(leader)) and replica.log[same][:4] == leader[same][:4]:
            same += 1
        del replica.log[same:]
        replica.add(())
        replica.watermark = min(replica.watermark, replica.end)
        self.fetch(broker, replica.end, now, resumes=True)
        self.take(broker, now)

    def take(self, broker: int, now: int) -> None:
        """Let a follower that lacks records copy them, with its lag."""
        replica, end = self.replicas[broker], self.replicas[self.leader].end
        if replica.lag_ms == INSTANT:
            self.fetch(broker, end, now)
        elif replica.lag_ms is not FROZEN and end > (replica.under_way[-1][1] if replica.under_way else replica.end):
            replica.under_way.append((now + replica.lag_ms, end))

    def fetch(self, broker: int, up_to: int, now: int, resumes: bool = False) -> None:
        """Record that a follower has everything below `up_to`, and that the leader knows it."""
        replica, leader = self.replicas[broker], self.replicas[self.leader]
        replica.add([logged for logged in leader.log[len(replica.log) :] if logged.end <= up_to])
        before, replica.known = replica.known, replica.end
        if replica.known == leader.end:
            replica.caught_up = now
        elif not resumes:
            replica.caught_up = max(replica.caught_up, leader.log[len(replica.log)].at_ms)
        is_in_sync = replica.known >= max(leader.watermark, self.epoch_start)
        if broker not in self.isr and broker in self.alive and is_in_sync:
            self.change_isr(self.isr | {broker})
            before = UNKNOWN
        if before != replica.known:
            self.move_watermark(now)
        replica.watermark = min(leader.watermark, replica.end)

    def is_caught_up(self, replica: OracleReplica, now: int) -> bool:
        return replica.known == self.replicas[self.leader].end or now - replica.caught_up <= self.lag_max_ms

    def move_watermark(self, now: int) -> None:
        if len(self.isr) < self.min_isr or self.leader not in self.working:
            return
        leader = self.replicas[self.leader]
        least = leader.end
        for broker, replica in self.replicas.items():
            if replica.known < least and broker != self.leader:
                may_join = replica.known >= 0 and broker in self.alive and self.is_caught_up(replica, now)
                if broker in self.isr or may_join:
                    least = replica.known
        if least > leader.watermark:
            leader.watermark = least
            for _, replica in self.followers():
                replica.watermark = max(replica.watermark, min(least, replica.end))

    def lagging(self, now: int) -> set[int]:
        """Return the replicas that must leave the ISR."""
        if self.leader not in self.working:
            return set()
        return {b for b in self.isr - {self.leader} if not self.is_caught_up(self.replicas[b], now)}

    def append(self, batch: ClientBatch, acks: int, now: int) -> tuple[int, int]:
        """Append a batch. Return (error, base offset)."""
        if acks == -1 and len(self.isr) < self.min_isr:
            return RuleErrorCode.NOT_ENOUGH, -1
        if batch.fault:
            return REFUSED_BY_LOG[batch.fault], -1
        leader = self.replicas[self.leader]
        base = leader.end
        if batch.commits is not None:
            if is_of_the_past(self.log, batch):
                return RuleErrorCode.INVALID_EPOCH, -1
        elif batch.producer is not None:
            error, known_base = check_producer(self.log, batch)
            if known_base >= 0:
                self.move_watermark(now)
            if error or known_base >= 0:
                return error, known_base
        for broker, replica in self.replicas.items():
            if replica.known == base and broker in self.working:  # the leader's own end is never known
                replica.caught_up = max(replica.caught_up, now)
        leader.add((OracleLogEntry(base, base + batch.size, batch, self.epoch, now),))
        self.had_transactions |= batch.is_transactional
        self.move_watermark(now)
        return RuleErrorCode.NONE, base

    @property
    def last_stable_offset(self) -> int:
        return last_stable_offset(self.log, self.watermark) if self.had_transactions else self.watermark
