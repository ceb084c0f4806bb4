"""The responses in the sockets of a paused broker: those to the fetches that it had sent.

Theory   A follower that has everything has a fetch parked at each leader, and sends the next one after the response. If
         it is paused (SIGSTOP), the leader responds to the fetch already sent: at the first request that appends enough
         for it, if that comes before the fetch expires. The response has all records appended by then in the partitions
         that the two share, and lies in the socket. A resumed follower takes that response before anything else. So it
         may have records written after it was paused, and lead with them; it never sees records written later. If the
         broker is killed instead, the response is lost with its socket. It is also lost if the pause lasts longer than
         request.timeout.ms. By then the follower's poll is over and the fetch given up: it reads nothing more, and
         reconnects. replica.socket.timeout.ms is for connecting alone. If another leader or another epoch began
         meanwhile, the leader has responded to the fetch without new records.
Units    monotonic milliseconds; sizes are bytes.
Source   core/.../server/{AbstractFetcherThread,DelayedFetch}.scala @ 4.0: processFetchRequest, tryComplete;
         BrokerBlockingSender, NetworkClient.poll and hasExpiredRequest (later than, not at), on Java's
         EPollSelectorImpl.doSelect: a wait that was interrupted and is over brings nothing. Kafka 4.4.0, live.
Differs  The time at which a fetch was sent is known only for instant followers. A leader's log that was compacted
         meanwhile brings nothing. The follower learns the high watermark only from the response.
"""

from __future__ import annotations

from typing import NamedTuple, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.log.log import LoggedBatch
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica import NEVER_MS, Replica


class _FetchPartition(NamedTuple):
    """A partition of a fetch: the offset and the leader epoch that it asks for."""

    partition: Partition
    replica: Replica
    offset: int
    leader_epoch: int


class _PartitionRecords(NamedTuple):
    """The records of the response for one partition."""

    asked: _FetchPartition
    batches: list[LoggedBatch]
    high_watermark: int


@final
class UnreadAnswer:
    """The response to the fetch that a follower has sent to one leader, if there is one."""

    def __init__(self, follower_id: int, config: BrokerConfig) -> None:
        self._follower_id = follower_id
        self._asked: list[_FetchPartition] = []
        self._min_bytes = config.replica_fetch_min_bytes
        self._max_bytes = config.replica_fetch_response_max_bytes
        self._partition_max_bytes = config.replica_fetch_max_bytes
        self._request_timeout_ms = config.request_timeout_ms
        self._wait_ms = max(config.replica_fetch_wait_max_ms, 1)
        self._taken_ms = NEVER_MS  # the last time that the follower took records
        self._until_ms = self._given_up_ms = NEVER_MS
        self._is_sent = False
        self._brought: list[_PartitionRecords] = []

    def ask(self, partition: Partition, now: Now) -> None:
        """Add a partition to the parked fetch. The follower has all that the leader has. It sent its last fetch when it
        took records, and again each time that a wait was over."""
        replica = partition.replicas[self._follower_id]
        self._asked.append(_FetchPartition(partition, replica, replica.log.log_end_offset, partition.leader_epoch))
        self._taken_ms = max(self._taken_ms, replica.last_caught_up_time_ms)
        sent_ms = now.mono_ms - (now.mono_ms - self._taken_ms) % self._wait_ms
        self._until_ms = sent_ms + self._wait_ms
        self._given_up_ms = sent_ms + self._request_timeout_ms

    def on_append(self, now: Now) -> None:
        """React to an append of the leader: read the response, and send it if there is enough."""
        if self._is_sent:
            return
        if now.mono_ms >= self._until_ms or any(map(_is_over, self._asked)):
            self._is_sent = True
            return
        self._brought = self._read()
        size = sum(batch.size for brought in self._brought for batch in brought.batches)
        self._is_sent = size >= self._min_bytes

    def _read(self) -> list[_PartitionRecords]:
        """Read whole batches, as many as the follower asks for, and at least one."""
        read: list[_PartitionRecords] = []
        left = self._max_bytes
        for fetch in self._asked:
            log = fetch.partition.leader_log
            batches: list[LoggedBatch] = []
            partition_left = min(self._partition_max_bytes, left)
            for batch in log.batches_from(fetch.offset):
                partition_left -= batch.size
                if partition_left < 0 and (read or batches):
                    break
                batches.append(batch)
                left -= batch.size
            if batches:
                read.append(_PartitionRecords(fetch, batches, log.high_watermark))
        return read

    def drop(self) -> None:
        """Drop the response, and read no other."""
        self._is_sent = True
        self._asked, self._brought = [], []

    def take(self, now: Now) -> None:
        """Append the records of the response to each replica that is as it was when it was paused."""
        brought = self._brought
        self.drop()
        if now.mono_ms > self._given_up_ms:
            return
        for fetch, batches, high_watermark in brought:
            partition, replica = fetch.partition, fetch.replica
            log = replica.log
            is_replica = partition.replicas.get(replica.broker_id) is replica and not partition.is_deleted
            has_room = replica.broker.on_disk_full is None
            if not is_replica or not has_room or log.log_end_offset != fetch.offset:
                continue
            if log.rewriting != partition.last_leader.log.rewriting:
                continue
            # Other replicas may have entered an epoch of which this follower does not know. It is not in its epochs
            # yet.
            replica.leader_epochs.truncate_from_end(fetch.offset)
            _take_cold(fetch, batches)
            for batch in batches:
                if batch.base_offset < log.log_end_offset:
                    continue
                if batch.stored is not None:  # it went out of memory, and no replica has it any more
                    break
                log.append(batch)
                if replica.leader_epochs.latest_epoch != batch.leader_epoch:
                    replica.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
            log.update_high_watermark(max(log.high_watermark, high_watermark))


def _take_cold(fetch: _FetchPartition, batches: list[LoggedBatch]) -> None:
    """Copy as out of memory those batches that went out of memory meanwhile in another replica."""
    own, last = fetch.replica, batches[-1]
    for replica in fetch.partition.replicas.values():
        log = replica.log
        if replica is not own and log.rewriting == own.log.rewriting and log.is_cold(fetch.offset):
            batch = log.batch_at(fetch.offset)
            if (batch.base_offset, batch.leader_epoch) == (fetch.offset, batches[0].leader_epoch):
                own.copy_cold(log, last.last_offset + 1)
                return


def _is_over(fetch: _FetchPartition) -> bool:
    """Return True if another leader or epoch has begun."""
    return fetch.partition.is_deleted or fetch.partition.leader_epoch != fetch.leader_epoch
