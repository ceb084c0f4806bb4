"""The load of a partition when its broker becomes leader: the records of the log are replayed, oldest first.

Theory   Records above the high watermark are replayed too, but may still be lost. So from the high watermark on there
         is a snapshot after each batch. Records of unknown kinds are skipped. A record that cannot be read makes the
         load fail.
Source   coordinator-common/.../common/runtime/CoordinatorLoaderImpl.java @ 4.2.
Differs  Loading runs in slices, with other work in between; Kafka has a thread. Old values need no trimming on the way:
         without a snapshot none are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fakebroker.core.coordinator.context import CoordinatorContext
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.log.log import Log
from fakebroker.protocol.compression import decompress
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    Record,
    decode_records,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.slices import Slices

RECORDS_OF_A_SLICE: Final = 64  # some 10 us each
_MAX_BYTES: Final = 1 << 30  # limit for a decompressed batch, which was validated on its append
_ABORT, _COMMIT = 0, 1

Decode = Callable[[bytes | None, bytes | None], tuple[Any, Any] | None]


def load(context: CoordinatorContext[Any], log: Log, decode: Decode) -> Slices[None]:
    """Replay all records of the log. Raises any error of reading or replaying them."""
    shard = context.shard
    assert shard is not None
    done = 0
    for batch in log.batches_from(log.log_start_offset):
        header, records = _records_of(batch.records)
        for record in records:
            offset = batch.base_offset + (record.offset_delta or 0)
            if header.is_control:
                if record.key is not None and record.key[2:4] in (b"\0\0", b"\0\1"):
                    yield from shard.replay_end_transaction_marker(
                        header.producer_id, header.producer_epoch, record.key[3] == _COMMIT
                    )
            else:
                decoded = decode(record.key, record.value)
                if decoded is not None:
                    shard.replay(offset, header.producer_id, header.producer_epoch, CoordinatorRecord(*decoded))
            done += 1
            if done % RECORDS_OF_A_SLICE == 0:
                yield
        if batch.last_offset + 1 >= log.high_watermark:
            context.update_last_written_offset(batch.last_offset + 1)
            context.update_last_committed_offset(log.high_watermark)
    if context.last_written_offset < log.log_end_offset or not context.registry.epochs:
        context.update_last_written_offset(log.log_end_offset)
        context.update_last_committed_offset(log.high_watermark)


def _records_of(batch: bytes) -> tuple[BatchHeader, list[Record]]:
    header = read_batch_header(batch)
    if header.compression:
        records = decompress(header.compression, batch[RECORD_BATCH_OVERHEAD : header.size_in_bytes], _MAX_BYTES)
        batch = pack_batch(header._replace(attributes=header.attributes & ~0b111), records)
    if header.magic != 2:
        raise InvalidRecordError(f"A coordinator cannot read batches of magic {header.magic}.")
    return header, decode_records(batch)
