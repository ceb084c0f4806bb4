"""Offsets that transactions have written and not committed yet.

Theory   They stand in the log with their producer's id, and count for nothing until the mark of its transaction stands
         behind them: then they are committed, or dropped. What was committed by others meanwhile is newer.
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
    """`order` grows as they are written: Kafka's record offset. `is_overtaken`: one that was written later is committed
    already."""

    value: OffsetCommitValue
    order: int
    is_overtaken: bool = False


@final
class PendingOffsets:
    """By producer; and which producers have one for a partition, and how many a group has."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._by_producer: TimelineDict[int, TimelineDict[OffsetCommitKey, PendingOffset]] = TimelineDict(registry)
        self._producers: TimelineDict[OffsetCommitKey, frozenset[int]] = TimelineDict(registry)
        self._of_group: TimelineDict[str, int] = TimelineDict(registry)
        self._written = 0  # never goes back: what is taken back leaves a gap

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
        """Somebody has committed an offset: just now, or, in a transaction that is over, when it was written: then it
        is not newer than what was written behind it."""
        order = self._written + 1 if order is None else order
        for producer_id in self._producers.get(key) or ():
            offsets = self._by_producer.get(producer_id)
            pending = None if offsets is None else offsets.get(key)
            if offsets is not None and pending is not None and pending.order < order:
                offsets[key] = PendingOffset(pending.value, pending.order, True)

    def drop(self, key: OffsetCommitKey) -> None:
        """The offset is deleted, whoever has written it."""
        for producer_id in self._producers.get(key) or ():
            offsets = self._by_producer.get(producer_id)
            if offsets is not None and offsets.pop(key) is not None and not len(offsets):
                self._by_producer.pop(producer_id)
            self._forget(producer_id, key)

    def take(self, producer_id: int) -> Slices[list[tuple[OffsetCommitKey, PendingOffset]]]:
        """The transaction is over: what it has written, which is pending no more."""
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
