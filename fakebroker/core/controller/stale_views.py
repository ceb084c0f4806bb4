"""The stale views of brokers that do not reach the controller: a deposed leader does not know of its successor.

Theory   A broker that is paused, or does not reach the controller, learns of no decision. Its view of the metadata is
         frozen. Where a partition gets another leadership the broker keeps the old one, in a Partition of its own: the
         leader epoch, the ISR, and its own log. If it led there it goes on:

           - acks=1: NONE. The record is in its log alone, and lost when it learns of its successor.
           - acks=all: parked for an ISR that no longer fetches, and that it cannot have changed. It ends at its
             timeout (7), or when the broker learns of its successor (6).
           - Fetch: up to its old high watermark. A follower with the same stale view goes on fetching, and counts.
           - Metadata: the old leader.

         The other brokers fetch from the new leader. When the broker learns of it, it becomes a follower: requests
         parked there are re-checked, and its log is truncated by epochs, as that of any follower.
Units    monotonic milliseconds.
Source   core/.../server/metadata/BrokerMetadataPublisher.scala; core/.../server/ReplicaManager.scala applyDelta,
         core/.../cluster/Partition.scala @ 4.0: each broker has a Partition, which knows what the metadata log told it.
Differs  A broker that reaches the controller has no Partition of its own. A leader that stays leader without reaching
         the controller goes by the present ISR, though its metadata have the old one. Fetches that cross epochs (74,
         75) are not sent: a broker that knows of another leadership does not fetch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.journal.broker_events import LeaderStale, MetadataCaughtUp
from fakebroker.core.probe import Probe
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica import Replica
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol.slices import Slices

_FREED_IN_A_SLICE: Final = 1_024  # topics, or partitions


@final
class StaleViews:
    """The views of the brokers that do not reach the controller."""

    def __init__(self, truth: MetadataCache, followers: FollowerSet, wakeups: Wakeups, probe: Probe) -> None:
        self._truth = truth
        self._followers = followers
        self._wakeups = wakeups
        self._probe = probe
        self._views: dict[int, MetadataCache] = {}
        self._stale: dict[int, list[Partition]] = {}

    def freeze(self, broker_id: int, view: MetadataCache) -> Slices[bool]:
        """Freeze the view of a broker. Return False if it was frozen before."""
        if broker_id in self._views:
            return False
        yield from view.freeze()
        self._views[broker_id] = view
        self._stale[broker_id] = []
        self._followers.unaware = frozenset(self._views)
        return True

    def is_unaware(self, broker_id: int) -> bool:
        """Return True if the broker does not reach the controller, or does not know yet what it missed."""
        return broker_id in self._views

    def has_missed(self, broker_id: int) -> bool:
        """Return True if the broker has missed a decision."""
        return broker_id in self._views and (bool(self._stale[broker_id]) or self._views[broker_id].has_missed)

    def before_new_leader(self, partition: Partition, now: Now) -> None:
        """Keep the old leadership of a partition for brokers with a frozen view, before a new one begins."""
        if not self._views:
            return
        tp = partition.topic_partition
        partition.unaware = self._followers.unaware
        members = [id_ for id_, view in self._views.items() if view.find_partition(tp.topic, tp.partition) is partition]
        for broker_id in members:
            stale = _stale_of(partition, members, self._probe, now)
            if partition.stale is None:
                partition.stale = {}
            partition.stale[broker_id] = stale
            self._stale[broker_id].append(stale)
            self._views[broker_id].keep(stale)
            leads = partition.leader_id == broker_id
            self._followers.add_stale(stale, partition, members if leads else (), now)
            if leads:
                probe = self._probe
                if probe.listeners:
                    probe.tell(LeaderStale(*probe.times, broker_id, *tp, stale.leader_epoch))

    def deleted(self, partition: Partition) -> None:
        """Delete the stale views of a deleted partition."""
        for stale in (partition.stale or {}).values():
            stale.is_deleted = True
            self._followers.remove(stale)
            stale.truth = None
        partition.stale = None

    def hears(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """Update a broker that reaches the controller again, partition by partition. It follows or leads, and requests
        parked there are re-checked."""
        if broker_id in self._views:
            if self.has_missed(broker_id) and self._probe.listeners:
                self._probe.tell(MetadataCaughtUp(*self._probe.times, broker_id))
            yield from self._forget(broker_id, lambda partition: self._learn(partition, broker_id, now()))

    def gone(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """Drop the view of a crashed broker."""
        if broker_id in self._views:

            def drop(partition: Partition) -> None:
                self._drop(partition, broker_id, now())

            yield from self._forget(broker_id, drop)

    def check_invariants(self) -> None:
        assert self._views.keys() == self._stale.keys() == self._followers.unaware
        for broker_id, partitions in self._stale.items():
            for stale in partitions:
                truth = stale.truth
                if truth is None:
                    assert stale.is_deleted
                    continue
                assert truth.stale is not None
                assert truth.stale[broker_id] is stale
                assert stale.leader_epoch < truth.leader_epoch
                for replica in stale.replicas.values():
                    replica.check_invariants()
        for partition in self._truth.partitions():
            assert partition.unaware.issubset(self._followers.unaware)
            assert partition.truth is None

    def _forget(self, broker_id: int, forget: Callable[[Partition], None]) -> Slices[None]:
        """Drop the view of a broker, partition by partition. The view stays frozen until the end."""
        yield from self._truth.each_partition(forget)
        kept = self._views.pop(broker_id).thaw()
        del self._stale[broker_id]
        self._followers.unaware = frozenset(self._views)
        left = [
            partition
            for topic in self._truth.topics()
            for partition in topic.partitions
            if broker_id in partition.unaware or (partition.stale is not None and broker_id in partition.stale)
        ]
        for partition in left:  # they were made, or got another leader, meanwhile
            forget(partition)
        for mapping in kept:
            while len(mapping) > _FREED_IN_A_SLICE:
                for _ in range(_FREED_IN_A_SLICE):
                    mapping.popitem()
                yield

    def _learn(self, partition: Partition, broker_id: int, now: Now) -> None:
        is_unknown = partition.leader_id == broker_id in partition.unaware
        had_stale = self._drop(partition, broker_id, now, begins_to_lead=is_unknown)
        if had_stale:
            self._wakeups.complete_when_not_leader(partition, (broker_id,))

    def _drop(self, partition: Partition, broker_id: int, now: Now, begins_to_lead: bool = False) -> bool:
        """Drop the view that a broker has of a partition. Return True if it did not know the present leadership."""
        stale = None if partition.stale is None else partition.stale.pop(broker_id, None)
        is_unaware = broker_id in partition.unaware
        if stale is not None:
            stale.is_deleted = True
            self._followers.remove(stale)
            _drop_logs(stale)
            if broker_id in self._views:
                self._views[broker_id].learn(stale, partition)
            for other in (partition.stale or {}).values():
                self._followers.leaves_stale(other, broker_id)
            if not partition.stale:
                partition.stale = None
        if is_unaware:
            partition.unaware -= {broker_id}
        if begins_to_lead:
            _begins_to_lead(partition, now)
        if stale is not None or is_unaware:
            self._followers.on_reach_change_of(partition, now)
        return stale is not None


def _begins_to_lead(partition: Partition, now: Now) -> None:
    """Begin the leadership of a broker that learns only now that it leads. It begins with its present log."""
    leader = partition.leader
    start_offset = partition.leader_epoch_start_offset
    leader.leader_epochs.truncate_from_end(start_offset)
    for batch in leader.log.batches_from(start_offset):
        leader.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
    end_offset = partition.leader_epoch_start_offset = leader.log.log_end_offset
    leader.leader_epochs.assign(partition.leader_epoch, end_offset)
    for replica in partition.replicas.values():
        replica.reset(now.mono_ms)
    leader.update_fetch_state(end_offset, now.mono_ms)
    if end_offset != start_offset:
        partition.tell_leader()


def _stale_of(truth: Partition, members: Sequence[int], probe: Probe, now: Now) -> Partition:
    """Return a copy of a partition in its present state, for brokers with a frozen view. Those of `members` with a
    replica go on with its log; the positions of the others count as they are now. Nothing is moved out of its memory.
    """
    config, lag_max_ms = truth.config, truth.replica_lag_time_max_ms
    stale = Partition(truth.topic_partition, truth.replica_ids, config, lag_max_ms, now.mono_ms, probe=probe)
    stale.brokers, stale.truth = truth.brokers, truth
    stale.leader_id, stale.leader_epoch = truth.leader_id, truth.leader_epoch
    stale.leader_epoch_start_offset, stale.is_under_min_isr = truth.leader_epoch_start_offset, truth.is_under_min_isr
    stale.adding, stale.removing = truth.adding, truth.removing
    stale.elr, stale.last_known_elr = truth.elr, truth.last_known_elr
    stale.replicas = {
        broker_id: _copy_of(replica, broker_id in members) for broker_id, replica in truth.replicas.items()
    }
    stale.followers = [replica for replica in stale.replicas.values() if replica.broker_id != stale.leader_id]
    stale.last_leader = stale.replicas.get(truth.last_leader.broker_id) or stale.last_leader
    stale.unaware = frozenset(stale.replicas).difference(members)
    return stale


def _copy_of(replica: Replica, shares_log: bool) -> Replica:
    copy = Replica(replica.broker)
    copy.is_in_sync = replica.is_in_sync
    copy.is_external, copy.was_external = replica.is_external, replica.was_external
    copy.is_connected = False
    copy.log_end_offset, copy.log_start_offset = replica.log_end_offset, replica.log_start_offset
    copy.last_caught_up_time_ms = replica.last_caught_up_time_ms
    copy.last_fetch_leader_log_end_offset = replica.last_fetch_leader_log_end_offset
    copy.last_fetch_time_ms, copy.broker_epoch = replica.last_fetch_time_ms, replica.broker_epoch
    if shares_log:
        copy.log, copy.leader_epochs, copy.log_dir = replica.log, replica.leader_epochs, replica.log_dir
    return copy


def _drop_logs(stale: Partition) -> None:
    """Drop the logs that only a stale partition has."""
    assert stale.truth is not None
    for broker_id, replica in stale.replicas.items():
        kept = stale.truth.replicas.get(broker_id)
        if kept is None or kept.log is not replica.log:
            replica.log.truncate_fully_and_start_at(replica.log.log_end_offset)
