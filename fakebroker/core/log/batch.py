"""A record batch in the log.

Theory   Its bytes are kept as received. The fields that a leader writes into the header (base offset, leader epoch) are
         kept beside them and inserted on a read: they are outside the CRC. So a batch is immutable: replicas share it,
         and N of them cost the memory of one. A batch that is out of memory is in a segment (segment.py), with the
         leader's fields written in. Holders of the object then read it from there.
Units    sizes and positions are bytes; a position is the number of bytes of the log before the batch, deleted ones
         included. Timestamps are milliseconds since the epoch.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from fakebroker.core.log.producer_entry import ProducerFields
from fakebroker.protocol.answers.pieces import Part
from fakebroker.protocol.batch_layout import LOG_OVERHEAD, MAGIC_AT
from timingwheel.mypyc import mypyc_attr

_HEAD: Final = Struct(">qii")
HEAD_SIZE: Final = MAGIC_AT  # the end of the fields that a leader writes

_COPIED_BYTES: Final = 4_096  # fewer bytes are copied in less time than it takes to make a view of them

# The memory of a batch beyond its records, measured on CPython 3.11 to 3.13, interpreted (docs/memory.md).
BATCH_COST: Final = 272  # The objects, and the entry of the first log.
PRODUCER_COST: Final = 150  # If it has an idempotent producer.
ENTRY_COST: Final = 9  # Of each further log.


@mypyc_attr(allow_interpreted_subclasses=True)
class StoredBytes:
    """Bytes of a log that are out of memory."""

    __slots__ = ()

    def read(self, position: int, size: int) -> bytes:
        """Return bytes of the log, from a position on."""
        raise NotImplementedError


@mypyc_attr(acyclic=True)
class LoggedBatch:
    """A batch in a log. Only the logs that hold it change it.

    base_offset, last_offset
                  of its records
    leader_epoch  of the leader that appended it
    size          in bytes
    timestamp_ms  the time for retention.ms: the largest timestamp, or the time of the append if there is none
    producer      its fields of the idempotent producer, if it has one
    position      in the log; -1 as long as it is in no log
    holders       the number of logs that have it in memory
    stored        its place, once it is out of memory
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
        producer: ProducerFields | None = None,
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
        self.stored: StoredBytes | None = None

    @property
    def size_in_bytes(self) -> int:
        return self.size

    @property
    def cost(self) -> int:
        """The memory that it takes, in bytes."""
        return self.size + (BATCH_COST if self.producer is None else BATCH_COST + PRODUCER_COST)

    @property
    def records(self) -> bytes:
        """The bytes of the batch: as received, or, out of memory, with the leader's fields."""
        return self._records if self.stored is None else self.stored.read(self.position, self.size)

    @property
    def head(self) -> bytes:
        """The fields that a leader writes: base offset, length, leader epoch. They replace the first 16 bytes."""
        return _HEAD.pack(self.base_offset, self.size - LOG_OVERHEAD, self.leader_epoch)

    @property
    def data(self) -> bytes:
        """The batch as readers get it, a copy."""
        return self.head + self.records[HEAD_SIZE:]

    def beginning(self, size: int) -> bytes:
        """Return the first bytes, at most `size`. The leader's fields are as in `records`."""
        if self.stored is None:
            return self._records[:size]
        return self.stored.read(self.position, min(size, self.size))

    def parts(self, start: int, end: int) -> list[Part]:
        """Return the bytes from `start` to before `end`, as readers get them. Large parts in memory are not copied."""
        if self.stored is not None:
            return [self.stored.read(self.position + start, end - start)]
        parts: list[Part] = []
        if start < HEAD_SIZE:
            parts.append(self.head[start:end])
            start = HEAD_SIZE
        if end - start > _COPIED_BYTES:
            parts.append(memoryview(self._records)[start:end])
        elif start < end:
            parts.append(self._records[start:end])
        return parts

    def move_to(self, stored: StoredBytes) -> None:
        """Drop the bytes from memory: from now on they are in `stored`."""
        self.stored = stored
        self._records = b""
