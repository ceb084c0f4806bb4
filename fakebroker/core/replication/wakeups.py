"""Who waits at which broker for which partition, and who is woken when something happens to it.

Theory   Each broker that runs has three purgatories: appends that wait for replication, fetches that wait for data, and
         deletions of records that wait for the followers' log starts.
         Whatever moves a watermark or a leader, says so here, and nobody else looks into a purgatory. A broker that
         stops takes its purgatories with it: what is parked there is never answered.
         In an append nobody is woken: that is noted, and done at the end of the request (replica_manager.py).
Units    monotonic milliseconds.
Source   core/.../server/ReplicaManager.scala @ 4.0: tryCompleteDelayedRequests of DelayedOperations,
         completeDelayedOperationsWhenNotPartitionLeader; addCompletePurgatoryAction.
Differs  One object for all brokers. A follower that is alive learns a new watermark at once, so consumers that wait
         there are woken with it.
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
    """Who waits at one broker for something to happen to a partition."""

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
    """The purgatories of all brokers that run, by broker id."""

    def __init__(self, deadlines: Deadlines, clock: HasNow) -> None:
        self._deadlines = deadlines
        self._clock = clock
        self._waiters: dict[int, PartitionWaiters] = {}
        self._held: dict[int, PartitionWaiters] = {}  # of brokers that stand still

    def start_broker(self, broker_id: int, config: BrokerConfig, now_ms: int) -> PartitionWaiters:
        """Empty purgatories for a broker that starts."""
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
        """Forget whoever waits at a broker."""
        if broker_id in self._waiters:
            self.pause_broker(broker_id)
        del self._held[broker_id]

    def pause_broker(self, broker_id: int) -> None:
        """Nobody who waits at a broker is woken, nor does his time come, until it is resumed."""
        waiters = self._held[broker_id] = self._waiters.pop(broker_id)
        self._deadlines.remove(waiters.produce)
        self._deadlines.remove(waiters.fetch)
        self._deadlines.remove(waiters.delete_records)

    def resume_broker(self, broker_id: int, now_ms: int) -> None:
        """First the timeouts that are late, and then whoever was woken meanwhile."""
        waiters = self._held.pop(broker_id)
        self._add(broker_id, waiters)
        for purgatory in (waiters.produce, waiters.fetch, waiters.delete_records):
            purgatory.advance_clock(now_ms)
        for purgatory in (waiters.produce, waiters.fetch, waiters.delete_records):
            purgatory.check_and_complete_all()

    def after_append(self, partition: Partition, has_moved_watermark: bool) -> None:
        """The leader has appended something. Where the watermark did not move, only followers over the wire read it."""
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
        """The watermark moved, not by an append: who waits for it at the leader and at the followers is looked at."""
        waiters = self._waiters.get(partition.leader_id)
        key = partition.topic_partition
        if waiters is not None:
            waiters.fetch.check_and_complete(key)
            waiters.produce.check_and_complete(key)
        self._complete_fetches_of_followers(partition, key)

    def complete_when_not_leader(self, partition: Partition, broker_ids: Iterable[int]) -> None:
        """These brokers do not lead the partition (any more), or have it no more: who waits there is told so; but for
        DeleteRecords, at which Kafka does not look then, so it waits until its time is over."""
        key = partition.topic_partition
        for broker_id in broker_ids:
            waiters = self._waiters.get(broker_id)
            if waiters is not None:
                waiters.produce.check_and_complete(key)
                waiters.fetch.check_and_complete(key)

    def on_low_watermark(self, partition: Partition) -> None:
        """A follower has told the leader where its log starts."""
        waiters = self._waiters.get(partition.leader_id)
        if waiters is not None:
            waiters.delete_records.check_and_complete(partition.topic_partition)

    def _complete_fetches_of_followers(self, partition: Partition, key: TopicPartition) -> None:
        for follower in partition.followers:
            waiters = self._waiters.get(follower.broker_id)
            if waiters is not None:
                waiters.fetch.check_and_complete(key)
