"""Stock clients that outlive a cluster: another one, with other topics, takes its address while they run.

No record is acknowledged and lost, and none ends in another topic. No consumer gets a record of another topic or misses
one of the new cluster. No client needs more than a few refused requests to adapt."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from support.aiokafka_consumers import stop
from support.log_reader import read_values
from support.taken_address import BEFORE, OTHERS, WAYS, Address, nightly_but_reset
from support.watchdog import LIMIT_S, join, wait_until

from fakebroker.core.journal.events import Append

pytestmark = pytest.mark.clients

RETRY_MS = 20
FEW = 10  # refused Produce requests: a stuck client has hundreds

in_each_way = pytest.mark.parametrize("change", [nightly_but_reset(way) for way in WAYS])


@pytest.fixture
def address() -> Iterator[Address]:
    address_ = Address()
    yield address_
    address_.close()


class Loop:
    """An event loop on a thread, for clients on asyncio."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        join(self._thread)
        self._loop.close()


# Producers: a call sends one record to "a", and returns its offset once it is acknowledged.

Send = Callable[[bytes], int]


@contextmanager
def confluent_producer(servers: str, is_idempotent: bool) -> Iterator[Send]:
    settings = {"bootstrap.servers": servers, "enable.idempotence": is_idempotent, "acks": "all", "log_level": 0}
    producer = Producer(settings | {"retry.backoff.ms": RETRY_MS})

    def send(value: bytes) -> int:
        offsets: list[int] = []

        def on_delivery(error: Any, message: Any) -> None:
            assert error is None, error
            offsets.append(message.offset())

        producer.produce("a", value, partition=0, on_delivery=on_delivery)
        assert producer.flush(LIMIT_S) == 0
        return offsets[0]

    yield send


@contextmanager
def kafka_python_producer(servers: str, is_idempotent: bool) -> Iterator[Send]:
    producer = KafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=is_idempotent, retry_backoff_ms=RETRY_MS
    )
    try:
        yield lambda value: producer.send("a", value, partition=0).get(LIMIT_S).offset
    finally:
        producer.close()


@contextmanager
def aiokafka_producer(servers: str, is_idempotent: bool) -> Iterator[Send]:
    loop = Loop()

    async def begin() -> AIOKafkaProducer:
        settings = {"bootstrap_servers": servers, "acks": "all", "retry_backoff_ms": RETRY_MS}
        producer = AIOKafkaProducer(**settings, enable_idempotence=is_idempotent)
        await producer.start()
        return producer

    producer = loop.run(begin())
    try:
        yield lambda value: loop.run(producer.send_and_wait("a", value, partition=0)).offset
    finally:
        loop.run(producer.stop())
        loop.close()


@in_each_way
@pytest.mark.parametrize("client", [confluent_producer, kafka_python_producer, aiokafka_producer])
@pytest.mark.parametrize("is_idempotent", [False, True], ids=["plain", "idempotent"])
def test_what_a_producer_that_lives_on_is_acknowledged_is_there(
    address: Address, change: Callable[[Address], None], client: Any, is_idempotent: bool
) -> None:
    with client(address.kafka.bootstrap_servers, is_idempotent) as send:
        assert [send(value) for value in BEFORE] == [0, 1, 2]
        change(address)
        after = [b"after-%d" % number for number in range(4)]
        offsets = [send(value) for value in after]

    assert read_values(address.kafka, "a") == OTHERS + after
    assert offsets == list(range(len(OTHERS), len(OTHERS) + len(after)))
    assert set(read_values(address.kafka, "b")) == {b"of b"}
    assert not [event for event in address.kafka.journal if isinstance(event, Append) and event.is_duplicate]
    assert len(address.refused()) <= FEW


# Consumers: a call returns the values that have come.

Poll = Callable[[], list[bytes | None]]


def confluent_consumer(protocol: str) -> Any:
    @contextmanager
    def consumer(servers: str, is_member: bool) -> Iterator[Poll]:
        settings = {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest", "log_level": 0}
        settings |= {"retry.backoff.ms": RETRY_MS, "group.protocol": protocol, "enable.auto.commit": False}
        if protocol == "classic":
            settings |= {"heartbeat.interval.ms": 300}
        consumer = Consumer(settings)
        if is_member:
            consumer.subscribe(["a"])
        else:
            consumer.assign([TopicPartition("a", 0, 0)])

        def poll() -> list[bytes | None]:
            polled = consumer.consume(10, 0.1)
            assert not [error for message in polled if (error := message.error()) is not None and error.fatal()]
            messages = [message for message in polled if message.error() is None]
            assert {message.topic() for message in messages} <= {"a"}
            return [message.value() for message in messages]

        try:
            yield poll
        finally:
            consumer.close()

    return consumer


@contextmanager
def kafka_python_consumer(servers: str, is_member: bool) -> Iterator[Poll]:
    group = "g" if is_member else None
    settings = {"bootstrap_servers": servers, "auto_offset_reset": "earliest", "retry_backoff_ms": RETRY_MS}
    consumer = KafkaConsumer(**settings, group_id=group, heartbeat_interval_ms=300, enable_auto_commit=False)
    if is_member:
        consumer.subscribe(["a"])
    else:
        consumer.assign([PythonPartition("a", 0)])
    try:
        time_ms = 3_000 if is_member else 100  # see docs/decisions.md, 127
        yield lambda: [record.value for records in consumer.poll(time_ms).values() for record in records]
    finally:
        consumer.close()


@contextmanager
def aiokafka_consumer(servers: str, is_member: bool) -> Iterator[Poll]:
    assert is_member
    loop = Loop()

    async def begin() -> AIOKafkaConsumer:
        settings = {"bootstrap_servers": servers, "auto_offset_reset": "earliest", "retry_backoff_ms": RETRY_MS}
        settings |= {"heartbeat_interval_ms": 300, "metadata_max_age_ms": 500, "enable_auto_commit": False}
        consumer = AIOKafkaConsumer("a", **settings, group_id="g")
        await consumer.start()
        return consumer

    consumer = loop.run(begin())
    try:
        yield lambda: [
            record.value for records in loop.run(consumer.getmany(timeout_ms=100)).values() for record in records
        ]
    finally:
        loop.run(stop(consumer))
        loop.close()


CONSUMERS: dict[str, Any] = {
    "confluent, classic": confluent_consumer("classic"),
    "confluent, consumer": confluent_consumer("consumer"),
    "kafka-python": kafka_python_consumer,
    "aiokafka": aiokafka_consumer,
}


LEFT_OUT = {
    # A process that never had the group says GROUP_ID_NOT_FOUND, as Kafka does, which is fatal to the client.
    ("another", "confluent, consumer", "member"),
    *((way, "confluent, consumer", "alone") for way in WAYS),  # without a group there is no protocol
    *((way, "aiokafka", "alone") for way in WAYS),  # it knows no leader epochs, and goes on where it was
}


@pytest.mark.parametrize(
    ("change", "client", "kind"),
    [
        nightly_but_reset(*combination)
        for combination in itertools.product(WAYS, CONSUMERS, ("alone", "member"))
        if combination not in LEFT_OUT
    ],
)
def test_a_consumer_that_lives_on_reads_the_new_topic_from_its_start(
    address: Address, change: Callable[[Address], None], client: str, kind: str
) -> None:
    address.send("a", BEFORE)
    is_member = kind == "member"
    with CONSUMERS[client](address.kafka.bootstrap_servers, is_member) as poll:
        read_until(poll, BEFORE)
        change(address)
        read_until(poll, OTHERS)
        if is_member:
            wait_until(lambda: set(poll()) <= set(OTHERS) and address.has_member(), "the member that comes back")
        address.send("a", [b"last"])
        read_until(poll, [b"last"], again=OTHERS)


def read_until(poll: Poll, wanted: list[bytes], again: Sequence[bytes] = ()) -> None:
    """Read all of these and no others. A member that joins again, and has committed nothing, may read some twice: these
    and what was `again` there."""
    values: list[bytes | None] = []

    def are_there() -> bool:
        values.extend(poll())
        return set(values) >= set(wanted)

    wait_until(are_there, f"{wanted}")
    assert set(values) <= {*wanted, *again}


# Transactional producers.


@in_each_way
def test_a_transaction_that_lives_on_is_not_committed_and_its_producer_can_abort_and_go_on(
    address: Address, change: Callable[[Address], None]
) -> None:
    settings = {"bootstrap.servers": address.kafka.bootstrap_servers, "transactional.id": "tx", "log_level": 0}
    producer = Producer(settings | {"retry.backoff.ms": RETRY_MS})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("a", b"half", partition=0)
    producer.flush()
    change(address)
    producer.produce("a", b"the other half", partition=0)
    with pytest.raises(KafkaException, match="INVALID_PRODUCER_ID_MAPPING") as refused:
        producer.commit_transaction()
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce("a", b"whole", partition=0)
    producer.commit_transaction()

    with confluent_consumer("classic")(address.kafka.bootstrap_servers, False) as poll:
        read_until(poll, [*OTHERS, b"whole"])


@in_each_way
def test_a_transactional_producer_that_cannot_go_on_says_so_and_the_next_one_works(
    address: Address, change: Callable[[Address], None]
) -> None:
    """kafka-python ends with INVALID_PRODUCER_ID_MAPPING, as with Kafka; its state is then fatal."""

    def new_producer() -> KafkaProducer:
        servers = address.kafka.bootstrap_servers
        producer = KafkaProducer(bootstrap_servers=servers, transactional_id="tx", retry_backoff_ms=RETRY_MS)
        producer.init_transactions()
        return producer

    producer = new_producer()
    transact(producer, b"before")
    change(address)
    with pytest.raises(Exception, match="InvalidProducerIdMapping"):
        transact(producer, b"after")
    producer.close(timeout=0)
    producer = new_producer()
    transact(producer, b"whole")
    producer.close()

    with confluent_consumer("classic")(address.kafka.bootstrap_servers, False) as poll:
        read_until(poll, [*OTHERS, b"whole"])


def transact(producer: KafkaProducer, value: bytes) -> None:
    producer.begin_transaction()
    producer.send("a", value, partition=0).get(LIMIT_S)
    producer.commit_transaction()
