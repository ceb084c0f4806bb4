"""The requests parked at each broker for each partition, and their completion by events of the partition.

Theory   Each running broker has three purgatories: appends parked for replication, fetches parked for data, and
         deletions of records parked for the followers' log starts. Every change of a high watermark or a leader is
         reported here; no other code completes operations of a purgatory. A broker that stops takes its purgatories
         with it: requests parked there get no response. An append completes nothing at once: it is noted, and done at
         the end of the request (replica_manager.py).
Units    monotonic milliseconds.
Source   core/.../server/ReplicaManager.scala @ 4.0: tryCompleteDelayedRequests of DelayedOperations,
         completeDelayedOperationsWhenNotPartitionLeader; addCompletePurgatoryAction.
Differs  One object for all brokers. A live follower learns a new high watermark at once, which completes the consumer
         fetches parked there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.purgatory.deadlines import TIMEOUTS, Deadlines
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.topic_partition import TopicPartition

_PRODUCE, _FETCH, _DELETE_RECORDS = 0, 1, 2


@final
class PartitionWaiters:
    """The purgatories of one broker."""

    __slots__ = ("delete_records", "fetch", "produce")

    def __init__(
        self,
        produce: DelayedOperationPurgatory[DelayedOperation],
        fetch: DelayedOperationPurgatory[DelayedOperation],
        delete_records: DelayedOperationPurgatory[DelayedOperation],
    ) -> None:
        self.produce = produce
        self.fetch = fetch
        self.delete_records = delete_records


class Wakeups:
    """The purgatories of all running brokers, by broker id."""

    def __init__(self, deadlines: Deadlines, clock: HasNow) -> None:
        self._deadlines = deadlines
        self._clock = clock
        self._waiters: dict[int, PartitionWaiters] = {}
        self._held: dict[int, PartitionWaiters] = {}  # of paused brokers

    def start_broker(self, broker_id: int, config: BrokerConfig, now_ms: int) -> PartitionWaiters:
        """Create empty purgatories for a broker that starts."""
        waiters = PartitionWaiters(
            DelayedOperationPurgatory("Produce", now_ms, config.producer_purgatory_purge_interval_requests),
            DelayedOperationPurgatory("Fetch", now_ms, config.fetch_purgatory_purge_interval_requests, self._clock),
            DelayedOperationPurgatory("DeleteRecords", now_ms, config.delete_records_purgatory_purge_interval_requests),
        )
        self._add(broker_id, waiters)
        return waiters

    def _add(self, broker_id: int, waiters: PartitionWaiters) -> None:
        self._waiters[broker_id] = waiters
        self._deadlines.add(waiters.produce, (TIMEOUTS, broker_id, _PRODUCE))
        self._deadlines.add(waiters.fetch, (TIMEOUTS, broker_id, _FETCH))
        self._deadlines.add(waiters.delete_records, (TIMEOUTS, broker_id, _DELETE_RECORDS))

    def stop_broker(self, broker_id: int) -> None:
        """Drop the requests parked at a broker."""
        if broker_id in self._waiters:
            self.pause_broker(broker_id)
        del self._held[broker_id]

    def pause_broker(self, broker_id: int) -> None:
        """Hold the requests parked at a broker: none completes or expires until it is resumed."""
        waiters = self._held[broker_id] = self._waiters.pop(broker_id)
        self._deadlines.remove(waiters.produce)
        self._deadlines.remove(waiters.fetch)
        self._deadlines.remove(waiters.delete_records)

    def resume_broker(self, broker_id: int, now_ms: int) -> None:
        """Expire the requests with a late timeout, then complete those satisfied meanwhile."""
        waiters = self._held.pop(broker_id)
        self._add(broker_id, waiters)
        for purgatory in (waiters.produce, waiters.fetch, waiters.delete_records):
            purgatory.advance_clock(now_ms)
        for purgatory in (waiters.produce, waiters.fetch, waiters.delete_records):
            purgatory.check_and_complete_all()

    def after_append(self, partition: Partition, has_moved_watermark: bool) -> None:
        """Complete requests after an append of the leader. If the high watermark did not move, only followers over the
        wire can read it."""
        waiters = self._waiters.get(partition.leader_id)
        if waiters is None:
            return
        key = partition.topic_partition
        if has_moved_watermark:
            waiters.produce.check_and_complete(key)
            waiters.fetch.check_and_complete(key)
            self._complete_fetches_of_followers(partition, key)
        else:
            waiters.fetch.check_and_complete(key)

    def try_complete_delayed_requests(self, partition: Partition) -> None:
        """Re-check the requests parked at the leader and at the followers after a move of the high watermark that was
        no append."""
        waiters = self._waiters.get(partition.leader_id)
        key = partition.topic_partition
        if waiters is not None:
            waiters.fetch.check_and_complete(key)
            waiters.produce.check_and_complete(key)
        self._complete_fetches_of_followers(partition, key)

    def complete_when_not_leader(self, partition: Partition, broker_ids: Iterable[int]) -> None:
        """Re-check the requests parked at brokers that no longer lead the partition, or no longer have it. Kafka does
        not re-check DeleteRecords then, so it is parked until its timeout."""
        key = partition.topic_partition
        for broker_id in broker_ids:
            waiters = self._waiters.get(broker_id)
            if waiters is not None:
                waiters.produce.check_and_complete(key)
                waiters.fetch.check_and_complete(key)

    def on_low_watermark(self, partition: Partition) -> None:
        """Re-check DeleteRecords after a follower reported its log start."""
        waiters = self._waiters.get(partition.leader_id)
        if waiters is not None:
            waiters.delete_records.check_and_complete(partition.topic_partition)

    def _complete_fetches_of_followers(self, partition: Partition, key: TopicPartition) -> None:
        for follower in partition.followers:
            waiters = self._waiters.get(follower.broker_id)
            if waiters is not None:
                waiters.fetch.check_and_complete(key)
