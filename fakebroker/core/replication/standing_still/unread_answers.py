"""What lies in the sockets of a broker that stands still: the answers to the fetches that it had sent.

Theory   A follower that has everything waits in a fetch at each leader, and sends it again when it is answered. If it
         stands still (SIGSTOP), the one that it has sent is answered all the same: by the first request that appends
         enough for it, if that comes before its wait is over. The answer has all that was appended by then in the
         partitions that the two share, and lies in the socket. When the follower goes on it takes that before
         anything else. So it may have what was written after it stopped, and lead with it; what is written later it
         never sees. If it is killed instead, the answer is lost with its socket; and so it is if the follower stands
         still for longer than request.timeout.ms: by then its poll is over and the fetch given up, so it reads
         nothing more, and connects anew. (replica.socket.timeout.ms is for connecting alone.)
         Where somebody else leads by then, or in another epoch, the fetch was answered, with nothing new.
Units    monotonic milliseconds; sizes are bytes.
Source   core/.../server/{AbstractFetcherThread,DelayedFetch}.scala @ 4.0: processFetchRequest, tryComplete;
         BrokerBlockingSender, NetworkClient.poll and hasExpiredRequest (later than, not at), on Java's
         EPollSelectorImpl.doSelect: a wait that was interrupted and is over brings nothing. Kafka 4.4.0, live.
Differs  When a fetch was sent is known of followers that are instant, and of no others. A leader's log that was
         compacted meanwhile brings nothing. What became of the watermark is told by what is brought alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.log.log import LoggedBatch
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica import Replica


class _Asked(NamedTuple):
    """A partition of a fetch: from which offset on, in which leadership."""

    partition: Partition
    replica: Replica
    offset: int
    leader_epoch: int


class _Brought(NamedTuple):
    """What the answer has of one of them."""

    asked: _Asked
    batches: list[LoggedBatch]
    high_watermark: int


@final
class UnreadAnswer:
    """The answer to the fetch that a follower has sent to one leader, as far as there is one."""

    def __init__(self, asked: list[Partition], follower_id: int, config: BrokerConfig, now: Now) -> None:
        """The follower has all that their leader has. It fetched last when it took something, and again each time that
        a wait was over."""
        self._asked = [
            _Asked(partition, replica, replica.log.log_end_offset, partition.leader_epoch)
            for partition in asked
            for replica in [partition.replicas[follower_id]]
        ]
        self._min_bytes = config.replica_fetch_min_bytes
        self._max_bytes = config.replica_fetch_response_max_bytes
        self._partition_max_bytes = config.replica_fetch_max_bytes
        wait_ms = max(config.replica_fetch_wait_max_ms, 1)
        last_ms = max(each.replica.last_caught_up_time_ms for each in self._asked)
        sent_ms = now.mono_ms - (now.mono_ms - last_ms) % wait_ms
        self._until_ms = sent_ms + wait_ms
        self._given_up_ms = sent_ms + config.request_timeout_ms
        self._is_sent = False
        self._brought: list[_Brought] = []

    def on_append(self, now: Now) -> None:
        """The leader has appended something."""
        if self._is_sent:
            return
        if now.mono_ms >= self._until_ms or any(map(_is_over, self._asked)):
            self._is_sent = True
            return
        self._brought = self._read()
        size = sum(batch.size for brought in self._brought for batch in brought.batches)
        self._is_sent = size >= self._min_bytes

    def _read(self) -> list[_Brought]:
        """Whole batches, as many as the follower asks for, and at least one."""
        read: list[_Brought] = []
        left = self._max_bytes
        for asked in self._asked:
            log = asked.partition.leader_log
            batches: list[LoggedBatch] = []
            partition_left = min(self._partition_max_bytes, left)
            for batch in log.batches_from(asked.offset):
                partition_left -= batch.size
                if partition_left < 0 and (read or batches):
                    break
                batches.append(batch)
                left -= batch.size
            if batches:
                read.append(_Brought(asked, batches, log.high_watermark))
        return read

    def take(self, now: Now) -> None:
        """The follower goes on: it appends what was brought, where it stands as it stood."""
        if now.mono_ms > self._given_up_ms:
            return
        for asked, batches, high_watermark in self._brought:
            partition, replica = asked.partition, asked.replica
            log = replica.log
            is_replica = partition.replicas.get(replica.broker_id) is replica and not partition.is_deleted
            has_room = replica.broker.on_disk_full is None
            if not is_replica or not has_room or log.log_end_offset != asked.offset:
                continue
            if log.rewriting != partition.last_leader.log.rewriting:
                continue
            # What others entered of a leadership of which it does not know is not in its epochs yet.
            replica.leader_epochs.truncate_from_end(asked.offset)
            _take_cold(asked, batches)
            for batch in batches:
                if batch.base_offset < log.log_end_offset:
                    continue
                if batch.stored is not None:  # it went out of memory, and nobody has it any more
                    break
                log.append(batch)
                if replica.leader_epochs.latest_epoch != batch.leader_epoch:
                    replica.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
            log.update_high_watermark(max(log.high_watermark, high_watermark))


def unread_answers(
    followed: Iterable[Partition], follower_id: int, config: BrokerConfig, now: Now
) -> dict[int, UnreadAnswer]:
    """Those that may come, by leader. `followed` has where the follower waits in a fetch."""
    by_leader: dict[int, list[Partition]] = {}
    for partition in followed:
        by_leader.setdefault(partition.leader_id, []).append(partition)
    return {leader: UnreadAnswer(asked, follower_id, config, now) for leader, asked in by_leader.items()}


def _take_cold(asked: _Asked, batches: list[LoggedBatch]) -> None:
    """What went out of memory meanwhile, where others have it, is out of memory here too."""
    own, last = asked.replica, batches[-1]
    for replica in asked.partition.replicas.values():
        log = replica.log
        if replica is not own and log.rewriting == own.log.rewriting and log.is_cold(asked.offset):
            found = log.batch_at(asked.offset)
            if (found.base_offset, found.leader_epoch) == (asked.offset, batches[0].leader_epoch):
                own.copy_cold(log, last.last_offset + 1)
                return


def _is_over(asked: _Asked) -> bool:
    """It is led by somebody else, or anew."""
    return asked.partition.is_deleted or asked.partition.leader_epoch != asked.leader_epoch
