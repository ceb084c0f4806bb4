"""The records of a topic, read from the leaders of its partitions, as read_committed and as read_uncommitted.

Theory   The broker returns the aborted transactions, and the reader omits them, like every client. aiokafka's reader
         decodes the records (../log.py says why).
"""

from __future__ import annotations

import struct
import time
from datetime import timedelta
from typing import Any

from aiokafka.record.memory_records import MemoryRecords

from conformance.clients.wire import Wire, check

_FETCH = 1
_LIMIT_S = 10.0
_ABORT = 0  # the type of a control record


def read_values(
    bootstrap_servers: str, topic: str, *, committed: bool, to_its_end: bool = True
) -> dict[int, list[str]]:
    """The values of each partition, up to its end; what stands open is a TimeoutError after 10 s, or, not `to_its_end`,
    just not read. Raises RuntimeError if a broker refuses."""
    return {partition: values for partition, (values, _) in _read_all(bootstrap_servers, topic, committed, to_its_end)}


def count_markers(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """Return the number of transaction markers in each partition. Errors as of `read_values`."""
    return {partition: markers for partition, (_, markers) in _read_all(bootstrap_servers, topic, False, True)}


def _read_all(
    bootstrap_servers: str, topic: str, committed: bool, to_its_end: bool
) -> list[tuple[int, tuple[list[str], int]]]:
    with Wire(bootstrap_servers) as wire:
        addresses, metadata = wire.described(topic)
        return [
            (index, _read(wire, addresses[part.leader_id], topic, index, committed, to_its_end))
            for index, part in sorted((int(part.partition_index), part) for part in metadata.partitions)
        ]


def _read(
    wire: Wire, leader: str, topic: str, partition: int, committed: bool, to_its_end: bool
) -> tuple[list[str], int]:
    """The values, and how many markers."""
    values: list[str] = []
    markers = 0
    offset = 0
    aborting: set[int] = set()  # producers in the midst of a transaction that was aborted
    limit = time.monotonic() + _LIMIT_S
    while True:
        answer = _fetch(wire, leader, topic, partition, offset, committed)
        aborted = sorted(
            (transaction.first_offset, transaction.producer_id) for transaction in answer.aborted_transactions or ()
        )
        batches = MemoryRecords(answer.records or b"")
        while batches.has_next():
            batch: Any = batches.next_batch()
            while aborted and aborted[0][0] <= batch.next_offset - 1:
                aborting.add(aborted.pop(0)[1])
            if batch.is_control_batch:
                markers += 1
                [control] = batch
                if struct.unpack_from(">h", control.key, 2)[0] == _ABORT:
                    aborting.discard(batch.producer_id)
            elif not (committed and batch.is_transactional and batch.producer_id in aborting):
                values += [record.value.decode() for record in batch if record.offset >= offset]
            offset = max(offset, batch.next_offset)
        if offset == (answer.last_stable_offset if committed else answer.high_watermark) and (
            not to_its_end or answer.high_watermark == answer.last_stable_offset
        ):
            return values, markers
        if time.monotonic() > limit:
            said = f"last stable offset {answer.last_stable_offset}, high watermark {answer.high_watermark}"
            raise TimeoutError(f"{topic}-{partition} has an open transaction: {said}")


def _fetch(wire: Wire, leader: str, topic: str, partition: int, offset: int, committed: bool) -> Any:
    wanted = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 24}
    values = {
        "max_wait": timedelta(milliseconds=20),
        "min_bytes": 1,
        "isolation_level": int(committed),
        "topics": [{"topic": topic, "partitions": [wanted]}],
    }
    [answer] = wire.ask(leader, _FETCH, 11, values).responses[0].partitions
    check(answer.error_code, f"reading {topic}-{partition}")
    return answer
