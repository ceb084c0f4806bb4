"""The memory limit of all logs together, and its enforcement.

Theory   Each partition counts the memory of its batches, overhead included. A batch counts once, however many replicas
         share it: from the first log that takes it to the last that drops it. An append that would exceed
         `log.memory.bytes` first makes room: the partitions with the most in memory drop their oldest batches. With
         log.memory.full=spill these go to the store, committed or not, and nothing is lost. With `delete` the committed
         ones are deleted. If that is not enough, the append is refused, as by a broker with a full disk; a full store
         has the same effect. The work for one append is limited, in bytes, batches and partitions. Partitions are in
         ranks by the power of two of their size, and any one of the highest rank is as good as the largest. After the
         limit was lowered it therefore takes some appends until it is kept.
Units    sizes are bytes of memory.
Source   Ours: Kafka has its disk, and the page cache (docs/decisions.md, 15).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, final

from fakebroker.core.log.batch import BATCH_COST
from fakebroker.core.log.store import MemoryStore, Store, StoreFullError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

SPILL: Final = "spill"
DELETE: Final = "delete"

_NO_BOUND: Final = 1 << 62
_RANKS: Final = 63
_RUN_BYTES: Final = 1_048_576  # the bytes of one run, at most
_MOST_BYTES: Final = 4_194_304  # for one append, or the bytes that it needs if that is more
_MOST_RUNS: Final = 64
_LOOKED_AT: Final = 4  # partitions of the highest rank that are compared: the largest of these goes first


class Evictable(Protocol):
    """The interface of a partition that can drop batches from memory."""

    def move_out(self, max_bytes: int, store: Store) -> None:
        """Move a run of the oldest batches in memory into the store."""

    def delete_oldest(self, max_bytes: int) -> None:
        """Delete a run of the oldest batches in memory, as far as they are committed."""


@final
class PartitionMemory:
    """The memory of the logs of one partition: `hot_bytes` for the batches in memory."""

    __slots__ = ("_next_rank_bytes", "_of", "_total", "hot_bytes", "rank")

    def __init__(self, total: LogMemory, of: Evictable | None = None) -> None:
        self._total = total
        self._of = of
        self.hot_bytes = 0
        self.rank = 0
        self._next_rank_bytes = 1

    def add(self, size: int) -> None:
        total = self._total
        total.hot_bytes += size
        self.hot_bytes += size
        if self.hot_bytes >= self._next_rank_bytes:
            self._next_rank_bytes = total.put_in_rank(self)

    def remove(self, size: int) -> None:
        self._total.hot_bytes -= size
        self.hot_bytes -= size

    def add_cold(self, size: int) -> None:
        self._total.add_cold(size)

    def remove_cold(self, size: int) -> None:
        self._total.add_cold(-size)

    def make_room(self, size: int) -> None:
        """Make room for a batch of that size. Raise KAFKA_STORAGE_ERROR if there is none."""
        total = self._total
        if total.hot_bytes + size + BATCH_COST > total.hot_limit:
            total.make_room(size + BATCH_COST)

    def drop(self) -> None:
        """Stop counting: the partition is deleted. Later batches do not count."""
        self._total.take_out_of_rank(self)
        self._total = _NOBODYS
        self._next_rank_bytes = _NO_BOUND

    def ranked(self, next_rank_bytes: int) -> None:
        self._next_rank_bytes = next_rank_bytes

    def let_go(self, max_bytes: int, store: Store | None) -> bool:
        """Drop a run, into the store if one is given. Return True if there was any."""
        before = self.hot_bytes
        if self._of is not None:
            if store is None:
                self._of.delete_oldest(max_bytes)
            else:
                self._of.move_out(max_bytes, store)
        return self.hot_bytes < before


@final
class LogMemory:
    """The memory limit of all logs of a cluster together.

    hot_bytes   memory of the batches in memory; cold_bytes, memory for the index of those out of memory
    hot_limit   the limit of hot_bytes that keeps both within `max_bytes`, with the bytes still being written. At
                least half of that: if cold_bytes need more than the other half, the total exceeds `max_bytes`
    on_full     receives one sentence when the limit is reached for the first time, and when the store is full
    """

    __slots__ = (
        "_has_told", "_has_told_store", "_ranks", "_run_bytes", "_top", "_unwritten_bytes", "cold_bytes", "hot_bytes",
        "hot_limit", "max_bytes", "on_full", "policy", "store",
    )  # fmt: skip

    def __init__(self, max_bytes: int = -1, policy: str = SPILL, store: Store | None = None) -> None:
        self.store = store or MemoryStore()
        self.on_full: Callable[[str], None] | None = None
        self.hot_bytes = 0
        self.cold_bytes = 0
        self._has_told = ""
        self._has_told_store = False
        self._ranks: list[dict[PartitionMemory, None]] = [{} for _ in range(_RANKS)]
        self._top = 0  # no higher rank has a partition
        self.configure(max_bytes, policy)

    @property
    def used_bytes(self) -> int:
        return self.hot_bytes + self.cold_bytes

    def configure(self, max_bytes: int, policy: str) -> None:
        self.max_bytes = max_bytes
        self.policy = policy
        self._run_bytes = min(max(max_bytes // 16, 1), _RUN_BYTES)
        self._unwritten_bytes = min(max_bytes // 16, _MOST_BYTES) if max_bytes >= 0 and policy == SPILL else 0
        self.store.set_max_unwritten_bytes(self._unwritten_bytes)
        self._set_limit()

    def add_cold(self, size: int) -> None:
        self.cold_bytes += size
        self._set_limit()

    def _set_limit(self) -> None:
        if self.max_bytes < 0:
            self.hot_limit = _NO_BOUND
        else:
            of_both = self.max_bytes - self._unwritten_bytes
            self.hot_limit = max(of_both - self.cold_bytes, of_both // 2)

    def make_room(self, size: int) -> None:
        """Make room for `size` more bytes. Raise KAFKA_STORAGE_ERROR if there is none. With `spill` there always is, as
        long as the store takes it: a batch larger than the limit is in memory alone."""
        spills = self.policy == SPILL
        before = self.hot_bytes
        least = before - max(_MOST_BYTES, 2 * size)
        is_store_full = False
        stuck: list[PartitionMemory] = []
        runs = 0
        while self.hot_bytes + size > self.hot_limit and runs < _MOST_RUNS and self.hot_bytes > least:
            partition = self._large_one()
            if partition is None:
                break
            try:
                if not partition.let_go(self._run_bytes, self.store if spills else None):
                    self.take_out_of_rank(partition)  # others have less, but something to give
                    stuck.append(partition)
            except StoreFullError as error:
                is_store_full = True
                self._tell_store(str(error))
                break
            runs += 1
        for partition in stuck:
            partition.ranked(self.put_in_rank(partition))
        if self.hot_bytes < before:
            self._tell()
        if self.hot_bytes + size > self.hot_limit and (is_store_full or not spills):
            why = "the store is full" if is_store_full else "what is not committed is not deleted"
            raise KafkaError(
                ErrorCode.kafka_storage_error,
                f"The logs take {self.used_bytes} bytes and may take {self.max_bytes}: {why}.",
            )

    def _tell(self) -> None:
        if self._has_told == self.policy:
            return
        self._has_told = self.policy
        what = (
            f"old records are put into {self.store.place} to make room (log.memory.full=spill)"
            if self.policy == SPILL
            else "the oldest committed records are deleted to make room"
        )
        self._say(f"the logs have reached log.memory.bytes={self.max_bytes}: from now on {what}")

    def _tell_store(self, problem: str) -> None:
        if not self._has_told_store:
            self._has_told_store = True
            self._say(
                f"old records cannot be put into {self.store.place}: {problem}. Appends that need room are refused "
                "with KAFKA_STORAGE_ERROR until there is some"
            )

    def _say(self, text: str) -> None:
        if self.on_full is not None:
            self.on_full(text)

    # The ranks.

    def put_in_rank(self, partition: PartitionMemory) -> int:
        """Move a partition up to the rank of its size. Return the size at which it has to move up again."""
        self._ranks[partition.rank].pop(partition, None)
        rank = partition.hot_bytes.bit_length()
        self._ranks[rank][partition] = None
        self._top = max(self._top, rank)
        partition.rank = rank
        return 1 << rank

    def take_out_of_rank(self, partition: PartitionMemory) -> None:
        self._ranks[partition.rank].pop(partition, None)
        partition.rank = 0
        partition.ranked(1)

    def _large_one(self) -> PartitionMemory | None:
        """Return one of the partitions with the most in memory, and put it last in its rank. A partition smaller than
        its rank moves down: it is checked once for each time that it moved up."""
        while self._top > 0:
            rank = self._ranks[self._top]
            looked_at: list[PartitionMemory] = []
            while rank and len(looked_at) < _LOOKED_AT:
                partition = next(iter(rank))
                del rank[partition]
                if partition.hot_bytes.bit_length() == self._top:
                    looked_at.append(partition)
                    continue
                self.take_out_of_rank(partition)
                if partition.hot_bytes > 0:
                    partition.ranked(self.put_in_rank(partition))
            if looked_at:
                largest = looked_at[0]
                for partition in looked_at:
                    if partition.hot_bytes > largest.hot_bytes:
                        largest = partition
                for partition in looked_at:
                    if partition is not largest:
                        rank[partition] = None
                rank[largest] = None
                return largest
            self._top -= 1
        return None

    def check_invariants(self) -> None:
        assert self.hot_bytes >= 0
        assert self.cold_bytes >= 0
        hot_bytes = 0
        for number, rank in enumerate(self._ranks):
            if not rank:
                continue
            assert number <= self._top
            for partition in rank:
                hot_bytes += partition.hot_bytes
                assert partition.rank == number
                assert partition.hot_bytes.bit_length() <= number
        assert hot_bytes == self.hot_bytes


_NOBODYS: Final = LogMemory()  # of deleted partitions
