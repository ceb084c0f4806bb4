"""Append, then lose the acknowledgement: a client that is not idempotent writes the record twice, another one once. The
journal says why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer
from support.client_programs import PROGRAMS, program
from support.watchdog import LIMIT_S

from conformance.clients.plan import Job, Record
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster
from fakebroker.core.journal.events import Answer, Append, Event
from fakebroker.core.journal.fault_events import FaultFired

pytestmark = pytest.mark.clients


def with_confluent_kafka(servers: str, is_idempotent: bool) -> None:
    settings = {"bootstrap.servers": servers, "acks": "all", "retry.backoff.ms": 10, "log_level": 0}
    producer = Producer({**settings, "enable.idempotence": is_idempotent})
    producer.produce("t", b"v", partition=0)
    assert producer.flush(LIMIT_S) == 0


def with_kafka_python(servers: str, is_idempotent: bool) -> None:
    settings = {"bootstrap_servers": servers, "acks": "all", "retries": 5, "retry_backoff_ms": 10}
    producer = KafkaProducer(**settings, enable_idempotence=is_idempotent)
    producer.send("t", b"v", partition=0).get(LIMIT_S)
    producer.close()


def with_aiokafka(servers: str, is_idempotent: bool) -> None:
    async def main() -> None:
        settings = {"bootstrap_servers": servers, "acks": "all", "retry_backoff_ms": 10}
        async with AIOKafkaProducer(**settings, enable_idempotence=is_idempotent) as producer:
            await producer.send_and_wait("t", b"v", partition=0)

    asyncio.run(main())


def lose_the_acknowledgement(send: Callable[[str, bool], None], is_idempotent: bool) -> Sequence[Event]:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        fault = kafka.faults.add(when={"api": "Produce", "topic": "t", "at": "after_append"}, do="disconnect")
        send(kafka.bootstrap_servers, is_idempotent)
        assert fault.hits == 1
        return list(kafka.journal)


def check(events: Sequence[Event], is_idempotent: bool) -> None:
    """Check the log, and that the journal explains it: the request of the fault, the lost response, and the same record
    sent again."""
    [fired] = [event for event in events if isinstance(event, FaultFired)]
    appends = [event for event in events if isinstance(event, Append) and event.topic == "t"]
    assert [append.is_duplicate for append in appends] == [False, is_idempotent]
    assert len({append.base_offset for append in appends}) == (1 if is_idempotent else 2)
    assert appends[0].request == fired.request
    answers = {event.request: event for event in events if isinstance(event, Answer)}
    lost, sent = (answers[append.request] for append in appends)
    assert (lost.outcome, lost.reason) == ("dropped", "fault f1: disconnect after_append")
    assert (sent.outcome, [answer.error for answer in sent.partitions]) == ("sent", ["NONE"])


@pytest.mark.parametrize("send", [with_confluent_kafka, with_kafka_python, with_aiokafka])
@pytest.mark.parametrize("is_idempotent", [False, True])
def test_written_twice_or_once(send: Callable[[str, bool], None], is_idempotent: bool) -> None:
    check(lose_the_acknowledgement(send, is_idempotent), is_idempotent)


@pytest.mark.languages
@pytest.mark.slow
@pytest.mark.parametrize("client", ["franz-go", "kafka-clients", "sarama", "kafkajs", "krafka"])
@pytest.mark.parametrize("is_idempotent", [False, True])
def test_written_twice_or_once_in_other_languages(client: str, is_idempotent: bool) -> None:
    command, folder = program(PROGRAMS[client])
    results = []

    def send(servers: str, is_idempotent: bool) -> None:
        job = Job("t", idempotent=is_idempotent, records=(Record(0, b"k", b"v"),))
        plan = {"bootstrap": servers, "jobs": [job.described("t")]}
        with ClientProcess(command, folder, plan, LIMIT_S) as process:
            results.extend(process.report()["jobs"][0]["results"])

    events = lose_the_acknowledgement(send, is_idempotent)
    check(events, is_idempotent)
    assert results == [{"partition": 0, "offset": 0 if is_idempotent else 1}]
