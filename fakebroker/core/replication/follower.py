"""Followers as actors: each replica that does not lead copies the leader's log in a rhythm that the user sets.

Theory   A leader knows a follower only by its fetches. The next fetch offset acknowledges the records that the fetch
         before delivered, so "the follower has it" and "the leader knows that" are one event here. It happens
           instant     in the turn of the append, after the request (Kafka: the append completes its parked fetch)
           lagging     `lag_ms` after the append, for each append on its own
           throttled   when the last byte of a batch has come over a line of `bytes_per_s`, one batch after the other,
                       rounded up to a millisecond
           frozen      never; the follower goes on fetching from its present offset, as one with a hanging disk. It
                       leaves the ISR replica.lag.time.max.ms after it last had everything.
           external    when a client that plays the follower sends Fetch requests over the wire (reads.py)
         A slow disk delays each of these by RegisteredBroker.disk_write_ms; with a full disk the event never happens. A
         topic may have throttled replicas (core/quota/follower_throttle.py). Records that a follower would copy in its
         rhythm are then held back by the quota, and copied fetch by fetch. When a new leadership begins, or the
         follower can reach its leader again, all records under way are lost. The follower drops what the leader does
         not have, fetches from its log end, and goes on in its rhythm.
Units    monotonic milliseconds.
Source   core/.../server/{ReplicaFetcherThread,AbstractFetcherThread}.scala @ 4.0 for the order of events.
Differs  Not a network peer: its fetch is a call of the leader's partition. It reports its exact caught-up time; Kafka
         infers it from two successive fetches (replica.py) and computes a slightly earlier time. A frozen follower
         truncates like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from fakebroker.core.clock import Now
from fakebroker.core.quota.follower_throttle import FollowerProgress, FollowerThrottle, is_throttled
from fakebroker.core.quota.replication import ReplicationQuotas
from fakebroker.core.replication.behaviour import EXTERNAL, FIRST_COMMAND, FROZEN, INSTANT, Behaviour
from fakebroker.core.replication.isr import update_follower_fetch_state
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.replica import NEVER_MS
from fakebroker.core.replication.standing_still.unread_answers import UnreadAnswer
from fakebroker.core.replication.wakeups import Wakeups
from timingwheel import SystemTimer, TimerTask

_MS_PER_S = 1000


class _UnderWay(NamedTuple):
    """A stretch of the log on its way: everything below `end_offset` arrives at `arrives_ms`."""

    arrives_ms: int
    end_offset: int
    appended_ms: int  # NEVER_MS if it was appended long ago


class _Call(TimerTask):
    """A delayed call of a follower."""

    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


class Follower:
    """The actor of one replica. It rests while the replica leads."""

    def __init__(
        self,
        partition: Partition,
        broker_id: int,
        behaviour: Behaviour,
        timer: SystemTimer,
        wakeups: Wakeups,
        now: Callable[[], Now],
        quotas: ReplicationQuotas,
    ) -> None:
        self.partition = partition
        self.broker_id = broker_id
        self._replica = partition.replicas[broker_id]
        self.start_with(behaviour)
        self._is_stopped = False
        self._connect()
        self._timer = timer
        self._wakeups = wakeups
        self._now = now
        self._under_way: deque[_UnderWay] = deque()
        self._arrival: _Call | None = None
        self._line_busy_since_ms = 0  # of a throttled follower: the time since when the line is busy,
        self._line_bytes = 0  # and the bytes sent since then
        self._throttle = FollowerThrottle(partition.topic_partition.partition, broker_id, quotas)
        self._config, self._is_throttled = partition.config, is_throttled(partition.config)
        self._next_fetch: _Call | None = None  # of a follower that a quota holds back
        self._held_up_to = 0  # the end of what it fetches then
        self.obeys = FIRST_COMMAND
        self.unread: UnreadAnswer | None = None  # of a paused follower

    @property
    def leads(self) -> bool:
        return self.partition.leader_id == self.broker_id

    @property
    def is_following(self) -> bool:
        """True if another replica leads and this one can reach it."""
        leader_id = self.partition.leader_id
        return leader_id not in (NO_LEADER, self.broker_id) and self._replica.is_connected and not self._is_stopped

    def on_leader_append(self, now: Now) -> None:
        """React to an append of the leader."""
        if self.is_following:
            self._take(now, now.mono_ms)
        elif self.unread is not None:
            self.unread.on_append(now)

    @property
    def waits_in_fetch(self) -> bool:
        """True if the follower has all that its leader has, and would take the next append at once."""
        replica = self._replica
        takes_at_once = self.is_following and self._is_instant and not replica.broker.disk_write_ms
        return takes_at_once and replica.log.log_end_offset == self.partition.leader_log.log_end_offset

    def on_log_start_moved(self, now: Now) -> None:
        """React to a new log start of the leader. The next fetch reports that this replica has moved its own."""
        if not self.is_following or self.behaviour in (FROZEN, EXTERNAL):
            return
        if self.behaviour.name == "lagging":
            end_offset = self.partition.leader_log.log_end_offset
            self._under_way.append(_UnderWay(now.mono_ms + self.behaviour.lag_ms, end_offset, now.mono_ms))
            if self._arrival is None:
                self._await_next(now)
        elif not self._under_way:
            self._fetch(self._replica.log.log_end_offset, NEVER_MS, now)

    def on_leader_change(self, now: Now) -> None:
        """React to a new leadership, or to the loss of the leader."""
        self._connect()
        self._drop_under_way()
        if self.is_following and self.behaviour.name != "external":
            self._start_over(now)

    def on_reach_change(self, now: Now) -> None:
        """React to a change of which brokers work, or which broker can reach which."""
        was_connected = self._replica.is_connected
        self._connect()
        if self._replica.is_connected != was_connected:
            self.on_leader_change(now)

    def _connect(self) -> None:
        """Set whether the follower can fetch: both know of this leadership, and it can reach the leader. A broker in
        controlled shutdown does not fetch (ReplicaManager.applyDelta)."""
        partition, leader_id, brokers = self.partition, self.partition.leader_id, self.partition.brokers
        source_id = self.broker_id if leader_id == NO_LEADER else leader_id
        is_going = brokers[self.broker_id].in_controlled_shutdown
        is_known = partition.unaware.isdisjoint((self.broker_id, source_id))
        self._replica.is_connected = not is_going and is_known and brokers.can_reach(self.broker_id, source_id)

    def set_behaviour(self, behaviour: Behaviour, now: Now) -> None:
        """Change the behaviour. Records on their way are dropped; a follower that is behind starts anew."""
        was_external = self._replica.is_external
        self.behaviour = behaviour
        self._is_instant = behaviour.name == "instant"
        if behaviour != FROZEN:
            self.before_freeze = behaviour
        self._replica.set_external(behaviour.name == "external")
        self._drop_under_way()
        if not self.is_following or behaviour.name == "external":
            return
        if was_external:
            self._start_over(now)
        elif self._replica.log_end_offset < self.partition.leader_log.log_end_offset:
            self._take(now, NEVER_MS)
        elif self._replica.log_start_offset < self.partition.leader_log.log_start_offset:
            self.on_log_start_moved(now)

    def start_with(self, behaviour: Behaviour) -> None:
        """Set the behaviour of a new replica, before it knows a leader."""
        self.behaviour = behaviour
        self._is_instant = behaviour.name == "instant"
        self.before_freeze = INSTANT if behaviour == FROZEN else behaviour
        self._replica.set_external(behaviour.name == "external")

    def stop(self) -> None:
        """Stop for good: the partition is gone, or has no such replica any more."""
        self._is_stopped, self._replica.is_connected = True, False
        self._drop_under_way()

    def on_arrival(self) -> None:
        """Apply the stretches of the log that have arrived."""
        now, end_offset = self._now(), -1
        self._arrival = None
        while self._under_way and self._under_way[0].arrives_ms <= now.mono_ms:
            end_offset = self._under_way.popleft().end_offset
        self._await_next(now)
        if end_offset >= 0:
            # It had everything until the first record that it lacks was appended.
            caught_up_time_ms = self._under_way[0].appended_ms if self._under_way else now.mono_ms
            self._fetch(end_offset, caught_up_time_ms, now)

    def on_next_fetch(self) -> None:
        """Fetch what the quota held back. The timer calls this when the quota may let something through."""
        now = self._now()
        self._next_fetch = None
        has_everything = self._held_up_to == self.partition.leader_log.log_end_offset
        self._fetch(self._held_up_to, now.mono_ms if has_everything else NEVER_MS, now)

    def on_throttle_change(self, now: Now) -> None:
        """React to altered rates, or to altered lists of throttled replicas."""
        if self._next_fetch is not None:
            self._next_fetch.cancel()
            self._await_fetch(now.mono_ms + 1, now)

    def _start_over(self, now: Now) -> None:
        """Drop what the leader does not have, fetch from the log end that is left, and go on from there."""
        self._replica.truncate_to_leader(self.partition.leader)
        end_offset = self._replica.log.log_end_offset
        has_everything = end_offset == self.partition.leader_log.log_end_offset
        self._fetch(end_offset, now.mono_ms if has_everything else NEVER_MS, now)
        if not has_everything:
            self._take(now, NEVER_MS)

    def _take(self, now: Now, appended_ms: int) -> None:
        """Begin to copy what the replica lacks. `appended_ms` is NEVER_MS for records that it has lacked for long."""
        if self._is_instant and not self._replica.broker.disk_write_ms:
            self._fetch(self.partition.leader_log.log_end_offset, now.mono_ms, now)
        elif self.behaviour not in (FROZEN, EXTERNAL):
            self._send_off(now, appended_ms)

    def _send_off(self, now: Now, appended_ms: int) -> None:
        start = self._under_way[-1].end_offset if self._under_way else self._replica.log.log_end_offset
        if self._next_fetch is not None:
            start = max(start, self._held_up_to)
        log = self.partition.leader_log
        if start >= log.log_end_offset:
            return  # a batch that the leader had already
        write_ms = self._replica.broker.disk_write_ms
        if self.behaviour.name != "throttled":
            arrives_ms = now.mono_ms + self.behaviour.lag_ms + write_ms
            self._under_way.append(_UnderWay(arrives_ms, log.log_end_offset, appended_ms))
        else:
            for batch in log.batches_from(start):
                arrives_ms = self._line_delivers_at(batch.size, now) + write_ms
                self._under_way.append(_UnderWay(arrives_ms, batch.last_offset + 1, appended_ms))
        if self._arrival is None:
            self._await_next(now)

    def _line_delivers_at(self, size: int, now: Now) -> int:
        """Return the time at which the line of a throttled follower has delivered `size` bytes behind those under
        way."""
        if not self._under_way:
            self._line_busy_since_ms, self._line_bytes = now.mono_ms, 0
        self._line_bytes += size
        return self._line_busy_since_ms - (-self._line_bytes * _MS_PER_S // self.behaviour.bytes_per_s)

    def _await_next(self, now: Now) -> None:
        if self._under_way:
            self._arrival = _Call(self._under_way[0].arrives_ms - now.mono_ms, self.on_arrival)
            self._timer.add(self._arrival, now.mono_ms)

    def _drop_under_way(self) -> None:
        self._under_way.clear()
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None
        if self._next_fetch is not None:
            self._next_fetch.cancel()
            self._next_fetch = None

    def _fetch(self, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        if self.partition.config is not self._config:  # checked for each append, so the derived flag is kept
            self._config = self.partition.config
            self._is_throttled = is_throttled(self._config)
        if self._is_throttled:
            self._fetch_throttled(up_to, caught_up_time_ms, now)
        else:
            self._copy(up_to, caught_up_time_ms, now)

    def _fetch_throttled(self, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        """Fetch as much as a quota lets through now, and schedule the rest."""
        if self._next_fetch is not None:
            self._held_up_to = max(self._held_up_to, up_to)
            return
        partition, log, now_ms = self.partition, self._replica.log, now.mono_ms
        start, end_offset = log.log_end_offset, up_to
        if start < up_to:
            standing = FollowerProgress(self._replica.is_in_sync, start >= partition.high_watermark)
            next_ms = self._throttle.next_fetch_ms(partition.config, partition.leader_id, standing, now_ms)
            if next_ms is not None:
                end_offset = self._end_of_fetch(start, up_to) if next_ms == now_ms else start
                if end_offset < up_to:
                    self._held_up_to, caught_up_time_ms = up_to, NEVER_MS
                    self._await_fetch(max(next_ms, now_ms + 1), now)
            if end_offset > start:
                size = partition.leader_log.size_between(start, end_offset)
                if end_offset < up_to:  # the last batch is cut, and the bytes received count
                    size = max(size, self._throttle.fetch_max_bytes)
                self._throttle.record(partition.config, partition.leader_id, size, now_ms)
        self._copy(end_offset, caught_up_time_ms, now)

    def _end_of_fetch(self, start: int, up_to: int) -> int:
        """Return the end of one fetch from `start` on: whole batches, and at least one."""
        left = self._throttle.fetch_max_bytes
        end_offset = start
        for batch in self.partition.leader_log.batches_from(start):
            left -= batch.size
            if batch.last_offset >= up_to or (left < 0 and end_offset > start):
                return end_offset
            end_offset = batch.last_offset + 1
        return up_to

    def _await_fetch(self, at_ms: int, now: Now) -> None:
        self._next_fetch = _Call(at_ms - now.mono_ms, self.on_next_fetch)
        self._timer.add(self._next_fetch, now.mono_ms)

    def _copy(self, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        partition, replica = self.partition, self._replica
        if replica.broker.on_disk_full is not None and replica.log.log_end_offset < up_to:
            replica.broker.on_disk_full()
            return
        replica.copy_from(partition.leader, up_to)
        end_offset = replica.log.log_end_offset
        if update_follower_fetch_state(partition, replica, end_offset, caught_up_time_ms, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(partition)
        if replica.log_start_offset != replica.log.log_start_offset:
            replica.log_start_offset = replica.log.log_start_offset
            self._wakeups.on_low_watermark(partition)
