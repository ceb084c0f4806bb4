"""Commits, fetches and deletions of offsets, also in transactions.

Theory   The group validates commits and fetches. A commit without a member (generation -1) to an unknown group creates
         an empty group. Transactional commits are pending (pending.py) until their transaction marker is in the log.
         Offsets are removed when they expire (expiry.py), when their topic is deleted, or on request.
Units    wall milliseconds.
Source   group-coordinator/.../OffsetMetadataManager.java; GroupCoordinatorShard.java onTopicsDeleted @ 4.4 (read out of
         the released jars).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, final

from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.groups.group import Group
from fakebroker.core.groups.manager import GroupManager, Replay
from fakebroker.core.groups.offsets.committed import CommittedOffsets
from fakebroker.core.groups.offsets.expiry import OffsetExpiry
from fakebroker.core.groups.offsets.messages import (
    ZERO_ID,
    FetchedOffset,
    FetchedTopic,
    OffsetCommit,
    OffsetFetch,
    TopicErrors,
    TopicPartitions,
)
from fakebroker.core.groups.offsets.pending import PendingOffsets
from fakebroker.core.groups.services import GroupServices
from fakebroker.core.journal.group_events import OffsetsCommitted
from fakebroker.core.journal.transaction_events import OffsetsPending, PendingOffsetsEnded, result_of
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.offset_commit import NONE, OffsetCommitKey, OffsetCommitValue
from fakebroker.protocol.slices import Slices

_OFFSETS_OF_A_SLICE: Final = 64  # a few us each
_GROUP_ID_NOT_FOUND_SINCE: Final = 9  # version of OffsetCommit
_KIP_1319_SINCE: Final = 6  # version of TxnOffsetCommit
_ILLEGAL_BEFORE_KIP_1319: Final = (ErrorCode.group_id_not_found, ErrorCode.stale_member_epoch)


@final
class Offsets(GroupManager):
    """The offsets of the groups of one partition of __consumer_offsets. `on_commit` is called with the group and the
    member of each accepted commit: it counts as a classic member's heartbeat."""

    def __init__(self, services: GroupServices, on_commit: Callable[[Group, str], None]) -> None:
        self._services = services
        self._groups = services.groups
        self._offsets = CommittedOffsets(services.registry)
        self._on_commit = on_commit
        self._pending = PendingOffsets(services.registry)
        self._expiry = OffsetExpiry(services, self._offsets, self._pending)
        self._is_loaded = False  # commits that are read while loading were reported before

    # Requests.

    def commit(self, request: OffsetCommit) -> Slices[CoordinatorResult[list[TopicErrors]]]:
        """Commit offsets (OffsetMetadataManager.commitOffset). Raises KafkaError."""
        group = self._group_to_commit(request)
        validate = group.validate_offset_commit(
            request.member_id, request.group_instance_id, request.generation_or_epoch, False, request.version
        )
        self._on_commit(group, request.member_id)
        return (yield from self._written(request, validate))

    def commit_in_transaction(self, request: OffsetCommit) -> Slices[CoordinatorResult[list[TopicErrors]]]:
        """Commit offsets in a transaction (OffsetMetadataManager.commitTransactionalOffset). Raises KafkaError."""
        group = self._groups.get(request.group_id)
        if group is None and request.generation_or_epoch < 0:
            group = self._groups.get_or_create_classic_group(request.group_id)
        try:
            if group is None:
                group = self._groups.group(request.group_id)
            validate = group.validate_offset_commit(
                request.member_id, request.group_instance_id, request.generation_or_epoch, True, request.version
            )
            return (yield from self._written(request, validate))
        except KafkaError as error:
            if request.version >= _KIP_1319_SINCE or error.code not in _ILLEGAL_BEFORE_KIP_1319:
                raise
            raise KafkaError(ErrorCode.illegal_generation, error.message) from None

    def _written(
        self, request: OffsetCommit, validate: Callable[[str, int], None] | None
    ) -> Slices[CoordinatorResult[list[TopicErrors]]]:
        now_ms = self._services.wall_ms
        expires_ms = NONE if request.retention_time_ms == NONE else now_ms + request.retention_time_ms
        longest = self._services.config.offset_metadata_max_bytes
        response: list[TopicErrors] = []
        records: list[CoordinatorRecord] = []
        looked_at = 0
        for topic in request.topics:
            errors: list[tuple[int, ErrorCode]] = []
            for commit in topic.partitions:
                looked_at += 1
                if looked_at % _OFFSETS_OF_A_SLICE == 0:
                    yield
                if commit.metadata is not None and _length(commit.metadata) > longest:
                    errors.append((commit.partition, ErrorCode.offset_metadata_too_large))
                    continue
                if validate is not None:
                    validate(topic.name, commit.partition)
                errors.append((commit.partition, ErrorCode.none))
                key = OffsetCommitKey(request.group_id, topic.name, commit.partition)
                value = OffsetCommitValue(
                    commit.offset, commit.leader_epoch, commit.metadata or "", now_ms, expires_ms, topic.topic_id
                )
                records.append(CoordinatorRecord(key, value))
            response.append(TopicErrors(topic.name, topic.topic_id, errors))
        probe = self._services.environment.probe
        if probe.listeners:
            who, epoch = (request.group_id, request.member_id), request.generation_or_epoch
            offsets = _committed(records)
            if request.producer is None:
                probe.tell(OffsetsCommitted(*probe.times, *who, epoch, offsets))
            else:
                probe.tell(OffsetsPending(*probe.times, *who, epoch, *request.producer, offsets))
        return CoordinatorResult(records, response)

    def _group_to_commit(self, request: OffsetCommit) -> Group:
        """Return the group. Create it if it is missing and the request has no member."""
        group = self._groups.get(request.group_id)
        if group is None and request.generation_or_epoch < 0:
            group = self._groups.get_or_create_classic_group(request.group_id)
        if group is None:
            if request.version < _GROUP_ID_NOT_FOUND_SINCE:
                raise KafkaError(ErrorCode.illegal_generation, "Specified group generation id is not valid.")
            group = self._groups.group(request.group_id)
        return group

    def fetch(self, request: OffsetFetch, epoch: int) -> Slices[list[FetchedTopic]]:
        """Fetch offsets as of an epoch (OffsetMetadataManager.fetchOffsets and fetchAllOffsets). Raises KafkaError; but
        an unknown group has no offsets. At LATEST a partition with a pending transactional commit gets
        UNSTABLE_OFFSET_COMMIT."""
        topics = None
        fetched: list[FetchedTopic] = []
        looked_at = 0
        group = self._groups.get(request.group_id, epoch)
        if group is not None:
            group.validate_offset_fetch(request.member_id, request.member_epoch, epoch)
            topics = self._offsets.topics(request.group_id, epoch)
        if request.topics is None:
            if topics is not None:
                for name, committed in topics.items(epoch):
                    all_offsets: list[FetchedOffset] = []
                    for partition, committed_value in committed.items(epoch):
                        unstable = self._unstable(request.group_id, name, partition, epoch)
                        all_offsets.append(unstable or _fetched(partition, committed_value))
                        looked_at += 1
                        if looked_at % _OFFSETS_OF_A_SLICE == 0:
                            yield
                    fetched.append(FetchedTopic(name, ZERO_ID, all_offsets))
            return fetched
        for topic in request.topics:
            partitions = None if topics is None else topics.get(topic.name, epoch)
            offsets: list[FetchedOffset] = []
            looked_at += 1
            if looked_at % _OFFSETS_OF_A_SLICE == 0:
                yield
            for partition in topic.partitions:
                looked_at += 1
                if looked_at % _OFFSETS_OF_A_SLICE == 0:
                    yield
                value = None if partitions is None else partitions.get(partition, epoch)
                unstable = self._unstable(request.group_id, topic.name, partition, epoch)
                if unstable is not None:
                    offsets.append(unstable)
                elif value is None or _is_of_another(value, topic.topic_id):
                    offsets.append(FetchedOffset(partition))
                else:
                    offsets.append(_fetched(partition, value))
            fetched.append(FetchedTopic(topic.name, topic.topic_id, offsets))
        return fetched

    def _unstable(self, group_id: str, topic: str, partition: int, epoch: int) -> FetchedOffset | None:
        if epoch != LATEST or not self._pending.has(OffsetCommitKey(group_id, topic, partition)):
            return None
        return FetchedOffset(partition, error=ErrorCode.unstable_offset_commit)

    def delete(self, group_id: str, topics: Sequence[TopicPartitions]) -> Slices[CoordinatorResult[list[TopicErrors]]]:
        """Delete offsets (OffsetMetadataManager.deleteOffsets). Raises KafkaError."""
        group = self._groups.group(group_id)
        group.validate_offset_delete()
        response: list[TopicErrors] = []
        records: list[CoordinatorRecord] = []
        looked_at = 0
        for topic in topics:
            is_subscribed = group.is_subscribed_to_topic(topic.name)
            error = ErrorCode.group_subscribed_to_topic if is_subscribed else ErrorCode.none
            response.append(TopicErrors(topic.name, ZERO_ID, [(partition, error) for partition in topic.partitions]))
            for partition in topic.partitions:
                looked_at += 1
                if looked_at % _OFFSETS_OF_A_SLICE == 0:
                    yield
                key = OffsetCommitKey(group_id, topic.name, partition)
                if not is_subscribed and (
                    self._offsets.get(group_id, topic.name, partition) is not None or self._pending.has(key)
                ):
                    records.append(CoordinatorRecord(key, None))
        return CoordinatorResult(records, response)

    # Changes by others than members.

    def delete_all_offsets(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the tombstones of all offsets of a group that is deleted, also those of open transactions."""
        committed = [
            OffsetCommitKey(group_id, topic, partition) for topic, partition, _ in self._offsets.items(group_id)
        ]
        keys = dict.fromkeys([*committed, *self._pending.keys_of(group_id)])
        return [CoordinatorRecord(key, None) for key in keys]

    def on_topics_deleted(self, topics: Collection[Topic]) -> CoordinatorResult[None]:
        """Delete the offsets of deleted topics in all groups. Offsets of a topic with the same name and another id
        stay."""
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

    # The state.

    def replayers(self) -> Mapping[type, Replay]:
        return {OffsetCommitKey: self._replay}

    def _replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int) -> None:
        if value is None:
            self._offsets.remove(key.group, key.topic, key.partition)
            self._pending.drop(key)
            return
        if key.group not in self._groups:
            self._groups.get_or_create_classic_group(key.group)
        if producer_id != -1:
            self._pending.put(producer_id, key, value)
            return
        self._offsets.put(key.group, key.topic, key.partition, value)
        self._pending.overtake(key)

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, is_commit: bool) -> Slices[None]:
        """End a transaction. On a commit its offsets become committed, unless a later commit or a deletion has
        overtaken them."""
        taken = yield from self._pending.take(producer_id)
        if taken and self._is_loaded:
            ended = [(key.group, key.topic, key.partition, pending.value.offset) for key, pending in taken]
            probe = self._services.environment.probe
            if probe.listeners:
                result = result_of(is_commit)
                probe.tell(PendingOffsetsEnded(*probe.times, producer_id, producer_epoch, result, tuple(ended)))
        for number, (key, pending) in enumerate(taken):
            if number % _OFFSETS_OF_A_SLICE == _OFFSETS_OF_A_SLICE - 1:
                yield
            if is_commit and not (
                pending.is_overtaken and self._offsets.get(key.group, key.topic, key.partition) is not None
            ):
                self._offsets.put(key.group, key.topic, key.partition, pending.value)
                self._pending.overtake(key, pending.order)

    def on_loaded(self) -> None:
        self._is_loaded = True
        self._expiry.start()

    def on_unloaded(self) -> None:
        self._expiry.stop()

    def cleanup_group_metadata(self) -> CoordinatorResult[None]:
        """Delete expired offsets and unused groups."""
        return self._expiry.cleanup_group_metadata()


def _committed(records: Sequence[CoordinatorRecord]) -> tuple[tuple[str, int, int], ...]:
    committed: list[tuple[str, int, int]] = []
    for record in records:
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
            committed.append((key.topic, key.partition, value.offset))
    return tuple(committed)


def tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), None)


def _fetched(partition: int, value: OffsetCommitValue) -> FetchedOffset:
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


def _is_of_another(value: OffsetCommitValue, topic_id: object) -> bool:
    """Return True if the offset was committed for a deleted topic of the same name."""
    return ZERO_ID not in (value.topic_id, topic_id) and value.topic_id != topic_id


def _length(text: str) -> int:
    """Return the length in UTF-16 units, as in Java."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)
