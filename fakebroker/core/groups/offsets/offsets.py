"""Committed offsets: committed, fetched, deleted, and expired.

Theory   Who may commit or fetch, his group says. A commit to a group that is not there, by somebody who is no member
         (generation -1), makes an empty group. An offset goes when its group has had no members for
         offsets.retention.minutes (or, where nobody subscribes, when it was not committed for so long), when its topic
         is deleted, or when somebody asks for it.
         Groups are looked through every offsets.retention.check.interval.ms, counted from when the partition was
         loaded; a group that has lost its last offset, and has no members, goes as well.
Units    wall milliseconds for what is kept, monotonic ones for the interval.
Source   group-coordinator/.../OffsetMetadataManager.java; GroupCoordinatorShard.java cleanupGroupMetadata,
         onTopicsDeleted; GroupMetadataManager.java maybeDeleteGroup @ 4.4 (read out of the released jars).
Differs  Offsets that a transaction has not committed yet are none yet. Where nothing can expire, none is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, final

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.group import CommittedAt, Group
from fakebroker.core.groups.manager import GroupManager, Replay
from fakebroker.core.groups.offsets.committed import CommittedOffsets
from fakebroker.core.groups.offsets.messages import (
    ZERO_ID,
    FetchedOffset,
    FetchedTopic,
    OffsetCommit,
    OffsetFetch,
    TopicErrors,
    TopicPartitions,
)
from fakebroker.core.groups.services import GroupServices
from fakebroker.core.purgatory.housekeeping import PeriodicTask
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.offset_commit import NONE, OffsetCommitKey, OffsetCommitValue

_EXPIRATION: Final = "expire-group-metadata"
_MINUTE_MS: Final = 60_000
_GROUP_ID_NOT_FOUND_SINCE: Final = 9  # version of OffsetCommit


@final
class Offsets(GroupManager):
    """Of the groups of one partition of __consumer_offsets. `on_commit` is told of a group and its member whose commit
    is accepted: a classic member has shown that it lives."""

    def __init__(self, services: GroupServices, on_commit: Callable[[Group, str], None]) -> None:
        self._services = services
        self._groups = services.groups
        self._offsets = CommittedOffsets(services.registry)
        self._on_commit = on_commit
        self._loaded_ms: int | None = None
        self._expiration: PeriodicTask | None = None

    # Requests.

    def commit(self, request: OffsetCommit) -> CoordinatorResult[list[TopicErrors]]:
        """OffsetMetadataManager.commitOffset. Raises KafkaError."""
        group = self._group_to_commit(request)
        validate = group.validate_offset_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_or_epoch,
            False,
            request.version,
        )
        self._on_commit(group, request.member_id)
        now_ms = self._services.wall_ms
        expires_ms = NONE if request.retention_time_ms == NONE else now_ms + request.retention_time_ms
        longest = self._services.config.offset_metadata_max_bytes
        response: list[TopicErrors] = []
        records: list[CoordinatorRecord] = []
        for topic in request.topics:
            errors: list[tuple[int, ErrorCode]] = []
            for each in topic.partitions:
                if each.metadata is not None and _length(each.metadata) > longest:
                    errors.append((each.partition, ErrorCode.offset_metadata_too_large))
                    continue
                if validate is not None:
                    validate(topic.name, each.partition)
                errors.append((each.partition, ErrorCode.none))
                key = OffsetCommitKey(request.group_id, topic.name, each.partition)
                value = OffsetCommitValue(
                    each.offset, each.leader_epoch, each.metadata or "", now_ms, expires_ms, topic.topic_id
                )
                records.append(CoordinatorRecord(key, value))
            response.append(TopicErrors(topic.name, topic.topic_id, errors))
        for listener in self._services.environment.probe.listeners:
            listener.offsets_committed(
                request.group_id, request.member_id, request.generation_or_epoch, _committed(records)
            )
        return CoordinatorResult(records, response)

    def _group_to_commit(self, request: OffsetCommit) -> Group:
        """The group, made if it is not there and the request is of no member."""
        group = self._groups.get(request.group_id)
        if group is None and request.generation_or_epoch < 0:
            group = self._groups.get_or_create_classic_group(request.group_id)
        if group is None:
            if request.version < _GROUP_ID_NOT_FOUND_SINCE:
                raise KafkaError(ErrorCode.illegal_generation, "Specified group generation id is not valid.")
            group = self._groups.group(request.group_id)
        return group

    def fetch(self, request: OffsetFetch, epoch: int) -> list[FetchedTopic]:
        """OffsetMetadataManager.fetchOffsets and fetchAllOffsets, as of an epoch. Raises KafkaError; but a group that
        is not there has no offsets."""
        topics = None
        group = self._groups.get(request.group_id, epoch)
        if group is not None:
            group.validate_offset_fetch(request.member_id, request.member_epoch, epoch)
            topics = self._offsets.topics(request.group_id, epoch)
        if request.topics is None:
            if topics is None:
                return []
            return [
                FetchedTopic(
                    name, ZERO_ID, [_fetched(partition, value) for partition, value in partitions.items(epoch)]
                )
                for name, partitions in topics.items(epoch)
            ]
        found: list[FetchedTopic] = []
        for topic in request.topics:
            partitions = None if topics is None else topics.get(topic.name, epoch)
            offsets: list[FetchedOffset] = []
            for partition in topic.partitions:
                value = None if partitions is None else partitions.get(partition, epoch)
                if value is None or _is_of_another(value, topic.topic_id):
                    offsets.append(FetchedOffset(partition))
                else:
                    offsets.append(_fetched(partition, value))
            found.append(FetchedTopic(topic.name, topic.topic_id, offsets))
        return found

    def delete(self, group_id: str, topics: Sequence[TopicPartitions]) -> CoordinatorResult[list[TopicErrors]]:
        """OffsetMetadataManager.deleteOffsets. Raises KafkaError."""
        group = self._groups.group(group_id)
        group.validate_offset_delete()
        response: list[TopicErrors] = []
        records: list[CoordinatorRecord] = []
        for topic in topics:
            is_subscribed = group.is_subscribed_to_topic(topic.name)
            error = ErrorCode.group_subscribed_to_topic if is_subscribed else ErrorCode.none
            response.append(TopicErrors(topic.name, ZERO_ID, [(partition, error) for partition in topic.partitions]))
            if not is_subscribed:
                for partition in topic.partitions:
                    if self._offsets.get(group_id, topic.name, partition) is not None:
                        records.append(tombstone(group_id, topic.name, partition))
        return CoordinatorResult(records, response)

    # What others do to groups.

    def delete_all_offsets(self, group_id: str) -> list[CoordinatorRecord]:
        """Of a group that is to go."""
        return [tombstone(group_id, topic, partition) for topic, partition, _ in self._offsets.items(group_id)]

    def on_topics_deleted(self, topics: Collection[Topic]) -> CoordinatorResult[None]:
        """Their offsets go, in whatever group; but for those that are of a topic with the same name and another id."""
        records: list[CoordinatorRecord] = []
        for group_id in self._offsets.group_ids():
            of_group = self._offsets.topics(group_id)
            assert of_group is not None
            for topic in topics:
                partitions = of_group.get(topic.name)
                if partitions is not None:
                    for partition, value in partitions.items():
                        if value.topic_id in (ZERO_ID, topic.topic_id):
                            records.append(tombstone(group_id, topic.name, partition))
        return CoordinatorResult(records, None, is_atomic=False)

    # Expiry.

    def cleanup_group_metadata(self) -> CoordinatorResult[None]:
        """Let go of offsets that are too old, and then of groups that have none and no members."""
        records: list[CoordinatorRecord] = []
        for group_id in self._groups.keys():  # noqa: SIM118 (a copy)
            if self._expire_offsets(group_id, records):
                self._maybe_delete_group(group_id, records)
        return CoordinatorResult(records, None, is_atomic=False)

    def _expire_offsets(self, group_id: str, records: list[CoordinatorRecord]) -> bool:
        """Whether no offset is left (OffsetMetadataManager.cleanupExpiredOffsets)."""
        now_ms = self._services.wall_ms
        all_expired = True
        expired: list[tuple[str, int]] = []
        for topic, partition, expires_ms in self._expiries(group_id):
            if expires_ms is not None and now_ms >= expires_ms:
                records.append(tombstone(group_id, topic, partition))
                expired.append((topic, partition))
            else:
                all_expired = False
        if expired:
            for listener in self._services.environment.probe.listeners:
                listener.offsets_expired(group_id, expired)
        return all_expired

    def _expiries(self, group_id: str) -> Iterator[tuple[str, int, int | None]]:
        """Of each offset of a group its topic, its partition, and the wall time from which on it is to go; None if it
        stays as long as the group is as it is."""
        topics = self._offsets.topics(group_id)
        if topics is None:
            return
        group = self._groups.group(group_id)
        expires_ms = group.offset_expiration_condition()
        retention_ms = self._services.config.offsets_retention_minutes * _MINUTE_MS
        for topic, partitions in topics.items():
            stays = expires_ms is None or group.is_subscribed_to_topic(topic)
            for partition, value in partitions.items():
                if stays or expires_ms is None:
                    yield topic, partition, None
                else:
                    own_ms = None if value.expire_timestamp_ms == NONE else value.expire_timestamp_ms
                    yield topic, partition, expires_ms(CommittedAt(value.commit_timestamp_ms, own_ms), retention_ms)

    def _cleanup_matters_ms(self, now: Now) -> int:
        """When `cleanup_group_metadata` next has anything to do, if nothing happens until then."""
        soonest_ms: int | None = None
        for group_id in self._groups.keys():  # noqa: SIM118 (a copy)
            has_offsets = False
            for _, _, expires_ms in self._expiries(group_id):
                has_offsets = True
                if expires_ms is not None and (soonest_ms is None or expires_ms < soonest_ms):
                    soonest_ms = expires_ms
            if not has_offsets and self._groups.group(group_id).is_empty:
                return now.mono_ms
        return NEVER_MS if soonest_ms is None else now.mono_at(soonest_ms)

    def _maybe_delete_group(self, group_id: str, records: list[CoordinatorRecord]) -> None:
        group = self._groups.group(group_id)
        if group.is_empty:
            records += group.create_group_tombstone_records()
            group.cancel_timers(self._services.timer)

    def _schedule_expiration(self) -> None:
        """From the next of its times on."""
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
        self._services.timer.schedule(_EXPIRATION, 0, self.cleanup_group_metadata, retry_backoff_ms=interval_ms)

    # The state.

    def replayers(self) -> Mapping[type, Replay]:
        return {OffsetCommitKey: self._replay}

    def _replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        if producer_id != -1:
            return  # issue 15: it is pending until its transaction ends
        if value is None:
            self._offsets.remove(key.group, key.topic, key.partition)
            return
        if key.group not in self._groups:
            self._groups.get_or_create_classic_group(key.group)
        self._offsets.put(key.group, key.topic, key.partition, value)

    def on_loaded(self) -> None:
        self._loaded_ms = self._services.mono_ms
        self._groups.on_added = self._schedule_expiration
        self._schedule_expiration()

    def on_unloaded(self) -> None:
        self._loaded_ms = None
        if self._expiration is not None:
            self._expiration.stop()


def _committed(records: Sequence[CoordinatorRecord]) -> list[tuple[str, int, int]]:
    committed: list[tuple[str, int, int]] = []
    for record in records:
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
            committed.append((key.topic, key.partition, value.offset))
    return committed


def tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), None)


def _fetched(partition: int, value: OffsetCommitValue) -> FetchedOffset:
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


def _is_of_another(value: OffsetCommitValue, topic_id: object) -> bool:
    """It was committed for a topic of the same name that is gone."""
    return ZERO_ID not in (value.topic_id, topic_id) and value.topic_id != topic_id


def _length(text: str) -> int:
    """As Java counts it."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)
