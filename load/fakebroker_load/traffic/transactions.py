"""Consume, transform, produce: one processor for each partition of a topic, with Kafka's own transactional producer.

Theory   A processor reads its partition from its group's committed offset on, sends one record for each that it read,
         and commits both, its records and its offset, in one transaction. Every `fail_every`-th transaction comes to
         nothing: in turn it is aborted, or its producer dies and another one with its name takes its place. Then
         the processor asks the broker where it is to read on, as one that starts anew does.
         A record's `sequence` is the offset of what it was made of, so that each must be shown to a reader of committed
         transactions once, however often it was tried. A row tells of the transaction that was committed; one that
         came to nothing is no row. What was not committed in time is "not sent".
Errors   None: they are outcomes. An error of the producer is one more transaction that came to nothing.
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
from fakebroker_load.wire.client import Exchange, Outcome, sleep_until
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
COMMIT_WITHIN_MS = 60_000  # as max.block.ms is by default
STALLED_S = 30.0  # without one transaction that was committed


class Processor:
    """To be driven as a connection is."""

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
        """Whether one was committed."""
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
            if fails:  # its records are in the log before it comes to nothing
                await asyncio.wait([future for _, future, _ in under_way])
            if fails and self._attempts // self._row["fail_every"] % 2 == 0:
                await self._begin_anew(is_new=True)
                return False
            if fails:
                await self._producer.abort_transaction()
                await self._read_on()
                return False
            await self._producer.commit_transaction()
            told = [(offset, await future, value) for offset, future, value in under_way]
        except ProducerError:
            await self._begin_anew(is_new=True)
            return False
        for offset, metadata, value in told:
            self._load.has_sent()
            self._keep(offset, value, sent_ns, metadata)
        self._done = read[-1][0] + 1
        return True

    async def _send(self, offset: int, value: bytes) -> asyncio.Future[RecordMetadata]:
        row = self._row
        key = self._load.make_key(row, offset)
        future = await self._producer.send(row["topic"], made(value), key=key, partition=row["partition"])
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it
        return future

    async def _begin_anew(self, is_new: bool) -> None:
        """With another producer of the same name, where the broker says. Whoever had the name before is fenced."""
        if is_new:
            await self._producer.close(0)
            self._producer = self._new_producer()
            await self._producer.start()
        await self._producer.init_transactions()
        await self._read_on()

    async def _read_on(self) -> None:
        """From the offset that is committed for the group."""
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
        """Offsets and values, from that offset on."""
        _, answer = await reader.ask(lambda number: encode_fetch(number, *self._source, offset, FETCH_WAIT_MS))
        found: list[tuple[int, bytes]] = []
        for base, _, records in batches(decode_fetch(answer, *self._source).records):
            for record in records or ():
                at = base + (record.offset_delta or 0)
                if at >= offset and len(found) < most:
                    found.append((at, record.value or b""))
        return found

    def _keep(self, sequence: int, value: bytes, sent_ns: int | None, told: RecordMetadata | None) -> None:
        now_ns = time.monotonic_ns()
        exchange = Exchange(
            correlation_id=self._row["first_correlation_id"] + sequence,
            request=b"",
            wants_answer=True,
            timeout_ms=0,
            intended_ns=(sent_ns or now_ns) - self._start_ns,  # nobody says when: it is sent when it was read
            sent_ns=sent_ns,
            answered_ns=None if told is None else now_ns,
            outcome=Outcome.NOT_SENT if told is None else Outcome.ANSWERED,
        )
        own: Row = {
            "sequence": sequence,
            "correlation_id": exchange.correlation_id,
            "timeout_ms": 0,
            "intended_us": exchange.intended_ns // 1000,
            "error_code": None if told is None else 0,
            "base_offset": None if told is None else told.offset,
            "outcome": str(exchange.outcome),
            "due_high_us": None if sent_ns is None else (sent_ns - self._start_ns) // 1000 + COMMIT_WITHIN_MS * 1000,
            "value_crc": zlib.crc32(value),
            "fingerprint": fingerprint(Record(self._load.make_key(self._row, sequence), value)),
        }
        self._load.keep(self._kept | own, exchange)


def made(value: bytes) -> bytes:
    """Of what was read, what is sent."""
    return b"seen " + value
