"""Who leads each partition: what KRaft's controller decides, and what the brokers then do.

Theory   Why brokers come and go is in cluster_control.py, who is elected then in elections.py. Once a broker that came
         back is in the ISR, what it is the preferred leader of comes back to it with the next balancing, every 300 s.
         Whatever changes, the order is Kafka's: the metadata first, then the new leader, then the followers, then those
         who wait at a broker that does not lead any more (answer 6).
Units    monotonic milliseconds.
Source   metadata/.../controller/ReplicationControlManager.java @ 4.0: generateLeaderAndIsrUpdates,
         maybeBalancePartitionLeaders, maybeElectUncleanLeaders; core/.../server/ReplicaManager.scala applyDelta.
Differs  In one step, without a metadata log in between: everybody who hears knows at once (stale_views.py has who does
         not).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.controller.alter_partition import look_again
from fakebroker.core.controller.elections import Election
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.partition_change import PartitionChange, Target, change, current_target
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
from fakebroker.protocol.topic_partition import TopicPartition


@final
class Leadership:
    """Elects leaders, and tells followers and waiters of it. `registry` has all brokers there are."""

    def __init__(
        self,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        followers: FollowerSet,
        wakeups: Wakeups,
        probe: Probe,
        on_leader: Callable[[Partition], None],
    ) -> None:
        """`on_leader` is told of each partition that another broker leads from now on."""
        self.registry = registry
        self.metadata = metadata
        self._followers = followers
        self._wakeups = wakeups
        self._probe = probe
        self._on_leader = on_leader
        self.views = StaleViews(metadata, followers, wakeups, probe)

    def remove_from_isrs(self, broker_id: int, now: Now) -> None:
        """The broker may be in sync with nobody any more: whoever it led has another leader, or none."""
        for partition in self.metadata.partitions():
            if broker_id in partition.replicas and broker_id in partition.isr:
                self.elect(partition, partition.isr - {broker_id}, now)

    def unclean_shutdown(self, broker_id: int, now: Now) -> None:
        """The broker comes back and cannot say that it went in order: it may lack what it had not written down."""
        for partition in self.metadata.partitions():
            if broker_id in partition.isr or broker_id in partition.elr:
                self.elect(partition, partition.isr - {broker_id}, now, unclean=(broker_id,))

    def elect_where_nobody_leads(self, now: Now) -> None:
        """A broker is there that may lead."""
        for partition in self.metadata.partitions():
            if partition.leader_id == NO_LEADER:
                self.elect(partition, partition.isr, now)

    def let_follow(self, broker_id: int, now: Now) -> None:
        """The broker may be in sync again: its next fetches tell whether it is."""
        for partition in self.metadata.partitions():
            if broker_id in partition.replicas:
                self._followers.of_broker(partition, broker_id).on_leader_change(now)

    def goes_on_leading(self, broker_id: int, now: Now) -> None:
        """A broker that stood still works again: it hears of the ISRs of what it leads."""
        for partition in self.metadata.partitions():
            if partition.leader_id == broker_id and partition.maybe_increment_leader_hw(now.mono_ms):
                self._wakeups.try_complete_delayed_requests(partition)

    def reaches_controller_again(self, broker_id: int, now: Now) -> None:
        """A broker can ask for other ISRs again: who has caught up meanwhile joins those of what it leads."""
        for partition in self.metadata.partitions():
            if partition.leader_id != broker_id:
                continue
            if look_again(partition, now):
                self._wakeups.try_complete_delayed_requests(partition)

    def leads_any(self, broker_id: int) -> bool:
        return any(partition.leader_id == broker_id for partition in self.metadata.partitions())

    def note_last_fetches(self, broker_ids: Collection[int], now: Now) -> None:
        """These brokers are about to work no more, or to be cut off: their followers, and those of what they lead, were
        caught up until now if they had everything."""
        for partition in self.metadata.partitions():
            for broker_id in broker_ids:
                if broker_id in partition.replicas:
                    note_last_fetch(partition, broker_id, now.mono_ms)

    def move_leader(self, topic_partition: TopicPartition, broker_id: int, now: Now) -> None:
        """Make an in-sync replica the leader; nothing happens if it is. Raises KafkaError in words that say what is
        wrong."""
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
        """Let the controller decide who leads when the ISR is to become this, and `unclean` are not eligible."""
        election = Election.UNCLEAN if partition.config.unclean_leader_election_enable else Election.ONLINE
        self.apply(partition, change(partition, target_isr, election, unclean=unclean), now)

    def apply(self, partition: Partition, decided: PartitionChange, now: Now) -> None:
        """Let it be so: the metadata, the leader, the followers, and those who wait in vain."""
        leader_id, target = decided.leader_id, decided.target
        self.metadata.decisions += 1
        if leader_id != partition.leader_id or any(each not in target.replicas for each in partition.replicas):
            self.views.before_new_leader(partition, now)
        gone: list[int] = []
        came: list[int] = []
        if target != current_target(partition):
            came = [broker_id for broker_id in target.replicas if broker_id not in partition.replicas]
            gone = self._set_replicas(partition, target, now)
        if leader_id == NO_LEADER:
            if partition.leader_id != NO_LEADER:
                partition.lose_leader(decided.isr)
                self._followers.on_leader_change(partition, now)
                self._wakeups.complete_when_not_leader(partition, [*partition.replicas, *gone])
                self.metadata.publisher.leader_changed(partition)
            partition.elr = decided.elr
        elif leader_id != partition.leader_id or gone:
            partition.elr = decided.elr  # first: followers that join the ISR may end it
            self.make_leader(partition, leader_id, set(decided.isr), now)
        else:
            moved = partition.update_isr(decided.isr, now.mono_ms)
            partition.elr = decided.elr
            if moved:
                self._wakeups.try_complete_delayed_requests(partition)
            for broker_id in came:
                self._followers.of_broker(partition, broker_id).on_leader_change(now)
        self._wakeups.complete_when_not_leader(partition, gone)

    def _set_replicas(self, partition: Partition, target: Target, now: Now) -> list[int]:
        """The brokers that have no replica any more."""
        removed = partition.set_replicas(target.replicas, target.adding, target.removing, now.mono_ms)
        self._followers.on_replicas_change(partition)
        for replica in removed:
            replica.log.truncate_fully_and_start_at(replica.log.log_end_offset)
        if not partition.is_reassigning:
            partition.on_isr_change = None
        return [replica.broker_id for replica in removed]

    def make_leader(self, partition: Partition, broker_id: int, isr: set[int], now: Now) -> None:
        """Begin a new leadership, and tell everybody who hears."""
        self.views.before_new_leader(partition, now)
        if partition.become_leader(broker_id, isr, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(partition)
        self._on_leader(partition)
        self._followers.on_leader_change(partition, now)
        others = [other for other in partition.replicas if other != broker_id]
        self._wakeups.complete_when_not_leader(partition, others)
        self.metadata.publisher.leader_changed(partition)

    # Periodically.

    def maybe_shrink_isrs(self, now: Now) -> None:
        """ReplicaManager.maybeShrinkIsr, for all brokers."""
        for partition in self.metadata.partitions():
            if _has_heard_leader(partition) and maybe_shrink_isr(partition, now.mono_ms):
                self._wakeups.try_complete_delayed_requests(partition)  # the watermark may pass those who left

    def isrs_matter_ms(self, now: Now) -> int:
        """When `maybe_shrink_isrs` next has anything to do, if nothing happens until then."""
        soonest_ms = NEVER_MS
        for partition in self.metadata.partitions():
            if _has_heard_leader(partition):
                out_of_sync_ms = next_out_of_sync_ms(partition)
                if out_of_sync_ms is not None and out_of_sync_ms < soonest_ms:
                    soonest_ms = out_of_sync_ms
        return soonest_ms

    def balance_leaders(self, now: Now) -> None:
        """ReplicationControlManager.maybeBalancePartitionLeaders: let the first replica lead wherever it may."""
        for partition in self.metadata.partitions():
            if self._is_unbalanced(partition):
                self.make_leader(partition, partition.replica_ids[0], partition.isr, now)

    def _is_unbalanced(self, partition: Partition) -> bool:
        preferred = partition.replica_ids[0]
        return NO_LEADER != partition.leader_id != preferred and preferred in self.registry.active(partition.isr)

    def maybe_elect_unclean_leaders(self, now: Now) -> None:
        """ReplicationControlManager.maybeElectUncleanLeaders: leaderless partitions whose topic now allows it."""
        for partition in self.metadata.partitions():
            if _may_be_unclean(partition):
                self.elect(partition, partition.isr, now)

    def balance_matters_ms(self, now: Now) -> int:
        """The same of `balance_leaders`."""
        return now.mono_ms if any(map(self._is_unbalanced, self.metadata.partitions())) else NEVER_MS

    def unclean_elections_matter_ms(self, now: Now) -> int:
        """The same of `maybe_elect_unclean_leaders`."""
        return now.mono_ms if any(map(_may_be_unclean, self.metadata.partitions())) else NEVER_MS


def _has_heard_leader(partition: Partition) -> bool:
    return partition.leader_id != NO_LEADER and partition.leader.broker.is_heard  # else it cannot ask for another ISR


def _may_be_unclean(partition: Partition) -> bool:
    return partition.leader_id == NO_LEADER and partition.config.unclean_leader_election_enable
