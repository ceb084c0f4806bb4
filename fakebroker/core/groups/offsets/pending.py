"""Offsets of open transactions.

Theory   Transactional commits are in the log with their producer's id. They have no effect before the transaction
         marker, which commits or drops them. Commits of others that were made meanwhile are newer.
Source   group-coordinator/.../OffsetMetadataManager.java pendingTransactionalOffsets, openTransactions,
         replayEndTransactionMarker @ 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict
from fakebroker.protocol.group_records.offset_commit import OffsetCommitKey, OffsetCommitValue
from fakebroker.protocol.slices import Slices

_OFFSETS_OF_A_SLICE: Final = 64  # a few us each


@dataclass(frozen=True, slots=True)
class PendingOffset:
    """A pending offset. `order` grows with each write, like Kafka's record offset. `is_overtaken`: a commit that was
    written later is committed already."""

    value: OffsetCommitValue
    order: int
    is_overtaken: bool = False


@final
class PendingOffsets:
    """The pending offsets: by producer, the producers of each partition, and their number in each group."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._by_producer: TimelineDict[int, TimelineDict[OffsetCommitKey, PendingOffset]] = TimelineDict(registry)
        self._producers: TimelineDict[OffsetCommitKey, frozenset[int]] = TimelineDict(registry)
        self._of_group: TimelineDict[str, int] = TimelineDict(registry)
        self._written = 0  # never decreases: an undone write leaves a gap

    def put(self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        offsets = self._by_producer.get(producer_id)
        if offsets is None:
            offsets = self._by_producer[producer_id] = TimelineDict(self._registry)
        self._written += 1
        offsets[key] = PendingOffset(value, self._written)
        producers = self._producers.get(key) or frozenset()
        if producer_id not in producers:
            self._producers[key] = producers | {producer_id}
            self._of_group[key.group] = (self._of_group.get(key.group) or 0) + 1

    def overtake(self, key: OffsetCommitKey, order: int | None = None) -> None:
        """Mark pending offsets as overtaken by a commit that takes effect now. By default the commit is the newest
        write. For a transaction, `order` is that of its own write: pending offsets written after it are newer."""
        order = self._written + 1 if order is None else order
        for producer_id in self._producers.get(key) or ():
            offsets = self._by_producer.get(producer_id)
            pending = None if offsets is None else offsets.get(key)
            if offsets is not None and pending is not None and pending.order < order:
                offsets[key] = PendingOffset(pending.value, pending.order, True)

    def drop(self, key: OffsetCommitKey) -> None:
        """Drop the pending offsets of all producers for a deleted offset."""
        for producer_id in self._producers.get(key) or ():
            offsets = self._by_producer.get(producer_id)
            if offsets is not None and offsets.pop(key) is not None and not len(offsets):
                self._by_producer.pop(producer_id)
            self._forget(producer_id, key)

    def take(self, producer_id: int) -> Slices[list[tuple[OffsetCommitKey, PendingOffset]]]:
        """Remove and return the pending offsets of a producer: its transaction has ended."""
        offsets = self._by_producer.pop(producer_id)
        taken = [] if offsets is None else list(offsets.items())
        for number, (key, _) in enumerate(taken):
            if number % _OFFSETS_OF_A_SLICE == _OFFSETS_OF_A_SLICE - 1:
                self._registry.forget_some()
                yield
            self._forget(producer_id, key)
        return taken

    def _forget(self, producer_id: int, key: OffsetCommitKey) -> None:
        left = (self._producers.get(key) or frozenset()) - {producer_id}
        if left:
            self._producers[key] = left
        else:
            self._producers.pop(key)
        count = (self._of_group.get(key.group) or 1) - 1
        if count:
            self._of_group[key.group] = count
        else:
            self._of_group.pop(key.group)

    def has(self, key: OffsetCommitKey, epoch: int = LATEST) -> bool:
        return bool(self._producers.get(key, epoch))

    def has_any_of(self, group_id: str) -> bool:
        return group_id in self._of_group

    def keys_of(self, group_id: str) -> list[OffsetCommitKey]:
        return [key for key in self._producers.keys() if key.group == group_id]  # noqa: SIM118 (a copy)
