"""Versioned state: the present values, and the values as of each log offset that is not committed yet.

Theory   A coordinator changes its state as soon as a record is in the log. It reads committed state, which is the state
         as of the high watermark. A snapshot is the state as of an offset. The first change of a value after a snapshot
         keeps the old value. So a snapshot costs only the changes after it. It is dropped when the high watermark has
         passed it, and restored when an append fails.
Units    epochs are offsets of the log.
Source   server-common/.../org/apache/kafka/timeline/{SnapshotRegistry,TimelineHashMap,TimelineObject}.java @ 4.0.
Differs  Old values are kept with the value, in a list by epoch, instead of tiers of hash tables. Dropped snapshots are
         forgotten in portions, with later drops, since no read uses them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LATEST: Final = (1 << 63) - 1  # the state as it is now
_FORGOTTEN_AT_ONCE: Final = 512  # some 300 us


class _Missing:
    """Marks that the key was missing."""


_MISSING: Final = _Missing()


class SnapshotRegistry:
    """The snapshots of a set of timelines. `forgotten_at_once` limits the values that are forgotten in one go."""

    def __init__(self, forgotten_at_once: int = _FORGOTTEN_AT_ONCE) -> None:
        self._forgotten_at_once = forgotten_at_once
        self._touched: dict[int, list[tuple[TimelineDict, Hashable]]] = {}  # type: ignore[type-arg]
        self._dropped: deque[tuple[int, list[tuple[TimelineDict, Hashable]]]] = deque()  # type: ignore[type-arg]
        self._latest: int | None = None

    @property
    def epochs(self) -> list[int]:
        """Return the epochs of the snapshots, ascending."""
        return list(self._touched)

    def create_snapshot(self, epoch: int) -> None:
        """Keep the present state as of this epoch. Do nothing if there is such a snapshot. Raises ValueError if there
        is a later one."""
        if self._latest is not None and epoch < self._latest:
            raise ValueError(f"there is a snapshot of {self._latest}, so {epoch} is too late")
        self._touched.setdefault(epoch, [])
        self._latest = epoch

    def delete_snapshots_up_to(self, epoch: int) -> None:
        """Drop the snapshots before this epoch."""
        for earlier in [touched for touched in self._touched if touched < epoch]:
            self._dropped.append((earlier, self._touched.pop(earlier)))
        if not self._touched:
            self._latest = None
        self.forget_some()

    def forget_some(self) -> None:
        """Forget a portion of the dropped snapshots, the oldest first."""
        left = self._forgotten_at_once
        while self._dropped and left > 0:
            epoch, touched = self._dropped[0]
            some = touched[-left:]
            del touched[-left:]
            for timeline, key in some:
                timeline._forget(key, epoch)
            left -= len(some)
            if not touched:
                self._dropped.popleft()

    def revert_to_snapshot(self, epoch: int) -> None:
        """Restore the state of this snapshot, which stays. Later snapshots are dropped. Raises KeyError if it is
        missing."""
        if epoch not in self._touched:
            raise KeyError(f"no snapshot of {epoch}: there are {self.epochs}")
        for later in [touched for touched in reversed(self._touched) if touched >= epoch]:
            for timeline, key in self._touched.pop(later):
                timeline._restore(key, later)
        self._touched[epoch] = []
        self._latest = epoch


class TimelineDict(Generic[K, V]):
    """A dict with immutable values, or with timelines as values. Reads take an epoch: LATEST, or the epoch of a
    snapshot that still exists."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._values: dict[K, V] = {}
        self._before: dict[K, list[tuple[int, V | _Missing]]] = {}  # ascending; the value as of that snapshot

    def get(self, key: K, epoch: int = LATEST) -> V | None:
        if epoch != LATEST and (before := self._before.get(key)):
            place = bisect_left(before, epoch, key=lambda entry: entry[0])
            if place < len(before):
                old = before[place][1]
                return None if isinstance(old, _Missing) else old
        return self._values.get(key)

    def keys(self, epoch: int = LATEST) -> Iterator[K]:
        """Return a copy of the keys. At LATEST they are in the order of insertion, else in no useful order."""
        if epoch == LATEST:
            return iter(list(self._values))
        candidates = dict.fromkeys([*self._values, *self._before])
        return iter([key for key in candidates if self._held(key, epoch)])

    def items(self, epoch: int = LATEST) -> Iterator[tuple[K, V]]:
        for key in self.keys(epoch):
            value = self.get(key, epoch)
            assert value is not None
            yield key, value

    def values(self, epoch: int = LATEST) -> Iterator[V]:
        return (value for _, value in self.items(epoch))

    def __len__(self) -> int:
        """Return the number of present keys."""
        return len(self._values)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, key: K) -> bool:
        """Return True if the key is present now."""
        return key in self._values

    def __setitem__(self, key: K, value: V) -> None:
        self._keep(key)
        self._values[key] = value

    def pop(self, key: K) -> V | None:
        """Remove the key, and return its value; None if it is missing."""
        if key not in self._values:
            return None
        self._keep(key)
        return self._values.pop(key)

    def clear(self) -> None:
        for key in list(self._values):
            self.pop(key)

    def _held(self, key: K, epoch: int) -> bool:
        before = self._before.get(key, [])
        place = bisect_left(before, epoch, key=lambda entry: entry[0])
        return not isinstance(before[place][1], _Missing) if place < len(before) else key in self._values

    def _keep(self, key: K) -> None:
        latest = self._registry._latest
        if latest is None:
            return
        before = self._before.setdefault(key, [])
        if not before or before[-1][0] != latest:
            before.append((latest, self._values.get(key, _MISSING)))
            self._registry._touched[latest].append((self, key))

    # Methods for the registry.

    def _forget(self, key: K, epoch: int) -> None:
        before = self._before[key]
        assert before[0][0] == epoch
        before.pop(0)
        if not before:
            del self._before[key]

    def _restore(self, key: K, epoch: int) -> None:
        before = self._before[key]
        at, old = before.pop()
        assert at == epoch
        if not before:
            del self._before[key]
        if isinstance(old, _Missing):
            self._values.pop(key, None)
        else:
            self._values[key] = old


class TimelineValue(Generic[V]):
    """One immutable value."""

    def __init__(self, registry: SnapshotRegistry, value: V) -> None:
        self._initial = value
        self._value: TimelineDict[None, tuple[V]] = TimelineDict(registry)

    def get(self, epoch: int = LATEST) -> V:
        wrapped = self._value.get(None, epoch)
        return self._initial if wrapped is None else wrapped[0]

    def set(self, value: V) -> None:
        self._value[None] = (value,)
