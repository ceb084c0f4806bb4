"""The transactions of one log: those that are open, those that ended and are not replicated yet, and the aborted ones.

Theory   A transaction begins in a log with its producer's first transactional batch and ends with a transaction marker.
         Read_committed readers read up to the last stable offset: the start of the first transaction without a marker
         below the high watermark. They receive the aborted transactions before it, and skip those records themselves.
         The open transactions are a function of the log, like the other state of producers. The aborted ones are kept
         when the log is truncated, up to there, even if a part of them was deleted.
Units    offsets count records. `first_offset` is that of the first batch of a transaction, `last_offset` of its marker.
Source   storage/.../log/{ProducerStateManager,TransactionIndex,UnifiedLog,AbortedTxn,CompletedTxn}.java @ 4.4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple, final


class AbortedTransaction(NamedTuple):
    """An aborted transaction. `last_stable_offset` is the start of the next transaction that was open then, or the end
    of the log."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@final
class Transactions:
    """The transactions of one log, as far as the log was read."""

    __slots__ = ("_aborted", "_ended", "_ongoing")

    def __init__(self) -> None:
        # First offsets by producer id, in the order in which they began. Not a dict: finding its first entry walks over
        # all entries deleted before it.
        self._ongoing: OrderedDict[int, int] = OrderedDict()
        # A heap of first and last offsets. It has all transactions with a marker that may be above the high watermark.
        self._ended: list[tuple[int, int]] = []
        self._aborted: list[AbortedTransaction] = []  # in the order of their markers

    def begin(self, producer_id: int, first_offset: int) -> None:
        self._ongoing[producer_id] = first_offset

    def complete(self, producer_id: int, last_offset: int, is_aborted: bool) -> None:
        """Record the marker at `last_offset`. A producer without an open transaction has not ended any."""
        first_offset = self._ongoing.pop(producer_id, None)
        if first_offset is None:
            return
        heappush(self._ended, (first_offset, last_offset))
        # After a truncation the log is read again, and the aborted ones are known already.
        if is_aborted and (not self._aborted or self._aborted[-1].last_offset < last_offset):
            first_ongoing = self._first_ongoing()
            last_stable = last_offset + 1 if first_ongoing is None else first_ongoing
            self._aborted.append(AbortedTransaction(producer_id, first_offset, last_offset, last_stable))

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Return ProducerStateManager.firstUnstableOffset, once all below the high watermark is replicated."""
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
        """The number of transactions without a marker in the log."""
        return len(self._ongoing)

    @property
    def aborted(self) -> list[AbortedTransaction]:
        """The aborted transactions, as a copy for inspection."""
        return list(self._aborted)

    def aborted_between(self, offset: int, upper_bound: int) -> Iterator[AbortedTransaction]:
        """Yield the aborted transactions that may have a record in this part of the log, and others with a marker
        behind it (TransactionIndex.collectAbortedTxns)."""
        aborted = self._aborted
        for index in range(bisect_left(aborted, offset, key=_last_offset), len(aborted)):
            transaction = aborted[index]
            if transaction.first_offset < upper_bound:
                yield transaction
            if transaction.last_stable_offset >= upper_bound:
                return

    @property
    def has_aborted(self) -> bool:
        return bool(self._aborted)

    def drop_before(self, log_start_offset: int) -> None:
        """Drop the transactions that are deleted with their marker: no reader needs them."""
        del self._aborted[: bisect_left(self._aborted, log_start_offset, key=_last_offset)]

    def replace_aborted_before(self, offset: int, aborted: list[AbortedTransaction]) -> None:
        """Set the aborted transactions with a marker before `offset`, after a compaction."""
        kept = [transaction for transaction in aborted if transaction.last_offset < offset]
        self._aborted = kept + self._aborted[bisect_left(self._aborted, offset, key=_last_offset) :]

    def truncate_to(self, offset: int) -> None:
        """Drop the state before the log is read again. Transactions aborted before `offset` stay known."""
        self._ongoing.clear()
        self._ended.clear()
        del self._aborted[bisect_left(self._aborted, offset, key=_last_offset) :]

    def check_invariants(self) -> None:
        if self._ongoing:
            starts = list(self._ongoing.values())
            assert starts == sorted(starts)
        if not self._aborted:
            return
        last_offsets = [aborted.last_offset for aborted in self._aborted]
        assert last_offsets == sorted(set(last_offsets))
        for aborted in self._aborted:
            assert aborted.first_offset < aborted.last_offset != aborted.last_stable_offset <= aborted.last_offset + 1


def _last_offset(transaction: AbortedTransaction) -> int:
    return transaction.last_offset
