"""Choose among the subscribers of one topic: which gets the next partition, and which gives one up.

Theory   Members stand in a row, sorted by their number of partitions. At the lower end is a range of members with the
         fewest partitions; each gets one in turn. Then the range is one level higher, and takes in the members at that
         level. At the upper end is a range of members with the most partitions; each gives one up in turn, and the
         range comes down a level. Members without partitions of this topic are put behind the upper range. When the
         levels differ by one at most, the topic is balanced.
Source   UniformHeterogeneousAssignmentBuilder.java, MemberAssignmentBalancer @ 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final


@final
class Balancer:
    """The subscribers of one topic. `sizes[i]` is how many partitions of all topics member i has. After each call the
    caller moves one partition to or from the returned member, and updates `sizes`."""

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
        """Return the difference between most and fewest partitions, before any move."""
        return self._sizes[self._row[-1]] - self._sizes[self._row[0]]

    def is_balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def least_loaded(self) -> int:
        """Return the member that gets the next partition."""
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
        """Return the member that gives up a partition; None if all are excluded."""
        row = self._row
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._sizes[row[self._high_start - 1]]  # all members of the range were excluded
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
        """Exclude the member that `most_loaded` returned: it has no partition of this topic."""
        here, last = self._high_next + 1, self._high_end - 1
        self._row[here], self._row[last] = self._row[last], self._row[here]
        self._high_end -= 1
