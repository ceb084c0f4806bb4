"""A compacted topic `t` of one partition: writes and stored records."""

from __future__ import annotations

from typing import Any

from fakebroker.core.log.records.record_source import MAX_DECOMPRESSED_BYTES
from fakebroker.protocol.batch_layout import COMPRESSION_MASK, RECORD_BATCH_OVERHEAD
from fakebroker.protocol.compression import compress, decompress
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch, pack_batch, read_batch_header
from support.requests import produce
from support.simulation import Simulation

Pair = tuple[bytes, bytes | None]


def compacted(brokers: int = 1, config: dict[str, str] | None = None, **configs: Any) -> Simulation:
    simulation = Simulation(brokers=brokers, config=config)
    simulation.topic("t", replicas=brokers, **({"cleanup_policy": "compact"} | configs))
    return simulation


def write(simulation: Simulation, *pairs: Pair, codec: int = 0, **header: int) -> None:
    """Write one batch with the present time."""
    batch = encode_batch([Record(*pair) for pair in pairs], base_timestamp_ms=simulation.now.wall_ms, **header)
    if codec:
        parsed = read_batch_header(batch)
        batch = pack_batch(
            parsed._replace(attributes=parsed.attributes | codec), compress(codec, batch[RECORD_BATCH_OVERHEAD:])
        )
    simulation.connect().send(produce("t", acks=1, records=batch))


def stored(simulation: Simulation, broker: int = 1) -> list[list[tuple[int, bytes | None, bytes | None]]]:
    """Return (offset, key, value) of each record of each batch of a replica."""
    batches = []
    for batch in simulation.partition().replicas[broker].log.batches:
        data = batch.data
        header = read_batch_header(data)
        assert (header.base_offset, header.last_offset) == (batch.base_offset, batch.last_offset)
        if header.compression:
            body = decompress(header.compression, data[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES)
            data = pack_batch(header._replace(attributes=header.attributes & ~COMPRESSION_MASK), body)
        records = decode_records(data)
        batches.append([(header.base_offset + (r.offset_delta or 0), r.key, r.value) for r in records])
    return batches


def pairs_of(simulation: Simulation, broker: int = 1) -> list[tuple[int, bytes | None, bytes | None]]:
    return [record for batch in stored(simulation, broker) for record in batch]
