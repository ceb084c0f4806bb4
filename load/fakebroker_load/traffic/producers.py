"""The reference producer as a sender of the load: Kafka's own, ported, one for each connection.

Theory   Its records have the same identity as those of raw frames (log.make_key). Each has a row with the result of its
         callback. The producer batches, retries and reconnects by itself, so neither connection nor correlation id of a
         record is known.
           Expired   A record is "expired" if its batch was in no request. Then it is never in the log. It is "expired
                     in flight" if the batch was sent before; then it may be there. The producer's listener tells the
                     two apart, and the log shows whether that is right.
           Due       A callback is due within delivery.timeout.ms (since 2.1) of `send`. No record expires sooner than
                     that after its batch was begun; before KIP-91, sooner than request.timeout.ms. A millisecond is
                     allowed, since Kafka's clock has whole ones.
Errors   None: errors are outcomes of records.
Source   fakebroker/producing, of any generation; decision 141.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from typing import Any, NamedTuple, Protocol, cast

from fakebroker.producer.errors import (
    BufferTooSmallError,
    ProducerError,
    ProducerTimeoutError,
    RecordTooLargeError,
)
from fakebroker.producer.journal.events import BatchExpired, ProducerEvent
from fakebroker.producer.producer_batch import ProducerBatch, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producing.async_producer import AsyncProducer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.record_batch import Record
from fakebroker_load.plan import PlannedRequest, Row, requests_of
from fakebroker_load.traffic.rows import RESULT_SCHEMA, make_value
from fakebroker_load.wire.client import Exchange, RequestOutcome, sleep_until
from fakebroker_load.wire.messages import fingerprint

_NS_PER_MS = 1_000_000
_NEVER_IN_A_BATCH = (ProducerTimeoutError, RecordTooLargeError, BufferTooSmallError)


class Keeper(Protocol):
    """The task's load, which takes the rows."""

    def make_key(self, row: Row, sequence: int) -> bytes: ...
    def has_sent(self) -> None: ...
    def keep(self, row: Row, exchange: Exchange) -> None: ...


class ExpiredBatch(NamedTuple):
    begun_ms: int  # when its batch was begun, on the monotonic clock
    was_sent: bool


class ProducerDriver:
    """One producer of the plan, used like the driver of a connection."""

    def __init__(self, load: Keeper, row: Row, run_id: str) -> None:
        settings: dict[str, Any] = json.loads(row["settings"])
        self._config = ProducerConfig(row["generation"], settings | {"acks": str(row["acks"])})
        self._load = load
        self._row = row
        ordered = (
            self._config.enable_idempotence
            or self._config.max_in_flight_requests_per_connection == 1
            or self._config.retries == 0
        )
        self._kept = {name: row[name] for name in RESULT_SCHEMA.names if name in row} | {"ordered": ordered}
        self._expired: dict[ProducerError, ExpiredBatch] = {}  # by the error of the batch's records
        self._under_way: set[asyncio.Future[RecordMetadata]] = set()
        self._start_ns = 0
        self._producer = AsyncProducer(
            settings
            | {
                "acks": str(row["acks"]),
                "bootstrap.servers": row["bootstrap"],
                "client.id": producer_name(row["client_id"], run_id, row["connection"]),
            },
            row["generation"],
        )

    async def connect(self, at_once: asyncio.Semaphore) -> None:
        async with at_once:
            await self._producer.start()
            self._producer.listen(self._batch_expired, BatchExpired)

    async def close(self) -> None:
        await self._producer.close(0)

    async def send(self, start_ns: int, grace_ms: int) -> None:
        """Send all records, each at its time or when the producer accepts it, and wait for their callbacks."""
        self._start_ns = start_ns
        for planned in requests_of(self._row):
            await sleep_until(start_ns + planned.intended_us * 1000)
            await self._send(planned)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=(self._longest_ms + grace_ms) / 1000)
        await self._producer.close(0)  # remaining records get the error of the close
        while self._under_way:
            await asyncio.sleep(0)

    @property
    def _longest_ms(self) -> int:
        """Return the longest time that a record may be under way."""
        config = self._config
        if config.generation.has_delivery_timeout:
            return config.delivery_timeout_ms
        # A record waits in the queue, and then for each try.
        tries = 1 + min(config.retries, 100)
        return config.linger_ms + (1 + tries) * (config.request_timeout_ms + config.retry_backoff_ms)

    async def _send(self, planned: PlannedRequest) -> None:
        row = self._row
        key, value = self._load.make_key(row, planned.number), make_value(row, planned.number)
        exchange = Exchange(
            correlation_id=planned.correlation_id,
            request=b"",
            wants_answer=True,
            timeout_ms=planned.timeout_ms,
            intended_ns=planned.intended_us * 1000,
            sent_ns=time.monotonic_ns(),
        )
        own: Row = {
            "sequence": planned.number,
            "correlation_id": planned.correlation_id,
            "timeout_ms": planned.timeout_ms,
            "intended_us": planned.intended_us,
            "value_crc": zlib.crc32(value),
            "fingerprint": fingerprint(Record(key, value)),
        }
        self._load.has_sent()
        try:
            future = await self._producer.send(row["topic"], value, key=key, partition=row["partition"])
        except ProducerError as error:
            self._ended(exchange, own, error)
            return
        self._under_way.add(future)
        future.add_done_callback(lambda done: self._called_back(exchange, own, done))

    def _called_back(self, exchange: Exchange, own: Row, done: asyncio.Future[RecordMetadata]) -> None:
        self._under_way.discard(done)
        if done.cancelled():
            self._ended(exchange, own, None)
            return
        error = done.exception()
        if error is None:
            self._ended(exchange, own, done.result())
        else:
            self._ended(exchange, own, error if isinstance(error, ProducerError) else None)

    def _batch_expired(self, event: ProducerEvent, subject: object) -> None:
        assert isinstance(event, BatchExpired)
        batch, error = cast("tuple[ProducerBatch, ProducerError]", subject)
        self._expired[error] = ExpiredBatch(batch.created_ms, event.was_in_flight or batch.attempts > 0)

    def _ended(self, exchange: Exchange, own: Row, result: RecordMetadata | ProducerError | None) -> None:
        """Keep the row of a record; `result` is None if there is none."""
        assert exchange.sent_ns is not None
        exchange.answered_ns = time.monotonic_ns()
        due_ns: tuple[int | None, int | None] = (None, exchange.answered_ns)
        config = self._config
        if config.generation.has_delivery_timeout:
            due_ns = (None, exchange.sent_ns + config.delivery_timeout_ms * _NS_PER_MS)
        error_code, base_offset = None, None
        expired = self._expired.get(result) if isinstance(result, ProducerError) else None
        if isinstance(result, RecordMetadata):
            exchange.outcome, error_code, base_offset = RequestOutcome.ANSWERED, 0, result.offset
        elif expired is not None:
            exchange.outcome = RequestOutcome.EXPIRED_IN_FLIGHT if expired.was_sent else RequestOutcome.EXPIRED
            limit_ms = config.delivery_timeout_ms if due_ns[1] != exchange.answered_ns else config.request_timeout_ms
            due_ns = ((expired.begun_ms + limit_ms - 1) * _NS_PER_MS, due_ns[1])
        elif isinstance(result, BrokerError) and result.code == ErrorCode.network_exception:
            exchange.outcome = RequestOutcome.CLOSED
        elif isinstance(result, BrokerError):
            exchange.outcome, error_code = RequestOutcome.ANSWERED, result.code  # the error has no offset
        elif isinstance(result, _NEVER_IN_A_BATCH):
            exchange.outcome = RequestOutcome.REFUSED
        else:
            exchange.outcome = RequestOutcome.MISSING
        low_ns, high_ns = due_ns
        due = {"due_low_us": self._after_start_us(low_ns), "due_high_us": self._after_start_us(high_ns)}
        answer = {"error_code": error_code, "base_offset": base_offset, "outcome": str(exchange.outcome)}
        self._load.keep(self._kept | own | due | answer, exchange)

    def _after_start_us(self, time_ns: int | None) -> int | None:
        return None if time_ns is None else (time_ns - self._start_ns) // 1000


def producer_name(client_id: str, run_id: str, connection: int) -> str:
    """Return the producer's client.id, which is unique, and by which the broker's journal names it."""
    return f"{client_id}-{run_id}-{connection}"
