"""Consume, transform, produce: one processor for each partition of a topic, with Kafka's own transactional producer.

Theory   A processor reads its partition from its group's committed offset on. For each record it sends one, and commits
         its records and its offset in one transaction. Every `fail_every`-th transaction fails. In turn it is aborted,
         or its producer dies and a new one with the same transactional id replaces it. Then the processor asks the
         broker for the committed offset, like one that has just started.
         A record's `sequence` is the offset of its source record. So each must be shown to a read_committed consumer
         once, however often it was tried. A row describes the transaction that was committed; failed ones have no row.
         Records that were not committed in time are "not sent".
Errors   None: errors are outcomes. An error of the producer is one more failed transaction.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from contextlib import suppress
from typing import Any

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.producing.async_producer import AsyncProducer
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.record_batch import Record
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker_load.plan import Row
from fakebroker_load.traffic.producers import Keeper, producer_name
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.client import Exchange, RequestOutcome, sleep_until
from fakebroker_load.wire.group_messages import (
    decode_find_coordinator,
    decode_offset_fetch,
    encode_find_coordinator,
    encode_offset_fetch,
)
from fakebroker_load.wire.log_messages import batches, decode_fetch, encode_fetch
from fakebroker_load.wire.messages import fingerprint

RETRY_S = 0.05
FETCH_WAIT_MS = 200
COMMIT_WITHIN_MS = 60_000  # default of max.block.ms
STALLED_S = 30.0  # without a committed transaction


class ProcessorDriver:
    """A driver of a processor, used like the driver of a connection."""

    def __init__(self, load: Keeper, row: Row, run_id: str) -> None:
        self._load = load
        self._row = row
        self._kept = {name: row[name] for name in RESULT_SCHEMA.names if name in row} | {"ordered": True}
        self._name = producer_name(row["client_id"], run_id, row["connection"])
        self._group = GroupMetadata(f"{row['topic']}-{run_id}")
        self._source = TopicPartition(row["source"], row["partition"])
        self._producer = self._new_producer()
        self._attempts = 0
        self._done = 0
        self._start_ns = 0

    def _new_producer(self) -> AsyncProducer:
        settings: dict[str, Any] = json.loads(self._row["settings"]) | {
            "acks": "all",
            "bootstrap.servers": self._row["bootstrap"],
            "client.id": self._name,
            "transactional.id": self._name,
        }
        return AsyncProducer(settings, self._row["generation"])

    async def connect(self, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            await self._producer.start()

    async def close(self) -> None:
        await self._producer.close(0)

    async def send(self, start_ns: int, grace_ms: int) -> None:
        self._start_ns = start_ns
        await sleep_until(start_ns + self._row["first_us"] * 1000)
        with suppress(ProtocolError, ProducerError, OSError):
            await self._process(self._row["requests"])
        for sequence in range(self._done, self._row["requests"]):
            self._keep(sequence, b"", None, None)

    async def _process(self, requests: int) -> None:
        reader = await Caller.of(self._row["source_host"], self._row["source_port"])
        try:
            await self._begin_anew(is_new=False)
            progress = time.monotonic()
            while self._done < requests:
                if time.monotonic() - progress > STALLED_S:
                    raise TimeoutError
                if await self._one_transaction(reader, min(self._row["per_transaction"], requests - self._done)):
                    progress = time.monotonic()
        finally:
            await reader.close()

    async def _one_transaction(self, reader: Caller, most: int) -> bool:
        """Try one transaction. Return True if it was committed."""
        read = await self._read(reader, self._done, most)
        if not read:
            return False
        self._attempts += 1
        fails = self._row["fail_every"] and self._attempts % self._row["fail_every"] == 0
        sent_ns = time.monotonic_ns()
        try:
            self._producer.begin_transaction()
            under_way = [(offset, await self._send(offset, value), made(value)) for offset, value in read]
            await self._producer.send_offsets_to_transaction({self._source: read[-1][0] + 1}, self._group)
            if fails:  # the records of a failing transaction must be in the log
                await asyncio.wait([future for _, future, _ in under_way])
            if fails and self._attempts // self._row["fail_every"] % 2 == 0:
                await self._begin_anew(is_new=True)
                return False
            if fails:
                await self._producer.abort_transaction()
                await self._read_on()
                return False
            await self._producer.commit_transaction()
            written = [(offset, await future, value) for offset, future, value in under_way]
        except ProducerError:
            await self._begin_anew(is_new=True)
            return False
        for offset, metadata, value in written:
            self._load.has_sent()
            self._keep(offset, value, sent_ns, metadata)
        self._done = read[-1][0] + 1
        return True

    async def _send(self, offset: int, value: bytes) -> asyncio.Future[RecordMetadata]:
        row = self._row
        key = self._load.make_key(row, offset)
        future = await self._producer.send(row["topic"], made(value), key=key, partition=row["partition"])
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # the result may never be awaited
        return future

    async def _begin_anew(self, is_new: bool) -> None:
        """Initialise transactions, with a new producer of the same transactional id if `is_new`; the old one is fenced.
        Then read on from the committed offset."""
        if is_new:
            await self._producer.close(0)
            self._producer = self._new_producer()
            await self._producer.start()
        await self._producer.init_transactions()
        await self._read_on()

    async def _read_on(self) -> None:
        """Read on from the committed offset of the group."""
        deadline = time.monotonic() + STALLED_S
        while True:
            try:
                self._done = max(await self._committed(), 0)
            except ProtocolError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(RETRY_S)
            else:
                return

    async def _committed(self) -> int:
        row = self._row
        first = await Caller.of(row["host"], row["port"])
        try:
            place = decode_find_coordinator(
                (await first.ask(lambda number: encode_find_coordinator(number, self._group.group_id)))[1]
            )
        finally:
            await first.close()
        coordinator = await Caller.of(*place)
        try:
            return decode_offset_fetch(
                (
                    await coordinator.ask(
                        lambda number: encode_offset_fetch(number, self._group.group_id, *self._source)
                    )
                )[1]
            )
        finally:
            await coordinator.close()

    async def _read(self, reader: Caller, offset: int, most: int) -> list[tuple[int, bytes]]:
        """Return offsets and values, from that offset on."""
        _, answer = await reader.ask(lambda number: encode_fetch(number, *self._source, offset, FETCH_WAIT_MS))
        values: list[tuple[int, bytes]] = []
        for base, _, records in batches(decode_fetch(answer, *self._source).records):
            for record in records or ():
                at = base + (record.offset_delta or 0)
                if at >= offset and len(values) < most:
                    values.append((at, record.value or b""))
        return values

    def _keep(self, sequence: int, value: bytes, sent_ns: int | None, metadata: RecordMetadata | None) -> None:
        now_ns = time.monotonic_ns()
        exchange = Exchange(
            correlation_id=self._row["first_correlation_id"] + sequence,
            request=b"",
            wants_answer=True,
            timeout_ms=0,
            intended_ns=(sent_ns or now_ns) - self._start_ns,  # unplanned: sent when its source was read
            sent_ns=sent_ns,
            answered_ns=None if metadata is None else now_ns,
            outcome=RequestOutcome.NOT_SENT if metadata is None else RequestOutcome.ANSWERED,
        )
        own: Row = {
            "sequence": sequence,
            "correlation_id": exchange.correlation_id,
            "timeout_ms": 0,
            "intended_us": exchange.intended_ns // 1000,
            "error_code": None if metadata is None else 0,
            "base_offset": None if metadata is None else metadata.offset,
            "outcome": str(exchange.outcome),
            "due_high_us": None if sent_ns is None else (sent_ns - self._start_ns) // 1000 + COMMIT_WITHIN_MS * 1000,
            "value_crc": zlib.crc32(value),
            "fingerprint": fingerprint(Record(self._load.make_key(self._row, sequence), value)),
        }
        self._load.keep(self._kept | own, exchange)


def made(value: bytes) -> bytes:
    """Return the value that is sent for a value that was read."""
    return b"seen " + value
