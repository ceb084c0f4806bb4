"""The transactions of one log: those that are open, those that ended and are not replicated yet, and the aborted ones.

Theory   A transaction begins in a log with its producer's first transactional batch and ends with a mark. Readers that
         want only what is committed read up to the last stable offset: where the first transaction begins that has no
         mark below the high watermark. They are told which transactions before it were aborted, and leave out
         those records themselves.
         What is open is a function of the log, as all that is known of producers; the aborted ones are kept when the
         log is truncated, up to there, even if a part of them was deleted.
Units    offsets count records. `first_offset` is that of the first batch of a transaction, `last_offset` of its mark.
Source   storage/.../log/{ProducerStateManager,TransactionIndex,UnifiedLog,AbortedTxn,CompletedTxn}.java @ 4.4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple, final


class AbortedTransaction(NamedTuple):
    """`last_stable_offset` is where the next open transaction begins, of then, or the end of the log."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@final
class Transactions:
    """As far as the log was looked at."""

    __slots__ = ("_aborted", "_ended", "_ongoing")

    def __init__(self) -> None:
        # First offsets by producer id, in the order in which they began. No dict: that looks at all who left before
        # the first one.
        self._ongoing: OrderedDict[int, int] = OrderedDict()
        # A heap of first and last offsets, in which are all those whose mark may be above the watermark.
        self._ended: list[tuple[int, int]] = []
        self._aborted: list[AbortedTransaction] = []  # in the order of their marks

    def begin(self, producer_id: int, first_offset: int) -> None:
        self._ongoing[producer_id] = first_offset

    def complete(self, producer_id: int, last_offset: int, is_aborted: bool) -> None:
        """Its mark stands at `last_offset`; a producer without an open transaction has not ended any."""
        first_offset = self._ongoing.pop(producer_id, None)
        if first_offset is None:
            return
        heappush(self._ended, (first_offset, last_offset))
        # After a truncation the log is looked at again, and the aborted ones are known already.
        if is_aborted and (not self._aborted or self._aborted[-1].last_offset < last_offset):
            first_ongoing = self._first_ongoing()
            last_stable = last_offset + 1 if first_ongoing is None else first_ongoing
            self._aborted.append(AbortedTransaction(producer_id, first_offset, last_offset, last_stable))

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """ProducerStateManager.firstUnstableOffset, once all below the watermark is replicated."""
        ended = self._ended
        while ended and ended[0][1] < high_watermark:
            heappop(ended)
        first_ended = ended[0][0] if ended else None
        first_ongoing = self._first_ongoing()
        if first_ongoing is None or first_ended is None:
            return first_ended if first_ongoing is None else first_ongoing
        return min(first_ongoing, first_ended)

    def _first_ongoing(self) -> int | None:
        for first_offset in self._ongoing.values():
            return first_offset
        return None

    @property
    def num_open(self) -> int:
        """How many have no mark in the log."""
        return len(self._ongoing)

    @property
    def aborted(self) -> list[AbortedTransaction]:
        """A copy: to look at, not to work with."""
        return list(self._aborted)

    def aborted_between(self, offset: int, upper_bound: int) -> Iterator[AbortedTransaction]:
        """TransactionIndex.collectAbortedTxns: those of which a record may be in this part of the log, and others
        whose mark lies behind it."""
        aborted = self._aborted
        for index in range(bisect_left(aborted, offset, key=_last_offset), len(aborted)):
            each = aborted[index]
            if each.first_offset < upper_bound:
                yield each
            if each.last_stable_offset >= upper_bound:
                return

    @property
    def has_aborted(self) -> bool:
        return bool(self._aborted)

    def drop_before(self, log_start_offset: int) -> None:
        """Nobody asks for what is deleted, mark and all."""
        del self._aborted[: bisect_left(self._aborted, log_start_offset, key=_last_offset)]

    def replace_aborted_before(self, offset: int, aborted: list[AbortedTransaction]) -> None:
        """The log was compacted: of those whose mark lies before `offset` there are only these."""
        kept = [each for each in aborted if each.last_offset < offset]
        self._aborted = kept + self._aborted[bisect_left(self._aborted, offset, key=_last_offset) :]

    def truncate_to(self, offset: int) -> None:
        """The log is about to be looked at again; what was aborted before `offset` is known for good."""
        self._ongoing.clear()
        self._ended.clear()
        del self._aborted[bisect_left(self._aborted, offset, key=_last_offset) :]

    def check_invariants(self) -> None:
        if self._ongoing:
            starts = list(self._ongoing.values())
            assert starts == sorted(starts)
        if not self._aborted:
            return
        marks = [each.last_offset for each in self._aborted]
        assert marks == sorted(set(marks))
        for each in self._aborted:
            assert each.first_offset < each.last_offset != each.last_stable_offset <= each.last_offset + 1


def _last_offset(transaction: AbortedTransaction) -> int:
    return transaction.last_offset
