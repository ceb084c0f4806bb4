"""The requests of one transactional producer as bytes, made before anything is measured.

version 2   Produce v12, by which the partition is added, and EndTxn v5, which returns the next epoch
version 1   AddPartitionsToTxn v3, Produce v11, EndTxn v4; the epoch stays, so the sequences go on
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from crc32c import crc32c

from conformance import frames
from fakebroker.protocol.batch_layout import ATTRIBUTES_AT, CRC_AT, PRODUCER_EPOCH_AT, TRANSACTIONAL_FLAG
from fakebroker.protocol.record_batch import Record, encode_batch

ADD_PARTITIONS, END_TXN = 24, 26
ADD_VERSION: Final = 3
PRODUCE_VERSION, END_VERSION = {1: 11, 2: 12}, {1: 4, 2: 5}
VALUE: Final = b"x" * 100
ERROR_AT_END: Final = 13  # in an answer to EndTxn, which has behind it the producer's id and epoch

_EPOCH, _EPOCH_AND_SEQUENCE, _CRC = Struct(">h"), Struct(">hi"), Struct(">I")
_EPOCH_AT_END: Final = 23


class Frames:
    """The requests of one producer, of which only epochs and sequences change."""

    def __init__(self, transactional_id: str, topic: str, partition: int, producer: tuple[int, int], version: int):
        self.version = version
        self.epoch = producer[1]
        self.sequence = 0
        producer_id = producer[0]
        batch = encode_batch(
            [Record(None, VALUE)],
            base_timestamp_ms=1_700_000_000_000,
            producer_id=producer_id,
            producer_epoch=self.epoch,
            base_sequence=0,
            attributes=TRANSACTIONAL_FLAG,
        )
        produce = frames.produce(
            topic, {partition: batch}, version=PRODUCE_VERSION[version], transactional_id=transactional_id
        )
        self._batch_at = produce.index(batch)
        self._batch_end = self._batch_at + len(batch)
        self._produce = bytearray(produce)
        values = {
            "transactional_id": transactional_id,
            "producer_id": producer_id,
            "producer_epoch": self.epoch,
            "committed": True,
        }
        self._end = bytearray(frames.request(END_TXN, END_VERSION[version], values))
        self.add = frames.request(
            ADD_PARTITIONS,
            ADD_VERSION,
            {
                "v3_and_below_transactional_id": transactional_id,
                "v3_and_below_producer_id": producer_id,
                "v3_and_below_producer_epoch": self.epoch,
                "v3_and_below_topics": [{"name": topic, "partitions": (partition,)}],
            },
        )
        # In the answers: length, correlation id, tags; an array, the topic's name, an array, and the partition.
        self.produced_error_at = 4 + 4 + 1 + 1 + 1 + len(topic) + 1 + 4
        self.added_error_at = self.produced_error_at + 4  # the throttle time comes first

    @property
    def produce(self) -> bytes:
        frame, at = self._produce, self._batch_at
        _EPOCH_AND_SEQUENCE.pack_into(frame, at + PRODUCER_EPOCH_AT, self.epoch, self.sequence)
        _CRC.pack_into(frame, at + CRC_AT, crc32c(memoryview(frame)[at + ATTRIBUTES_AT : self._batch_end]))
        return bytes(frame)

    @property
    def end(self) -> bytes:
        _EPOCH.pack_into(self._end, len(self._end) - 4, self.epoch)  # whether it commits, and the tags, come behind it
        return bytes(self._end)

    def ended(self, answer: bytes) -> None:
        """Go on to the next transaction."""
        if self.version == 2:
            (self.epoch,) = _EPOCH.unpack_from(answer, _EPOCH_AT_END)
        else:
            self.sequence += 1
