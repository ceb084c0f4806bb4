"""Raw requests: the frames of one connection, with batches as real producers send them.

Theory   A request has a batch for each of its partitions, and each record has a row: its key names the connection and
         its `sequence`, a number that rises through the connection. `place` is its number within the request. The
         response tells each partition's error and base offset; a record's offset follows from its place in the batch.
         An idempotent connection has a producer id of its own, and counts its records of each partition. One with a
         transaction begins it before the first request, and ends it after the last response.
Errors   None: errors are outcomes. A connection without a producer id sends nothing. A transaction that cannot be ended
         is found by its records.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, cast

from fakebroker.protocol.batch_layout import TRANSACTIONAL_FLAG
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker_load.plan import Row, requests_of
from fakebroker_load.scenario.batches import CODECS, COMMIT
from fakebroker_load.traffic.producers import Keeper
from fakebroker_load.traffic.raw_transactions import RawTransaction
from fakebroker_load.traffic.rows import RESULT_SCHEMA, ROWS_AT_ONCE, make_value
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.client import ClientConnection, Exchange, RequestOutcome, connect, drive
from fakebroker_load.wire.messages import (
    AnswerReader,
    ProduceResult,
    compressed,
    decode_answers,
    decode_init_producer_id,
    encode_init_producer_id,
    encode_produce,
    fingerprint,
)

NO_PRODUCER = (-1, -1)
Part = tuple[str, int]


class SentRecord(NamedTuple):
    """A record of a request: its number in its batch, and what identifies it."""

    at: int
    part: Part
    expected_error: int | None
    sequence: int
    value_crc: int
    fingerprint: str


@dataclass(slots=True, eq=False, kw_only=True)
class ProduceExchange(Exchange):
    """A request of the plan."""

    records: list[SentRecord]
    timestamp_ms: int


class RawDriver:
    """One connection of the plan."""

    def __init__(self, load: Keeper, row: Row, run_id: str) -> None:
        self._load = load
        self._row = row
        self._kept = {name: row[name] for name in RESULT_SCHEMA.names if name in row}
        self._parts: list[tuple[str, int, int | None]] = [(*part,) for part in json.loads(row["parts"])]
        self._headers = tuple((f"header-{number}", b"%d" % number) for number in range(row["headers"]))
        self._reader = AnswerReader(row["topic"], row["partition"])
        self._producer = NO_PRODUCER
        self._transaction: RawTransaction | None = None
        if row["transaction"] is not None:
            name = f"{row['client_id']}-{run_id}-{row['connection']}"
            self._transaction = RawTransaction(name, (row["host"], row["port"]), [part[:2] for part in self._parts])
        self._connection: ClientConnection | None = None

    async def connect(self, at_once: asyncio.Semaphore) -> None:
        host, port = self._row["host"], self._row["port"]
        async with at_once:
            if self._row["idempotent"]:
                try:
                    self._producer = await self._new_producer()
                except (ConnectionError, ProtocolError):
                    return
            self._connection = await connect(host, port, self._ended)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def send(self, start_ns: int, grace_ms: int) -> None:
        left: Iterator[Exchange] = self._exchanges()
        if self._connection is not None:
            left = await drive(
                self._connection,
                left,
                start_ns=start_ns,
                pipelined=self._row["pipelined"],
                grace_ms=grace_ms,
                on_sent=self._has_sent,
            )
            if self._transaction is not None:
                with suppress(ConnectionError, ProtocolError):
                    await self._transaction.end(self._row["transaction"] == COMMIT)
        for number, exchange in enumerate(left):  # never sent
            self._ended(exchange)
            if number % ROWS_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _new_producer(self) -> tuple[int, int]:
        if self._transaction is None:
            return await new_producer(self._row["host"], self._row["port"])
        return (await self._transaction.begin())[1:]

    def _has_sent(self) -> None:
        for _ in range(len(self._parts) * self._row["records_per_batch"]):
            self._load.has_sent()

    def _exchanges(self) -> Iterator[ProduceExchange]:
        row = self._row
        for number, correlation_id, timeout_ms, intended_us in requests_of(row):
            timestamp_ms = int(time.time() * 1000)
            records: list[SentRecord] = []
            batches: list[tuple[str, tuple[int, bytes]]] = []
            for part in self._parts:
                batches.append((part[0], (part[1], self._batch(part, number, timestamp_ms, records))))
            yield ProduceExchange(
                correlation_id=correlation_id,
                request=encode_produce(
                    correlation_id=correlation_id,
                    acks=row["acks"],
                    timeout_ms=timeout_ms,
                    topics=[
                        (topic, [batch for _, batch in some]) for topic, some in groupby(batches, lambda pair: pair[0])
                    ],
                    client_id=row["client_id"],
                    transactional_id=None if self._transaction is None else self._transaction.name,
                ),
                wants_answer=row["acks"] != 0,
                timeout_ms=timeout_ms,
                intended_ns=intended_us * 1000,
                records=records,
                timestamp_ms=timestamp_ms,
            )

    def _batch(
        self, part: tuple[str, int, int | None], number: int, timestamp_ms: int, sent: list[SentRecord]
    ) -> bytes:
        """Return the batch of a partition, and add its records to those of the request."""
        topic, partition, expected_error = part
        row, count = self._row, self._row["records_per_batch"]
        made: list[Record] = []
        for at in range(count):
            sequence = number * len(self._parts) * count + len(sent)
            value = make_value(row, sequence)
            record = Record(self._load.make_key(row, sequence), value, self._headers)
            made.append(record)
            sent.append(
                SentRecord(at, (topic, partition), expected_error, sequence, zlib.crc32(value), fingerprint(record))
            )
        producer_id, epoch = self._producer
        batch = encode_batch(
            made,
            base_timestamp_ms=timestamp_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=number * count if row["idempotent"] else -1,
            attributes=0 if self._transaction is None else TRANSACTIONAL_FLAG,
        )
        return compressed(batch, CODECS[row["codec"]])

    def _ended(self, exchange: Exchange) -> None:
        """Keep the rows of a request. A response about other partitions is garbled."""
        sent = cast(ProduceExchange, exchange)
        outcome: RequestOutcome = sent.outcome
        answers: dict[Part, ProduceResult] = {}
        if sent.answer is not None:
            try:
                answers = self._read(sent.answer)
            except ProtocolError:
                outcome = RequestOutcome.GARBLED
        common = {
            "correlation_id": sent.correlation_id,
            "timeout_ms": sent.timeout_ms,
            "intended_us": sent.intended_ns // 1000,
            "timestamp_ms": sent.timestamp_ms,
            "outcome": str(outcome),
            "local": self._connection and self._connection.local,
            "stray_correlation_id": self._connection and self._connection.stray_correlation_id,
            "compression": self._row["codec"],
            "producer_id": self._producer[0] if self._row["idempotent"] else None,
        }
        for place, record in enumerate(sent.records):
            topic, partition = record.part
            own = {
                "topic": topic,
                "partition": partition,
                "expected_error": record.expected_error,
                "sequence": record.sequence,
                "place": place,
                "value_crc": record.value_crc,
                "fingerprint": record.fingerprint,
                **told(answers.get(record.part), record.at),
            }
            self._load.keep(self._kept | common | own, sent)

    def _read(self, frame: bytes) -> dict[Part, ProduceResult]:
        """Return the response for each partition of a request. Raises ProtocolError if it is about others."""
        results = decode_answers(frame) if len(self._parts) > 1 else [self._reader.read(frame)]
        answers = {(answer.topic, answer.partition): answer for answer in results}
        if len(results) != len(answers) or answers.keys() != {part[:2] for part in self._parts}:
            raise ProtocolError("The answer is about other partitions than the request.")
        return answers


def told(answer: ProduceResult | None, at: int) -> Row:
    """Return what a response tells of one record of a batch; nothing without a response."""
    if answer is None:
        return dict.fromkeys(("error_code", "base_offset", "throttle_ms", "append_ms"))
    return {
        "error_code": answer.error_code,
        "base_offset": answer.base_offset + at if answer.base_offset >= 0 else answer.base_offset,
        "throttle_ms": answer.throttle_ms,
        "append_ms": answer.append_ms,
    }


async def new_producer(host: str, port: int) -> tuple[int, int]:
    """Return a new producer id and its epoch. Raises ConnectionError, ProtocolError."""
    caller = await Caller.of(host, port)
    try:
        return decode_init_producer_id((await caller.ask(encode_init_producer_id))[1])
    finally:
        await caller.close()
