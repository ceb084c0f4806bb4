"""A priority queue with the tie-breaking of Java's: a binary heap in an array.

Source   java.util.PriorityQueue of Java 17. Kafka's producer keeps its pending transactional requests in one, and 2.0
         also the batches in flight. Items of equal priority leave in the order of the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """A queue with the least `rank` first. Iteration is in the order of the array, not in that of `poll`."""

    def __init__(self, rank: Callable[[T], int]) -> None:
        self._rank = rank
        self._heap: list[T] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._heap))

    def peek(self) -> T | None:
        return self._heap[0] if self._heap else None

    def offer(self, item: T) -> None:
        self._heap.append(item)
        self._sift_up(len(self._heap) - 1, item)

    def poll(self) -> T | None:
        if not self._heap:
            return None
        first = self._heap[0]
        last = self._heap.pop()
        if self._heap:
            self._sift_down(0, last)
        return first

    def remove(self, item: T) -> None:
        """Remove the item, compared by identity, if it is there."""
        at = next((at for at, one in enumerate(self._heap) if one is item), -1)
        if at < 0:
            return
        moved = self._heap.pop()
        if at == len(self._heap):
            return
        self._sift_down(at, moved)
        if self._heap[at] is moved:
            self._sift_up(at, moved)

    def _sift_up(self, at: int, item: T) -> None:
        rank = self._rank(item)
        while at > 0:
            parent = (at - 1) >> 1
            if rank >= self._rank(self._heap[parent]):
                break
            self._heap[at] = self._heap[parent]
            at = parent
        self._heap[at] = item

    def _sift_down(self, at: int, item: T) -> None:
        rank = self._rank(item)
        size = len(self._heap)
        while at < size >> 1:
            child = 2 * at + 1
            if child + 1 < size and self._rank(self._heap[child]) > self._rank(self._heap[child + 1]):
                child += 1
            if rank <= self._rank(self._heap[child]):
                break
            self._heap[at] = self._heap[child]
            at = child
        self._heap[at] = item
