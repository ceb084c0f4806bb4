"""The expiration of old offsets, and of groups without offsets and members.

Theory   Offsets expire offsets.retention.minutes after their group has lost its last member. Offsets of topics without
         subscribers expire that long after the commit. Offsets with a pending transactional commit stay. Groups are
         checked every offsets.retention.check.interval.ms after the load of the partition. A group that has lost its
         last offset and has no members is deleted.
Units    wall milliseconds for what is kept, monotonic ones for the interval.
Source   group-coordinator/.../OffsetMetadataManager.java cleanupExpiredOffsets; GroupCoordinatorShard.java
         cleanupGroupMetadata; GroupMetadataManager.java maybeDeleteGroup @ 4.4 (read out of the released jars).
Differs  The check is skipped while nothing can expire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.group import CommittedAt
from fakebroker.core.groups.offsets.committed import CommittedOffsets
from fakebroker.core.groups.offsets.pending import PendingOffsets
from fakebroker.core.groups.services import GroupServices
from fakebroker.core.journal.group_events import OffsetsExpired
from fakebroker.core.purgatory.housekeeping import PeriodicTask
from fakebroker.protocol.group_records.offset_commit import NONE, OffsetCommitKey

_EXPIRATION: Final = "expire-group-metadata"
_MINUTE_MS: Final = 60_000


@final
class OffsetExpiry:
    """The expiration in the groups of one partition of __consumer_offsets."""

    def __init__(self, services: GroupServices, offsets: CommittedOffsets, pending: PendingOffsets) -> None:
        self._services = services
        self._groups = services.groups
        self._offsets = offsets
        self._pending = pending
        self._loaded_ms: int | None = None
        self._expiration: PeriodicTask | None = None

    def start(self) -> None:
        """Start the checks: the partition is loaded."""
        self._loaded_ms = self._services.mono_ms
        self._groups.on_added = self._schedule_expiration
        self._schedule_expiration()

    def stop(self) -> None:
        self._loaded_ms = None
        if self._expiration is not None:
            self._expiration.stop()

    def cleanup_group_metadata(self) -> CoordinatorResult[None]:
        """Delete expired offsets, then groups without offsets and members."""
        records: list[CoordinatorRecord] = []
        for group_id in self._groups.keys():  # noqa: SIM118 (a copy)
            if self._expire_offsets(group_id, records):
                self._maybe_delete_group(group_id, records)
        return CoordinatorResult(records, None, is_atomic=False)

    def _expire_offsets(self, group_id: str, records: list[CoordinatorRecord]) -> bool:
        """Add tombstones of the expired offsets of a group. Return True if no offset is left
        (OffsetMetadataManager.cleanupExpiredOffsets)."""
        now_ms = self._services.wall_ms
        all_expired = True
        expired: list[tuple[str, int]] = []
        for topic, partition, expires_ms in self._expiries(group_id):
            if expires_ms is not None and now_ms >= expires_ms:
                records.append(CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), None))
                expired.append((topic, partition))
            else:
                all_expired = False
        if expired:
            probe = self._services.environment.probe
            if probe.listeners:
                probe.tell(OffsetsExpired(*probe.times, group_id, tuple(expired)))
        return all_expired and not self._pending.has_any_of(group_id)

    def _expiries(self, group_id: str) -> Iterator[tuple[str, int, int | None]]:
        """Return the topic, the partition and the wall time of expiration of each offset of a group. The time is None
        if the offset stays as long as the group does not change."""
        topics = self._offsets.topics(group_id)
        if topics is None:
            return
        group = self._groups.group(group_id)
        expires_ms = group.offset_expiration_condition()
        retention_ms = self._services.config.offsets_retention_minutes * _MINUTE_MS
        for topic, partitions in topics.items():
            stays = expires_ms is None or group.is_subscribed_to_topic(topic)
            for partition, value in partitions.items():
                if stays or expires_ms is None or self._pending.has(OffsetCommitKey(group_id, topic, partition)):
                    yield topic, partition, None
                else:
                    own_ms = None if value.expire_timestamp_ms == NONE else value.expire_timestamp_ms
                    yield topic, partition, expires_ms(CommittedAt(value.commit_timestamp_ms, own_ms), retention_ms)

    def _cleanup_matters_ms(self, now: Now) -> int:
        """Return the time at which `cleanup_group_metadata` next has work, if nothing happens until then."""
        soonest_ms: int | None = None
        for group_id in self._groups.keys():  # noqa: SIM118 (a copy)
            has_offsets = False
            for _, _, expires_ms in self._expiries(group_id):
                has_offsets = True
                if expires_ms is not None and (soonest_ms is None or expires_ms < soonest_ms):
                    soonest_ms = expires_ms
            is_unused = not has_offsets and not self._pending.has_any_of(group_id)
            if is_unused and self._groups.group(group_id).is_empty:
                return now.mono_ms
        return NEVER_MS if soonest_ms is None else now.mono_at(soonest_ms)

    def _maybe_delete_group(self, group_id: str, records: list[CoordinatorRecord]) -> None:
        group = self._groups.group(group_id)
        if group.is_empty:
            records += group.create_group_tombstone_records()
            group.cancel_timers(self._services.timer)

    def _schedule_expiration(self) -> None:
        """Schedule the next check."""
        if self._loaded_ms is None or self._expiration is not None or not len(self._groups):
            return
        environment = self._services.environment
        interval_ms = self._services.config.offsets_retention_check_interval_ms
        self._expiration = PeriodicTask(
            interval_ms - (self._services.mono_ms - self._loaded_ms) % interval_ms,
            interval_ms,
            lambda _: self._expire(interval_ms),
            self._cleanup_matters_ms,
            environment.housekeeping,
            lambda: environment.clock.now,
        )

    def _expire(self, interval_ms: int) -> None:
        if self._services.environment.is_paused:
            return  # the next check will do
        self._services.timer.schedule(_EXPIRATION, 0, self.cleanup_group_metadata, retry_backoff_ms=interval_ms)
