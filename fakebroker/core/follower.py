"""Followers as actors: each replica that does not lead copies the leader's log in a rhythm that the user sets.

Theory   What a leader sees of a follower are its fetches. A follower's next fetch offset acknowledges what the fetch
         before delivered, so "the follower has it" and "the follower says so" are one event here:
           instant     it happens in the turn of the append, after the request was handled (Kafka: the append wakes
                       the follower's waiting fetch)
           lagging:MS  it happens MS milliseconds after the append, for each append on its own
           frozen      it never happens; the follower goes on fetching from the offset where it stands, as one whose
                       disk hangs. It leaves the ISR replica.lag.time.max.ms after it last had everything.
Units    monotonic milliseconds.
Source   core/.../server/{ReplicaFetcherThread,AbstractFetcherThread}.scala @ 4.0 for the order of events.
Differs  Not a network peer: its fetch is a call of the leader's replica manager.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from fakebroker.core.clock import Now
from fakebroker.core.partition import Partition
from timingwheel import SystemTimer, TimerTask

MAX_LAG_MS = 2**31 - 1


class Behaviour(NamedTuple):
    """What a follower does. Made by `Behaviour.parse` or taken from INSTANT and FROZEN."""

    name: str
    lag_ms: int = 0

    @classmethod
    def lagging(cls, lag_ms: int) -> Behaviour:
        if not 0 <= lag_ms <= MAX_LAG_MS:
            raise ValueError(f"a lag is 0 to {MAX_LAG_MS} ms, not {lag_ms}")
        return cls("lagging", lag_ms)

    @classmethod
    def parse(cls, text: str) -> Behaviour:
        """`instant`, `frozen` or `lagging:MS`."""
        if text in ("instant", "frozen"):
            return cls(text)
        match = re.fullmatch(r"lagging:(\d{1,10})", text)
        if match is None:
            raise ValueError(f"followers are 'instant', 'frozen' or 'lagging:MS' (milliseconds), not {text!r}")
        return cls.lagging(int(match[1]))

    def __str__(self) -> str:
        return f"lagging:{self.lag_ms}" if self.name == "lagging" else self.name


INSTANT = Behaviour("instant")
FROZEN = Behaviour("frozen")


class LeaderDoor(Protocol):
    """Where a follower's fetches go: the replica manager of the leader."""

    def follower_fetched(
        self, partition: Partition, broker_id: int, fetch_offset: int, caught_up_time_ms: int, now: Now
    ) -> None: ...


class _Arrival(TimerTask):
    __slots__ = ("_follower",)

    def __init__(self, delay_ms: int, follower: Follower) -> None:
        super().__init__(delay_ms)
        self._follower = follower

    def run(self) -> None:
        self._follower.on_arrival()


class Follower:
    """One follower of one partition."""

    def __init__(
        self,
        partition: Partition,
        broker_id: int,
        behaviour: Behaviour,
        timer: SystemTimer,
        leader: Callable[[Partition], LeaderDoor],
        now: Callable[[], Now],
    ) -> None:
        self.partition = partition
        self.broker_id = broker_id
        self.behaviour = behaviour
        self.before_freeze = INSTANT if behaviour == FROZEN else behaviour
        self._timer = timer
        self._leader = leader
        self._now = now
        self._on_the_way: deque[tuple[int, int, int]] = deque()  # (arrives_ms, up to offset, appended_ms)
        self._arrival: _Arrival | None = None

    def on_leader_append(self, now: Now) -> None:
        """The leader has something new."""
        if self.behaviour.name == "instant":
            self._fetch(self.partition.leader_log.log_end_offset, now.mono_ms, now)
        elif self.behaviour.name == "lagging":
            self._send_off(now)

    def set_behaviour(self, behaviour: Behaviour, now: Now) -> None:
        """Change what the follower does. What was on its way is dropped; a follower that is behind starts anew."""
        self.behaviour = behaviour
        if behaviour != FROZEN:
            self.before_freeze = behaviour
        self._on_the_way.clear()
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None
        if self.partition.replicas[self.broker_id].log_end_offset < self.partition.leader_log.log_end_offset:
            self.on_leader_append(now)

    def on_arrival(self) -> None:
        """The timer's call: what was appended `lag_ms` ago is here."""
        now = self._now()
        self._arrival = None
        offset, appended_ms = -1, 0
        while self._on_the_way and self._on_the_way[0][0] <= now.mono_ms:
            _, offset, appended_ms = self._on_the_way.popleft()
        self._await_next(now)
        if offset >= 0:
            self._fetch(offset, appended_ms, now)

    def _send_off(self, now: Now) -> None:
        end_offset = self.partition.leader_log.log_end_offset
        self._on_the_way.append((now.mono_ms + self.behaviour.lag_ms, end_offset, now.mono_ms))
        if self._arrival is None:
            self._await_next(now)

    def _await_next(self, now: Now) -> None:
        if self._on_the_way:
            self._arrival = _Arrival(self._on_the_way[0][0] - now.mono_ms, self)
            self._timer.add(self._arrival, now.mono_ms)

    def _fetch(self, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        log = self.partition.replicas[self.broker_id].log
        for batch in self.partition.leader_log.batches_from(log.log_end_offset):
            if batch.last_offset >= up_to:
                break
            log.append(batch)
        self._leader(self.partition).follower_fetched(
            self.partition, self.broker_id, log.log_end_offset, caught_up_time_ms, now
        )
