"""One program on kafka-clients and on AsyncProducer, with two clusters that are alike."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from conformance.clients.process import ClientProcess
from fakebroker import AsyncProducer, FakeCluster
from fakebroker.core.journal.events import Append
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.network.node_api_versions import API_VERSIONS, INIT_PRODUCER_ID, METADATA
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name
from support.client_programs import PROGRAMS, program
from support.request_tap import Request, RequestTap
from support.watchdog import LIMIT_S, run, wait_until

START_MS = 1_700_000_000_000
GENERATION = "4.4"  # of the kafka-clients that Client.java runs
# The program decides about time: with a long linger it sends when it flushes.
SETTINGS = {"linger.ms": 30_000, "delivery.timeout.ms": 300_000, "client.id": "producer"}
JAVA_ONLY = {"enable.metrics.push": False}  # KIP-714, which AsyncProducer has not

_EXCEPTIONS = {  # others have the names of their errors
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
}

Step = dict[str, Any]
Meanwhile = Callable[[FakeCluster, RequestTap], None]


def send(
    value: bytes | None,
    key: bytes | None = None,
    partition: int | None = 0,
    topic: str = "t",
    headers: Sequence[tuple[str, bytes | None]] = (),
    timestamp_ms: int = START_MS,
) -> Step:
    return {
        "do": "send",
        "topic": topic,
        "partition": partition,
        "key": key,
        "value": value,
        "headers": [list(header) for header in headers],
        "timestamp_ms": timestamp_ms,
    }


def do(what: str) -> Step:
    return {"do": what}


FLUSH, PAUSE = do("flush"), do("pause")
_KNOW = do("know")  # wait until the cluster has been heard of


@dataclass
class Program:
    """A program. `steps` come after a pause in which the producer gets its metadata. `meanwhile` are the actions at
    each further pause. `topics` has the number of partitions of each."""

    steps: Sequence[Step]
    settings: dict[str, object] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=lambda: {"t": 1})
    brokers: int = 1
    clock: str = "real"
    meanwhile: Sequence[Meanwhile] = ()


@dataclass
class Outcome:
    """`results`: topic, partition and offset of each record, or the name of an error. `connections`: the requests of
    each."""

    results: list[list[Any]]
    connections: list[list[Request]]

    def requests(self, *api_keys: int) -> list[list[Request]]:
        """Return the requests with these keys, by connection, without correlation ids. The order of
        connections depends on the random broker for Metadata, so they are sorted, by broker and then by requests."""
        chosen = [
            [request._replace(correlation_id=0) for request in requests if request.api_key in api_keys]
            for requests in self.connections
        ]
        return sorted(requests for requests in chosen if requests)


def on_both(tried: Program, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome, Outcome]:
    """Return the outcomes of kafka-clients and of AsyncProducer. Skips where Java's program cannot be had."""
    tap = RequestTap(monkeypatch)
    outcomes = []
    for play in (_theirs, _ours):
        with FakeCluster(tried.brokers, clock=tried.clock, life="first") as kafka:
            for topic, partitions in tried.topics.items():
                kafka.create_topic(topic, partitions, replication_factor=min(tried.brokers, 3))
            results = play(tried, kafka, tap)
            if str(tried.settings.get("acks")) == "0":  # no call waited for the records in flight
                sends = sum(step["do"] == "send" for step in tried.steps)
                wait_until(partial(_has_appended, kafka, sends), "the last record's arrival")
            outcomes.append(Outcome(results, tap.take()))
    return outcomes[0], outcomes[1]


def _has_appended(kafka: FakeCluster, records: int) -> bool:
    appends = [event for event in list(kafka.journal) if isinstance(event, Append)]
    return sum(append.last_offset - append.base_offset + 1 for append in appends) == records


def _settings(tried: Program) -> dict[str, object]:
    return SETTINGS | tried.settings


def _await_start(tried: Program, tap: RequestTap) -> None:
    """Wait until the client has sent all requests of its start: nothing after that depends on a race."""
    wanted = {API_VERSIONS, METADATA}
    if _settings(tried).get("enable.idempotence", True) and "transactional.id" not in tried.settings:
        wanted.add(INIT_PRODUCER_ID)
    wait_until(lambda: {request.api_key for request in tap.seen()} >= wanted, "a producer that knows the cluster")


def _meanwhile(tried: Program, kafka: FakeCluster, tap: RequestTap) -> list[Callable[[], None]]:
    """Return the actions at each pause."""
    return [lambda: _await_start(tried, tap), *(partial(one, kafka, tap) for one in tried.meanwhile)]


def _theirs(tried: Program, kafka: FakeCluster, tap: RequestTap) -> list[list[Any]]:
    command, folder = program(PROGRAMS["kafka-clients"])
    settings = {name: _text(value) for name, value in (_settings(tried) | JAVA_ONLY).items()}
    plan = {
        "bootstrap": kafka.bootstrap_servers,
        "producing": {"settings": settings, "steps": [_encoded(step) for step in (_KNOW, PAUSE, *tried.steps)]},
    }
    with ClientProcess(command, folder, plan, LIMIT_S) as process:
        for act in _meanwhile(tried, kafka, tap):
            process.await_pause()
            act()
            process.go_on()
        return list(process.hear()["results"])


def _ours(tried: Program, kafka: FakeCluster, tap: RequestTap) -> list[list[Any]]:
    async def main() -> list[list[Any]]:
        pauses = iter(_meanwhile(tried, kafka, tap))
        sent: list[asyncio.Future[RecordMetadata]] = []
        async with AsyncProducer(
            {"bootstrap.servers": kafka.bootstrap_servers} | _settings(tried), GENERATION
        ) as producer:
            metadata = producer._ready().machine.metadata
            await asyncio.to_thread(wait_until, lambda: metadata.answers > 0, "news of the cluster")
            for step in (PAUSE, *tried.steps):
                if step["do"] == "pause":
                    await asyncio.to_thread(next(pauses))
                else:
                    await _take(producer, step, sent)
            await producer.flush()
            return [_told(future) for future in sent]

    return run(main())


async def _take(producer: AsyncProducer, step: Step, sent: list[asyncio.Future[RecordMetadata]]) -> None:
    match step["do"]:
        case "send":
            headers = [(str(name), value) for name, value in step["headers"]]
            sent.append(
                await producer.send(
                    step["topic"],
                    step["value"],
                    key=step["key"],
                    partition=step["partition"],
                    headers=headers,
                    timestamp=step["timestamp_ms"],
                )
            )
        case "flush":
            await producer.flush()
        case "init":
            await producer.init_transactions()
        case "begin":
            producer.begin_transaction()
        case "commit":
            await producer.commit_transaction()
        case "abort":
            await producer.abort_transaction()
        case what:
            raise AssertionError(f"no such step: {what}")


def _told(future: asyncio.Future[RecordMetadata]) -> list[Any]:
    error = future.exception()
    if isinstance(error, BrokerError):
        name = kafka_name(error.code)
        return [_EXCEPTIONS.get(name) or "".join(word.capitalize() for word in name.split("_")) + "Exception"]
    if error is not None:
        assert isinstance(error, ProducerError), error
        return [error.kafka_name]
    metadata = future.result()
    return [metadata.partition.topic, metadata.partition.partition, metadata.offset]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _encoded(step: Step) -> Step:
    return step | {
        "key": _base64(step.get("key")),
        "value": _base64(step.get("value")),
        "headers": [[name, _base64(value)] for name, value in step.get("headers", ())],
    }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
