"""The allocation of space in a file.

Theory   A request takes the next free place that is large enough, or space at the end of the file. Free space at the
         end is cut off the file. Each request examines only some of the free places. So a file of which much is freed
         in small pieces may grow to twice its previous maximum. That is rare: records are mostly freed in the order in
         which they came.
Units    bytes.
"""

from __future__ import annotations

from bisect import bisect_left

_LOOKED_AT = 64


class Space:
    """The space of one file, which ends at `end`; `free_bytes` of it are free."""

    def __init__(self) -> None:
        self.end = 0
        self.free_bytes = 0
        self._starts: list[int] = []  # starts of the free places, rising
        self._sizes: dict[int, int] = {}
        self._next = 0  # index of the free place to examine first

    def take(self, size: int) -> int:
        """Allocate `size` bytes. Return where they start."""
        starts, count = self._starts, len(self._starts)
        for step in range(min(count, _LOOKED_AT)):
            index = (self._next + step) % count
            start = starts[index]
            there = self._sizes[start]
            if there >= size:
                self._next = index
                del self._sizes[start]
                if there > size:
                    starts[index] = start + size
                    self._sizes[start + size] = there - size
                else:
                    del starts[index]
                self.free_bytes -= size
                return start
        self._next += _LOOKED_AT
        start = self.end
        self.end += size
        return start

    def give_back(self, start: int, size: int) -> None:
        starts, sizes = self._starts, self._sizes
        index = bisect_left(starts, start)
        self.free_bytes += size
        if index < len(starts) and starts[index] == start + size:
            size += sizes.pop(starts.pop(index))
        if index > 0 and starts[index - 1] + sizes[starts[index - 1]] == start:
            index -= 1
            start = starts.pop(index)
            size += sizes.pop(start)
        if start + size == self.end:
            self.end = start
            self.free_bytes -= size
        else:
            starts.insert(index, start)
            sizes[start] = size

    def check_invariants(self) -> None:
        assert self._starts == sorted(self._sizes)
        assert self.free_bytes == sum(self._sizes.values())
        before = -1
        for start in self._starts:
            assert start > before, "free places that touch are one"
            before = start + self._sizes[start]
        assert before < self.end or not self.end
