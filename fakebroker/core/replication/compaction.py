"""The log cleaner: it cleans the logs of compacted topics from time to time, or on demand.

Theory   The leader's log is cleaned (core/log/compaction/) in slices; other work runs in between. If the log changed
         meanwhile, the result is dropped and the next check finds the log again. Otherwise the cleaned batches replace
         the old ones, in the logs of all replicas that have as much. These replicas go on sharing batches.
         A replica that is behind keeps its batches, and takes over the leader's when it copies on (replica.py). If any
         part of the log is out of memory, its cleaned batches go out of memory as well.
Units    timestamps are milliseconds since the epoch.
Source   core/.../log/LogCleaner.scala CleanerThread, cleanFilthiestLog; storage/.../log/LogCleanerManager.java @ 4.0.
Differs  In Kafka each broker cleans its own log, at its own pace, one log for each thread after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Final

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.compaction.cleaning import cleaned, log_to_clean
from fakebroker.core.log.log import Log
from fakebroker.core.log.memory import LogMemory
from fakebroker.core.log.segment import Segment
from fakebroker.core.log.store import StoreFullError
from fakebroker.core.log.transactions.state import AbortedTransaction
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, made_of
from timingwheel import SystemTimer, TimerTask

_COMPACT: Final = "compact"
_PUT_AT_ONCE: Final = 1_024  # batches, of all replicas
_END_OF_TIME_MS: Final = 1 << 80


class LogCleaner:
    """The cleaner of the logs of a cluster. `timer` is that of housekeeping."""

    def __init__(self, memory: LogMemory, timer: SystemTimer, read_now: Callable[[], Now]) -> None:
        self._memory = memory
        self._timer = timer
        self._read_now = read_now
        self._rewritings = count(1)
        self._under_way: _Cleaning | None = None

    def matters_ms(self, partitions: Iterable[Partition], now: Now) -> int:
        """Return the time at which `look` next has work, if nothing happens until then. Logs that only have to become
        older are checked at each tick."""
        soonest_ms = NEVER_MS
        for partition in partitions:
            if _is_cleanable(partition) and partition.leader_log.size_in_bytes:
                if _worth(partition, now.wall_ms) is not None:
                    return now.mono_ms
                if log_to_clean(partition.leader_log, partition.config, _END_OF_TIME_MS).cleanable_bytes:
                    soonest_ms = now.mono_ms + 1
        return soonest_ms

    def look(self, partitions: Iterable[Partition], now: Now) -> None:
        """Begin to clean the partitions that are worth it, unless a cleaning is still under way."""
        if self._under_way is not None and not self._under_way.is_over:
            return
        worth: list[tuple[float, Partition]] = []
        for partition in partitions:
            ratio = _worth(partition, now.wall_ms) if _is_cleanable(partition) else None
            if ratio is not None:
                worth.append((ratio, partition))
        if worth:
            worth.sort(key=lambda item: -item[0])
            self._under_way = _Cleaning(self._clean_all([partition for _, partition in worth]), self)
            self.go_on_with(self._under_way)

    def compact(self, partitions: Sequence[Partition], now: Now) -> Slices[int]:
        """Clean a topic, as if its segments had just been closed. Return the number of partitions cleaned. Raise
        KafkaError."""
        policy = partitions[0].config.cleanup_policy
        if _COMPACT not in policy:
            raise KafkaError(
                ErrorCode.policy_violation,
                f"The topic '{partitions[0].topic_partition.topic}' is not compacted: its cleanup.policy is "
                f"{','.join(policy)}.",
            )
        count = 0
        for partition in partitions:
            count += yield from self.clean(partition, now, roll_first=True)
            yield
        return count

    def _clean_all(self, partitions: list[Partition]) -> Slices[None]:
        for partition in partitions:
            yield from self.clean(partition, self._read_now())
            yield

    def go_on_with(self, cleaning: _Cleaning) -> None:
        """Schedule the next slice, behind other work that is due."""
        self._timer.add(_NextSlice(cleaning), self._read_now().mono_ms)

    def clean(self, partition: Partition, now: Now, roll_first: bool = False) -> Slices[bool]:
        """Clean a partition as far as possible. Return True if its log changed."""
        if partition.is_deleted or partition.leader_id == NO_LEADER or _COMPACT not in partition.config.cleanup_policy:
            return False
        log = partition.leader_log
        wanted = log_to_clean(log, partition.config, now.wall_ms, roll_first)
        if wanted.end_offset <= log.log_start_offset:
            return False
        before = _state_of(log)
        left = yield from cleaned(log, wanted, partition.config, now.wall_ms)
        fresh = yield from made_of(left.batches, _fresh)
        if partition.is_deleted or partition.leader_id == NO_LEADER or partition.leader_log is not log:
            return False
        if _state_of(log) != before:
            return False
        return (yield from self._put_in_place(partition, log, wanted.end_offset, fresh, left.aborted))

    def _put_in_place(
        self,
        partition: Partition,
        leader_log: Log,
        end: int,
        fresh: list[LoggedBatch],
        aborted: list[AbortedTransaction],
    ) -> Slices[bool]:
        """Put the cleaned batches in place, one log in a slice, the leader's first. A replica that copies on before its
        turn takes them over from the leader."""
        old, start_offset = leader_log.rewriting, leader_log.log_start_offset
        position = leader_log.position_of(end)
        for batch in reversed(fresh):
            position -= batch.size
            batch.position = position
        segment = None
        if fresh and leader_log.has_cold:
            try:
                segment = Segment(self._memory.store, fresh)
            except StoreFullError:
                return False
        rewriting = next(self._rewritings)
        for replica in sorted(partition.replicas.values(), key=lambda replica: replica.log is not leader_log):
            log = replica.log
            if log.rewriting == old and log.log_end_offset >= end and log.log_start_offset == start_offset:
                log.rewrite_before(end, fresh, segment, rewriting)
                log.producer_state.transactions.replace_aborted_before(end, aborted)
                if len(fresh) > _PUT_AT_ONCE:
                    yield
                if partition.is_deleted or partition.leader_id == NO_LEADER or partition.leader_log is not leader_log:
                    break
        return True


def _is_cleanable(partition: Partition) -> bool:
    return _COMPACT in partition.config.cleanup_policy and partition.leader_id != NO_LEADER


def _worth(partition: Partition, now_wall_ms: int) -> float | None:
    """Return the dirty ratio of the log; None if cleaning is not worth it."""
    wanted = log_to_clean(partition.leader_log, partition.config, now_wall_ms)
    if wanted.cleanable_bytes > 0 and (
        wanted.needs_compaction_now or wanted.cleanable_ratio > partition.config.min_cleanable_dirty_ratio
    ):
        return wanted.cleanable_ratio
    return None


def _state_of(log: Log) -> tuple[int, int]:
    """Return values that change with every change of the log other than an append."""
    return log.log_start_offset, log.truncations


def _fresh(batch: LoggedBatch) -> LoggedBatch:
    """Return the same batch with a fresh position, so that readers of the old one are not disturbed."""
    if batch.position < 0:
        return batch
    return LoggedBatch(
        batch.base_offset, batch.last_offset, batch.leader_epoch, batch.records, batch.timestamp_ms, batch.producer
    )


class _Cleaning:
    """A cleaning of several logs, slice by slice."""

    def __init__(self, slices: Slices[None], cleaner: LogCleaner) -> None:
        self._slices = slices
        self._cleaner = cleaner
        self.is_over = False

    def go_on(self) -> None:
        self.is_over = True  # also if it fails
        for _ in self._slices:
            self.is_over = False
            self._cleaner.go_on_with(self)
            return


class _NextSlice(TimerTask):
    __slots__ = ("_cleaning",)

    def __init__(self, cleaning: _Cleaning) -> None:
        super().__init__(0)
        self._cleaning = cleaning

    def run(self) -> None:
        self._cleaning.go_on()
