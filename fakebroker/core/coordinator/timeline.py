"""State that remembers what it was: values as of now, and as of each offset of the log that is not committed yet.

Theory   A coordinator changes its state as soon as a record is in the log, and reads what is committed: the state as of
         the high watermark. A snapshot is the state as of an offset. After one is made, the first change of each value
         keeps what it was; so a snapshot costs what changed after it. It is dropped when the watermark has passed it,
         and gone back to when an append fails.
Units    epochs are offsets of the log.
Source   server-common/.../org/apache/kafka/timeline/{SnapshotRegistry,TimelineHashMap,TimelineObject}.java @ 4.0.
Differs  What a value was is kept with the value, as a list by epoch, instead of hash tables of tiers. Of what is
         dropped some is forgotten at once, and the rest with what is dropped later: until then nobody asks for it.
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
    """There was nothing under this key."""


_MISSING: Final = _Missing()


class SnapshotRegistry:
    """The snapshots of some timelines. `forgotten_at_once` is how much of what is dropped is forgotten in one go."""

    def __init__(self, forgotten_at_once: int = _FORGOTTEN_AT_ONCE) -> None:
        self._forgotten_at_once = forgotten_at_once
        self._touched: dict[int, list[tuple[TimelineDict, Hashable]]] = {}  # type: ignore[type-arg]
        self._dropped: deque[tuple[int, list[tuple[TimelineDict, Hashable]]]] = deque()  # type: ignore[type-arg]
        self._latest: int | None = None

    @property
    def epochs(self) -> list[int]:
        """Of the snapshots that there are, ascending."""
        return list(self._touched)

    def create_snapshot(self, epoch: int) -> None:
        """Keep the state as it is now. Nothing happens if it is kept already. Raises ValueError if a later one is."""
        if self._latest is not None and epoch < self._latest:
            raise ValueError(f"there is a snapshot of {self._latest}, so {epoch} is too late")
        self._touched.setdefault(epoch, [])
        self._latest = epoch

    def delete_snapshots_up_to(self, epoch: int) -> None:
        """Forget those before it."""
        for earlier in [each for each in self._touched if each < epoch]:
            self._dropped.append((earlier, self._touched.pop(earlier)))
        if not self._touched:
            self._latest = None
        self.forget_some()

    def forget_some(self) -> None:
        """Of what was dropped, the oldest first."""
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
        """Everything is as it was then. Later snapshots are gone, this one stays. Raises KeyError if there is none."""
        if epoch not in self._touched:
            raise KeyError(f"no snapshot of {epoch}: there are {self.epochs}")
        for later in [each for each in reversed(self._touched) if each >= epoch]:
            for timeline, key in self._touched.pop(later):
                timeline._restore(key, later)
        self._touched[epoch] = []
        self._latest = epoch


class TimelineDict(Generic[K, V]):
    """A dict of immutable values, or of values that are timelines themselves. Reads take an epoch: what held when its
    snapshot was made; it must be one that is kept, or LATEST."""

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
        """A copy of them, in no order that means anything unless it is LATEST: then in that of their insertion."""
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
        """As of now."""
        return len(self._values)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, key: K) -> bool:
        """As of now."""
        return key in self._values

    def __setitem__(self, key: K, value: V) -> None:
        self._keep(key)
        self._values[key] = value

    def pop(self, key: K) -> V | None:
        """Take it out; None if it was not there."""
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

    # The registry's.

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
        found = self._value.get(None, epoch)
        return self._initial if found is None else found[0]

    def set(self, value: V) -> None:
        self._value[None] = (value,)
