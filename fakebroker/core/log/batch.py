"""A record batch in the log.

Theory   Its bytes are kept as they came. What a leader writes into its header (base offset, leader epoch) is kept
         beside them, and put there when somebody reads: it is outside the CRC. So the log keeps the very bytes that
         were received, and a batch is immutable: replicas share it, and N of them cost the memory of one.
         A batch that is out of memory stands in a segment (segment.py), with all that written in. Whoever still holds
         the object then reads it there.
Units    sizes and positions are bytes; a position is how many bytes of the log were before the batch, what was deleted
         counted too. Timestamps are milliseconds since the epoch.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from fakebroker.core.log.producer_entry import ProducerBatch
from fakebroker.protocol.answers.pieces import Part
from fakebroker.protocol.batch_layout import LOG_OVERHEAD, MAGIC_AT
from timingwheel.mypyc import mypyc_attr

_HEAD: Final = Struct(">qii")
HEAD_SIZE: Final = MAGIC_AT  # what a leader writes ends there

_COPIED_BYTES: Final = 4_096  # are copied in less time than it takes to make a view of them

# What a batch takes in memory beyond its records, measured on CPython 3.11 to 3.13, not compiled (docs/memory.md).
BATCH_COST: Final = 272  # the objects, and the entry of the first log
PRODUCER_COST: Final = 150  # if it names an idempotent producer
ENTRY_COST: Final = 9  # of each further log


@mypyc_attr(allow_interpreted_subclasses=True)
class Stored:
    """Bytes of a log that are out of memory."""

    __slots__ = ()

    def read(self, position: int, size: int) -> bytes:
        """Bytes of the log, from a position on."""
        raise NotImplementedError


@mypyc_attr(acyclic=True)
class LoggedBatch:
    """Nobody but the logs that hold it changes anything of it.

    base_offset, last_offset
                  of its records
    leader_epoch  of the leader that appended it
    size          in bytes
    timestamp_ms  what retention.ms goes by: the largest timestamp, or the time of the append if there is none
    producer      what it says of its idempotent producer, if it has one
    position      in the log; -1 as long as no log has it
    holders       how many logs have it in memory
    stored        where it is, once it is out of memory
    """

    __slots__ = (
        "_records", "base_offset", "holders", "last_offset", "leader_epoch", "position", "producer", "size", "stored",
        "timestamp_ms",
    )  # fmt: skip

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        leader_epoch: int,
        records: bytes,
        timestamp_ms: int = -1,
        producer: ProducerBatch | None = None,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.leader_epoch = leader_epoch
        self._records = records
        self.size = len(records)
        self.timestamp_ms = timestamp_ms
        self.producer = producer
        self.position = -1
        self.holders = 0
        self.stored: Stored | None = None

    @property
    def size_in_bytes(self) -> int:
        return self.size

    @property
    def cost(self) -> int:
        """What it takes in memory, in bytes."""
        return self.size + (BATCH_COST if self.producer is None else BATCH_COST + PRODUCER_COST)

    @property
    def records(self) -> bytes:
        """Its bytes: as they came, or with what the leader writes, if they are out of memory."""
        return self._records if self.stored is None else self.stored.read(self.position, self.size)

    @property
    def head(self) -> bytes:
        """What a leader writes: base offset, length, leader epoch. It takes the place of the first 16 bytes."""
        return _HEAD.pack(self.base_offset, self.size - LOG_OVERHEAD, self.leader_epoch)

    @property
    def data(self) -> bytes:
        """The batch as it is read, a copy."""
        return self.head + self.records[HEAD_SIZE:]

    def beginning(self, size: int) -> bytes:
        """The first bytes of it, at most `size`; those that the leader writes as in `records`."""
        if self.stored is None:
            return self._records[:size]
        return self.stored.read(self.position, min(size, self.size))

    def parts(self, start: int, end: int) -> list[Part]:
        """Its bytes from `start` to before `end`, as they are read. If they are in memory and many they are not
        copied."""
        if self.stored is not None:
            return [self.stored.read(self.position + start, end - start)]
        found: list[Part] = []
        if start < HEAD_SIZE:
            found.append(self.head[start:end])
            start = HEAD_SIZE
        if end - start > _COPIED_BYTES:
            found.append(memoryview(self._records)[start:end])
        elif start < end:
            found.append(self._records[start:end])
        return found

    def move_to(self, stored: Stored) -> None:
        """Its bytes are there from now on."""
        self.stored = stored
        self._records = b""
