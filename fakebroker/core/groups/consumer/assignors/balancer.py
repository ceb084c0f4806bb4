"""Of the members of one topic: who has least and is given the next partition, who has most and is to give one up.

Theory   Members stand in a row, those with the fewest partitions first. At its lower end is a range of members who all
         have as few as the first; they are given one each in turn. Then the range is one level higher, and
         takes in whoever stands there. At its upper end is a range of those with most, which comes down in the same
         way, one partition from each in turn. Members who have none of this topic are put behind the upper range. When
         the levels differ by one at most, nothing is to be gained.
Source   UniformHeterogeneousAssignmentBuilder.java, MemberAssignmentBalancer @ 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final


@final
class Balancer:
    """`sizes[i]` is how many partitions member i has, of all topics. Whoever asks for a member is expected to give it
    a partition, or to take one from it, and to count that in `sizes`."""

    __slots__ = (
        "_high_end",
        "_high_level",
        "_high_next",
        "_high_start",
        "_low_end",
        "_low_level",
        "_low_next",
        "_row",
        "_sizes",
    )

    def __init__(self, members: Sequence[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._row = row = sorted(members, key=lambda member: (sizes[member], member))
        self._low_end = self._low_next = 0
        self._low_level = sizes[row[0]] - 1
        self._high_start = self._high_end = len(row)
        self._high_next = len(row) - 1
        self._high_level = sizes[row[-1]] + 1

    @property
    def imbalance(self) -> int:
        """Between the most and the least, before anything moved."""
        return self._sizes[self._row[-1]] - self._sizes[self._row[0]]

    def is_balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def least_loaded(self) -> int:
        """Whose turn it is to be given one."""
        row = self._row
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(row) and self._sizes[row[self._low_end]] == self._low_level:
                self._low_end += 1
            self._low_next = 0
        member = row[self._low_next]
        self._low_next += 1
        return member

    def most_loaded(self) -> int | None:
        """Whose turn it is to give one up. None if all were excluded."""
        row = self._row
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._sizes[row[self._high_start - 1]]  # all of the range were excluded
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._sizes[row[self._high_start - 1]] == self._high_level:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        member = row[self._high_next]
        self._high_next -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """Who was named last has nothing to give up."""
        here, last = self._high_next + 1, self._high_end - 1
        self._row[here], self._row[last] = self._row[last], self._row[here]
        self._high_end -= 1
