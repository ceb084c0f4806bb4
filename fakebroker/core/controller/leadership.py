"""The leader of each partition: the decisions of KRaft's controller, and their effect on the brokers.

Theory   cluster_control.py decides when brokers come and go, elections.py which replica then leads. Once a returned
         broker is in the ISR, the next balancing, every 300 s, makes it lead again where it is the preferred leader.
         The order of every change is Kafka's: the metadata, the new leader, the followers, then the requests parked at
         a broker that no longer leads (error 6).
Units    monotonic milliseconds.
Source   metadata/.../controller/ReplicationControlManager.java @ 4.0: generateLeaderAndIsrUpdates,
         maybeBalancePartitionLeaders, maybeElectUncleanLeaders; core/.../server/ReplicaManager.scala applyDelta.
Differs  Partition by partition, without a metadata log in between: all brokers that reach the controller know of each
         at once. The others are in stale_views.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.alter_partition import look_again
from fakebroker.core.controller.elections import Election
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.partition_change import PartitionChange, TargetReplicas, change, current_target
from fakebroker.core.controller.stale_views import StaleViews
from fakebroker.core.probe import Probe
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.isr import (
    maybe_shrink_isr,
    next_out_of_sync_ms,
    note_last_fetch,
)
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition


@final
class Leadership:
    """The election of leaders, and its effect on followers and parked requests. `registry` has all brokers."""

    def __init__(
        self,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        followers: FollowerSet,
        wakeups: Wakeups,
        probe: Probe,
        on_leader: Callable[[Partition], None],
    ) -> None:
        """Create the leadership. `on_leader` is called with each partition that gets another leader."""
        self.registry = registry
        self.metadata = metadata
        self._followers = followers
        self._wakeups = wakeups
        self._probe = probe
        self._on_leader = on_leader
        self.views = StaleViews(metadata, followers, wakeups, probe)

    # Brokers that come and go. What happens to a partition happens in one slice.

    def leave(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """Let a broker in controlled shutdown lead and follow no more, and be in no ISR."""

        def leave(partition: Partition) -> None:
            if broker_id in partition.replicas:
                note_last_fetch(partition, broker_id, now().mono_ms)
                self._remove_from_isr(partition, broker_id, now())
                self._followers.of_broker(partition, broker_id).on_leader_change(now())

        return self.metadata.each_partition(leave)

    def remove_from_isrs(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """Remove the broker from all ISRs. Partitions that it led get another leader, or none."""
        return self.metadata.each_partition(lambda partition: self._remove_from_isr(partition, broker_id, now()))

    def _remove_from_isr(self, partition: Partition, broker_id: int, now: Now) -> None:
        replica = partition.replicas.get(broker_id)
        if replica is not None and replica.is_in_sync:
            self.elect(partition, partition.isr - {broker_id}, now)

    def unclean_shutdown(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """React to a broker that returns without a controlled shutdown: it may lack unflushed records."""

        def unclean_shutdown(partition: Partition) -> None:
            if broker_id in partition.isr or broker_id in partition.elr:
                self.elect(partition, partition.isr - {broker_id}, now(), unclean=(broker_id,))

        return self.metadata.each_partition(unclean_shutdown)

    def come_back(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """Let an unfenced broker lead where there is no leader, and its followers fetch, which may bring them back into
        the ISR."""

        def come_back(partition: Partition) -> None:
            if partition.leader_id == NO_LEADER:
                self.elect(partition, partition.isr, now())
            if broker_id in partition.replicas:
                self._followers.of_broker(partition, broker_id).on_leader_change(now())

        return self.metadata.each_partition(come_back)

    def work(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """React to a broker that works again: it learns of the ISRs of the partitions that it leads, and fetches."""

        def work(partition: Partition) -> None:
            if partition.leader_id == broker_id and partition.maybe_increment_leader_hw(now().mono_ms):
                self._wakeups.try_complete_delayed_requests(partition)
            self._followers.on_reach_change_of(partition, now())

        self._followers.begin_reach_change()
        return self.metadata.each_partition(work)

    def work_no_more(self, broker_id: int, now: Callable[[], Now], paused: BrokerConfig | None = None) -> Slices[None]:
        """React to a broker that fetches no more: it is gone, or is about to be paused with the settings `paused`."""

        def work_no_more(partition: Partition) -> None:
            if paused is not None:
                self._followers.keep_fetch(partition, broker_id, paused, now())
            if broker_id in partition.replicas:
                note_last_fetch(partition, broker_id, now().mono_ms)
            self._followers.on_reach_change_of(partition, now())

        self._followers.begin_reach_change()
        return self.metadata.each_partition(work_no_more)

    def reaches_controller_again(self, broker_id: int, now: Callable[[], Now]) -> Slices[None]:
        """React to a broker that reaches the controller again. Followers that have caught up meanwhile join the ISRs of
        its partitions."""

        def look(partition: Partition) -> None:
            if partition.leader_id == broker_id and look_again(partition, now()):
                self._wakeups.try_complete_delayed_requests(partition)

        return self.metadata.each_partition(look)

    def leads_any(self, broker_id: int) -> bool:
        return any(
            partition.leader_id == broker_id for topic in self.metadata.topics() for partition in topic.partitions
        )

    def note_last_fetches(self, broker_ids: Collection[int], now: Now) -> None:
        """Record the last fetches before these brokers stop or are cut off. Their followers, and those of partitions
        that they lead, were caught up until now if they had everything."""
        for partition in self.metadata.partitions():
            for broker_id in broker_ids:
                if broker_id in partition.replicas:
                    note_last_fetch(partition, broker_id, now.mono_ms)

    def move_leader(self, topic_partition: TopicPartition, broker_id: int, now: Now) -> None:
        """Make an in-sync replica the leader, unless it is already. Raise KafkaError with a message that names the
        problem."""
        partition = self.metadata.find_partition(topic_partition.topic, topic_partition.partition)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no partition {topic_partition}.")
        problem = None
        if broker_id not in partition.replicas:
            problem = f"its replicas are on {partition.replica_ids}"
        elif not self.registry.active([broker_id]):
            problem = "that broker is stopped"
        elif broker_id not in partition.isr:
            problem = f"it is not in the ISR {partition.isr_ids}, and acknowledged records could be lost"
        if problem is not None:
            raise KafkaError(
                ErrorCode.eligible_leaders_not_available,
                f"Broker {broker_id} cannot lead {topic_partition}: {problem}.",
            )
        if broker_id != partition.leader_id:
            self.make_leader(partition, broker_id, partition.isr, now)

    def elect(self, partition: Partition, target_isr: set[int], now: Now, unclean: Collection[int] = ()) -> None:
        """Let the controller elect a leader for the new ISR. The replicas `unclean` are not eligible."""
        election = Election.UNCLEAN if partition.config.unclean_leader_election_enable else Election.ONLINE
        self.apply(partition, change(partition, target_isr, election, unclean=unclean), now)

    def apply(self, partition: Partition, decided: PartitionChange, now: Now) -> None:
        """Apply a decision to the metadata, the leader, the followers, and the parked requests that can no longer
        complete."""
        leader_id, target = decided.leader_id, decided.target
        self.metadata.decisions += 1
        if leader_id != partition.leader_id or any(
            broker_id not in target.replicas for broker_id in partition.replicas
        ):
            self.views.before_new_leader(partition, now)
        gone: list[int] = []
        came: list[int] = []
        if target != current_target(partition):
            came = [broker_id for broker_id in target.replicas if broker_id not in partition.replicas]
            gone = self._set_replicas(partition, target, now)
        if leader_id == NO_LEADER:
            if partition.leader_id != NO_LEADER:
                partition.lose_leader(decided.isr)
                self.metadata.note_leader_epoch(partition.leader_epoch)
                self._followers.on_leader_change(partition, now)
                self._wakeups.complete_when_not_leader(partition, [*partition.replicas, *gone])
                self.metadata.publisher.leader_changed(partition)
            partition.elr = decided.elr
        elif leader_id != partition.leader_id or gone:
            partition.elr = decided.elr  # set first: followers that join the ISR may end it
            self.make_leader(partition, leader_id, set(decided.isr), now)
        else:
            moved = partition.update_isr(decided.isr, now.mono_ms)
            partition.elr = decided.elr
            if moved:
                self._wakeups.try_complete_delayed_requests(partition)
            for broker_id in came:
                self._followers.of_broker(partition, broker_id).on_leader_change(now)
        self._wakeups.complete_when_not_leader(partition, gone)

    def _set_replicas(self, partition: Partition, target: TargetReplicas, now: Now) -> list[int]:
        """Set the replicas of a partition. Return the brokers that lost theirs."""
        removed = partition.set_replicas(target.replicas, target.adding, target.removing, now.mono_ms)
        self._followers.on_replicas_change(partition)
        for replica in removed:
            replica.log.truncate_fully_and_start_at(replica.log.log_end_offset)
        if not partition.is_reassigning:
            partition.on_isr_change = None
        return [replica.broker_id for replica in removed]

    def make_leader(self, partition: Partition, broker_id: int, isr: set[int], now: Now) -> None:
        """Begin a new leadership, and inform all brokers that reach the controller."""
        self.views.before_new_leader(partition, now)
        if partition.become_leader(broker_id, isr, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(partition)
        self.metadata.note_leader_epoch(partition.leader_epoch)
        self._on_leader(partition)
        self._followers.on_leader_change(partition, now)
        others = [other for other in partition.replicas if other != broker_id]
        self._wakeups.complete_when_not_leader(partition, others)
        self.metadata.publisher.leader_changed(partition)

    # Periodic work.

    def maybe_shrink_isrs(self, now: Callable[[], Now]) -> Slices[None]:
        """Shrink the ISRs of all partitions (ReplicaManager.maybeShrinkIsr)."""

        def shrink(partition: Partition) -> None:
            if _has_heard_leader(partition) and maybe_shrink_isr(partition, now().mono_ms):
                self._wakeups.try_complete_delayed_requests(partition)  # the watermark may pass removed ones

        return self.metadata.each_partition(shrink)

    def isrs_matter_ms(self, now: Now) -> int:
        """Return the time at which `maybe_shrink_isrs` next has work, if nothing happens until then."""
        soonest_ms = NEVER_MS
        for partition in self.metadata.partitions():
            if partition.leader_id != NO_LEADER:
                out_of_sync_ms = next_out_of_sync_ms(partition)
                if out_of_sync_ms is not None and out_of_sync_ms < soonest_ms and _has_heard_leader(partition):
                    soonest_ms = out_of_sync_ms
        return soonest_ms

    def balance_leaders(self, now: Callable[[], Now]) -> Slices[None]:
        """Let the preferred replica lead wherever it may (ReplicationControlManager.maybeBalancePartitionLeaders)."""

        def balance(partition: Partition) -> None:
            if self._is_unbalanced(partition):
                self.make_leader(partition, partition.replica_ids[0], partition.isr, now())

        return self.metadata.each_partition(balance)

    def _is_unbalanced(self, partition: Partition) -> bool:
        preferred = partition.replica_ids[0]
        return NO_LEADER != partition.leader_id != preferred and preferred in self.registry.active(partition.isr)

    def maybe_elect_unclean_leaders(self, now: Callable[[], Now]) -> Slices[None]:
        """Elect leaders for partitions without one where the topic allows an unclean election
        (ReplicationControlManager.maybeElectUncleanLeaders)."""

        def elect(partition: Partition) -> None:
            if _may_be_unclean(partition):
                self.elect(partition, partition.isr, now())

        return self.metadata.each_partition(elect)

    def balance_matters_ms(self, now: Now) -> int:
        """Return the time at which `balance_leaders` next has work."""
        return now.mono_ms if any(map(self._is_unbalanced, self.metadata.partitions())) else NEVER_MS

    def unclean_elections_matter_ms(self, now: Now) -> int:
        """Return the time at which `maybe_elect_unclean_leaders` next has work."""
        return now.mono_ms if any(map(_may_be_unclean, self.metadata.partitions())) else NEVER_MS


def _has_heard_leader(partition: Partition) -> bool:
    return partition.leader_id != NO_LEADER and partition.leader.broker.is_heard  # else it cannot ask for another ISR


def _may_be_unclean(partition: Partition) -> bool:
    return partition.leader_id == NO_LEADER and partition.config.unclean_leader_election_enable
