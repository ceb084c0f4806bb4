"""`AsyncProducer`: Kafka's producer for asyncio programs, with any Kafka cluster.

Theory   `KafkaProducer` decides everything; this class lets callers wait. Where Kafka's caller would block, `await`
         waits, for at most `max.block.ms`. Kafka's futures are asyncio futures here. If a `send` is cancelled while the
         record waits for metadata or memory, the record is withdrawn, as after an interrupt of a thread. A record in a
         batch and the call of a transaction continue without their caller. If the future of a record is cancelled, only
         its result is lost.
Units    milliseconds, as in Kafka's names.
Errors   Those of producer/errors.py, and BrokerError for the error of a broker. As in Kafka, errors of a record end its
         future; misuse and a closed producer raise. If the loop is closed, records in flight have no result, and
         further calls raise.
Source   clients/.../producer/KafkaProducer.java of 2.0 and 4.3.
Differs  Plaintext connections only: no TLS, no SASL. Keys and values are bytes; serialization is up to the caller.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from time import monotonic_ns, time_ns
from types import TracebackType
from typing import Any, Final

from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.client.transaction_calls import TransactionCall
from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.producer.journal.journal import DEFAULT_SIZE, ProducerJournal
from fakebroker.producer.journal.probe import Listener
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import LONG_MAX, ProducerConfig
from fakebroker.producer.record_batch_builder import Headers
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.producing.bootstrap import parse_bootstrap
from fakebroker.producing.driver import KafkaProducerDriver
from fakebroker.protocol.topic_partition import TopicPartition

_BOOTSTRAP: Final = "bootstrap.servers"
_NS_PER_MS: Final = 1_000_000
_RANDOM_BITS: Final = 31
_TRIES: Final = 5
_SENDS_OF_A_TURN: Final = 256  # then other tasks of the loop run


def _monotonic_ms() -> int:
    return monotonic_ns() // _NS_PER_MS  # rounded down, like Kafka's clock


def _wall_ms() -> int:
    return time_ns() // _NS_PER_MS


class AsyncProducer:
    """A producer. `config` has Kafka's names and values, including "bootstrap.servers"; raises ProducerConfigError.
    `generation` is the release of the Kafka client to behave like. `clock` returns monotonic milliseconds; if you move
    it by hand, call `look_at_clock` afterwards. `wall_clock` returns milliseconds since 1970, for records without a
    timestamp. `loop` defaults to the running loop. Use the producer on its loop only."""

    def __init__(
        self,
        config: Mapping[str, object],
        generation: str = "4.3",
        *,
        clock: Callable[[], int] = _monotonic_ms,
        wall_clock: Callable[[], int] = _wall_ms,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        settings = dict(config)
        self._bootstrap = parse_bootstrap(settings.pop(_BOOTSTRAP, ""))
        self._config = ProducerConfig(generation, settings)
        self._clock = clock
        self._wall_clock = wall_clock
        self._loop = loop
        self._driver: KafkaProducerDriver | None = None
        self._journal: ProducerJournal | None = None
        self._sends = 0
        self._turns = 0

    def keep_journal(
        self, name: str = "", size: int = DEFAULT_SIZE, on_event: Callable[[ProducerEvent], None] | None = None
    ) -> ProducerJournal:
        """Keep a journal of records, batches and requests, for `fakebroker timeline`: the last `size` events. Call it
        once, before `start`. `name` defaults to the client.id."""
        if self._driver is not None or self._journal is not None:
            raise IllegalProducerStateError("A journal must be requested before the start, and only once.")
        self._journal = ProducerJournal(name or self._config.client_id, size, on_event)
        return self._journal

    def _wall_offset_ms(self) -> int:
        """Return the difference of the clocks at one moment. If the clock moves between the two reads, try again a few
        times."""
        for _ in range(_TRIES):
            before_ms, wall_ms = self._clock(), self._wall_clock()
            if self._clock() == before_ms:
                break
        return wall_ms - before_ms

    async def start(self) -> None:
        """Start to connect, without waiting for it. `async with` calls this."""
        if self._driver is not None:
            raise IllegalProducerStateError("The producer was started already.")
        machine = KafkaProducer(
            self._config,
            self._bootstrap,
            lambda: random.getrandbits(_RANDOM_BITS),
            random.random,
            self._clock(),
            "" if self._journal is None else self._journal.name,
            self._wall_offset_ms(),
        )
        if self._journal is not None:
            machine.listen(self._journal.append)
        self._driver = KafkaProducerDriver(machine, self._loop or asyncio.get_running_loop(), self._clock)
        self._driver.settle()

    async def __aenter__(self) -> AsyncProducer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Wait until the record is in a batch or refused. The future returns where it was written; offset -1 is unknown
        (acks=0). `timestamp` is in milliseconds since 1970. Raises ProducerError."""
        driver = self._ready()
        written: asyncio.Future[RecordMetadata] = driver.loop.create_future()

        def ended(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            if written.done():
                return  # the caller has cancelled it
            if error is not None:
                written.set_exception(error)
            else:
                assert metadata is not None
                written.set_result(metadata)

        when_ms = self._wall_clock() if timestamp is None else timestamp
        sending = driver.machine.send(topic, value, when_ms, self._clock(), key, partition, headers, ended)
        driver.owe(written)
        waiter = None if sending.is_done else driver.wait_for(sending)
        driver.settle()
        try:
            if waiter is not None:
                await waiter
            elif self._is_turn_over(driver):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            driver.withdraw(sending)
            written.cancel()
            raise
        if sending.error is not None and not written.done():
            written.cancel()
            raise sending.error
        return written

    async def flush(self) -> None:
        """Wait until all records sent before have ended."""
        driver = self._ready()
        done: asyncio.Future[None] = driver.loop.create_future()
        driver.owe(done)
        driver.machine.flush(self._clock(), lambda: _finish(done))
        driver.settle()
        await done

    async def init_transactions(self) -> None:
        """Request a producer id; another producer with this transactional.id is fenced. Raises ProducerError."""
        driver = self._ready()
        await self._call(lambda done: driver.machine.init_transactions(self._clock(), done))

    def begin_transaction(self) -> None:
        """Begin a transaction, without any request. Raises ProducerError."""
        self._ready().machine.begin_transaction()

    async def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, int], group: GroupMetadata) -> None:
        """Add the group's next offsets to read, which are committed with the transaction."""
        driver = self._ready()
        await self._call(lambda done: driver.machine.send_offsets_to_transaction(offsets, group, self._clock(), done))

    async def commit_transaction(self) -> None:
        """Commit. Records sent in the transaction are written first. Raises ProducerError."""
        driver = self._ready()
        await self._call(lambda done: driver.machine.commit_transaction(self._clock(), done))

    async def abort_transaction(self) -> None:
        """Abort. Unsent records fail, and written records are never visible. Raises ProducerError."""
        driver = self._ready()
        await self._call(lambda done: driver.machine.abort_transaction(self._clock(), done))

    async def close(self, timeout_ms: int | None = None) -> None:
        """Refuse further records and wait until the remaining ones have ended. After the timeout, if given, they fail.
        Another call may shorten the timeout. If this call is cancelled, all remaining records fail."""
        driver = self._driver
        if driver is None or driver.machine.is_closed or driver.failure is not None:
            return
        driver.check()
        driver.machine.close(self._clock(), LONG_MAX if timeout_ms is None else timeout_ms)
        driver.settle()
        try:
            await asyncio.shield(driver.closed)
        except asyncio.CancelledError:
            driver.machine.close(self._clock(), 0)
            driver.look()
            raise
        await driver.links_ended()

    def listen(self, listener: Listener, *kinds: type[ProducerEvent]) -> None:
        """Add a listener of events (producer/journal), of these kinds or of all. It changes nothing. Call it after the
        start and before the first record."""
        self._ready().machine.listen(listener, *kinds)

    def look_at_clock(self) -> None:
        """Do what is due by the clock. Call this after moving the clock by hand."""
        self._ready().look()

    def _ready(self) -> KafkaProducerDriver:
        if self._driver is None:
            raise IllegalProducerStateError('The producer was not started: use "async with", or call start.')
        self._driver.check()
        return self._driver

    def _is_turn_over(self, driver: KafkaProducerDriver) -> bool:
        """Return True if so many records were sent without an iteration of the loop that other tasks should run."""
        if driver.turns != self._turns:
            self._turns, self._sends = driver.turns, 0
        self._sends += 1
        return self._sends % _SENDS_OF_A_TURN == 0

    async def _call(self, door: Callable[[Callable[[TransactionCall], None]], Any]) -> None:
        driver = self._ready()
        done: asyncio.Future[None] = driver.loop.create_future()
        driver.owe(done)
        door(lambda call: _finish(done, call.error))
        driver.settle()
        await done


def _finish(future: asyncio.Future[None], error: ProducerError | None = None) -> None:
    if future.done():
        return  # the caller was cancelled
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
