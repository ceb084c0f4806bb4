"""A wrong argument of the Python API is one sentence that says what would be right."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.server import fake_cluster, loops

OF_A_WAIT: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"n": "1"}, TypeError, "n must be a whole number, not '1'"),
    ({"n": None}, TypeError, "n must be a whole number, not None"),
    ({"n": -1}, ValueError, "n must be 0 or more, not -1"),
    ({"timeout": "1"}, TypeError, "timeout must be a number or None, not '1'"),
    ({"timeout": True}, TypeError, "timeout must be a number or None, not True"),
    ({"timeout": -1}, ValueError, "timeout must be 0 or more, not -1"),
    ({"timeout": math.nan}, ValueError, "timeout must be 0 or more, not nan"),
]
OF_A_RELEASE: list[tuple[Any, type[Exception], str]] = [
    ("1", TypeError, "count must be a whole number or None, not '1'"),
    (True, TypeError, "count must be a whole number or None, not True"),
    (-1, ValueError, "count must be 0 or more, not -1"),
]

OF_A_CLUSTER: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"brokers": "3"}, TypeError, "brokers must be a whole number or None, not '3'"),
    ({"brokers": 2.0}, TypeError, r"brokers must be a whole number or None, not 2\.0"),
    ({"brokers": True}, TypeError, "brokers must be a whole number or None, not True"),
    ({"port": "9092"}, TypeError, "port must be a whole number or None, not '9092'"),
    ({"seed": "x"}, TypeError, "seed must be a whole number, not 'x'"),
    ({"host": 5}, TypeError, "host must be a string or None, not 5"),
    ({"advertised_host": 5}, TypeError, "advertised_host must be a string or None, not 5"),
    ({"clock": None}, ValueError, "a clock is real, manual or auto, not None"),
    ({"journal": "x"}, TypeError, "journal must be a whole number, not 'x'"),
    ({"journal": -1}, ValueError, "a journal keeps 0 events or more, not -1"),
    ({"journal_file": 5}, TypeError, "journal_file must be a path or None, not 5"),
    ({"followers": None}, ValueError, "followers are 'instant', .* or 'external', not None"),
    ({"config": "num.partitions=2"}, TypeError, "settings must be a mapping of names to values, or None, not .*"),
    ({"config": {5: 1}}, TypeError, "the name of a setting must be a string, not 5"),
    ({"config": {"num.partitions": None}}, KafkaError, r"Null value not supported for configuration num\.partitions\."),
    (
        {"config": {"num.partitions": [2]}},
        TypeError,
        r"the setting num\.partitions must be a string, a number or a boolean, not \[2\]",
    ),
    (
        {"config": {"num_partitions": 2}},
        KafkaError,
        r"Unknown configuration 'num_partitions': Kafka's names have dots, as in 'num\.partitions'\.",
    ),
]

# What is called, with what.
CALLS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda k: k.create_topic("a", partitions="3"), TypeError, "partitions must be a whole number, not '3'"),
    (lambda k: k.create_topic("a", partitions=1.5), TypeError, r"partitions must be a whole number, not 1\.5"),
    (lambda k: k.create_topic("a", 1, True), TypeError, "replication_factor must be a whole number, not True"),
    (lambda k: k.create_topic(None), TypeError, "name must be a string, not None"),
    (lambda k: k.create_topic(5), TypeError, "name must be a string, not 5"),
    (lambda k: k.create_topic("a", configs=["x"]), TypeError, r"settings must be a mapping .*, not \['x'\]"),
    (
        lambda k: k.create_topic("a", configs={"retention.ms": None}),
        KafkaError,
        r"Null value not supported for topic configs: retention\.ms",
    ),
    (
        lambda k: k.create_topic("a", configs={"min_insync_replicas": 1}),
        KafkaError,
        r"Unknown configuration 'min_insync_replicas': Kafka's names have dots, as in 'min\.insync\.replicas'\.",
    ),
    (lambda k: k.alter_topic_configs(5, {}), TypeError, "name must be a string, not 5"),
    (lambda k: k.alter_topic_configs("t", None), TypeError, "configs must be a mapping of names to values, not None"),
    (lambda k: k.alter_topic_configs("no", {}), KafkaError, r"The topic 'no' does not exist\."),
    (lambda k: k.alter_topic_configs("t", {"no.such": None}), KafkaError, r"Unknown topic config name: no\.such"),
    (
        lambda k: k.alter_topic_configs("t", {"retention_ms": 1}),
        KafkaError,
        r"Unknown configuration 'retention_ms': Kafka's names have dots, as in 'retention\.ms'\.",
    ),
    (lambda k: k.alter_broker_configs("x"), TypeError, "configs must be a mapping of names to values, not 'x'"),
    (
        lambda k: k.alter_broker_configs({"num.partitions": 2}),
        KafkaError,
        r"Cannot update these configs dynamically: \[num\.partitions\]",
    ),
    (lambda k: k.delete_topic(5), TypeError, "name must be a string, not 5"),
    (lambda k: k.move_leader(None, 0, 1), TypeError, "topic must be a string, not None"),
    (lambda k: k.move_leader("t", "0", 1), TypeError, "partition must be a whole number, not '0'"),
    (lambda k: k.move_leader("t", 0, 1.0), TypeError, r"broker must be a whole number, not 1\.0"),
    (lambda k: k.journal.produce(topic=5), TypeError, "topic must be a string or None, not 5"),
    (lambda k: k.journal.produce(partition="0"), TypeError, "partition must be a whole number or None, not '0'"),
    (lambda k: k.journal.produce(partition=-1), ValueError, "partition must be 0 or more, not -1"),
    (lambda k: k.journal.produce().expect(within_ms=-1), ValueError, "within_ms must be 0 or more, not -1"),
    (lambda k: k.journal.produce().expect(count=-1), ValueError, "count must be 0 or more, not -1"),
    (lambda k: k.journal.requests(api=0), TypeError, "api must be a string or None, not 0"),
    (lambda k: k.followers.lag("5"), TypeError, "lag_ms must be a whole number, not '5'"),
    (lambda k: k.followers.lag(1.5, "t"), TypeError, r"lag_ms must be a whole number, not 1\.5"),
    (lambda k: k.followers.throttle(None), TypeError, "bytes_per_s must be a whole number, not None"),
    (lambda k: k.followers.freeze(5), TypeError, "topic must be a string or None, not 5"),
    (lambda k: k.followers.freeze("t", "0"), TypeError, "partition must be a whole number or None, not '0'"),
    (lambda k: k.followers.script([(0, "frozen")], broker="1"), TypeError, "broker must be a whole .*, not '1'"),
    (
        lambda k: k.quotas.set(client_id="x", producer_byte_rate="5"),
        TypeError,
        "producer_byte_rate must be a number or None, not '5'",
    ),
    (
        lambda k: k.quotas.set(client_id="x", request_percentage=True),
        TypeError,
        "request_percentage must be a number or None, not True",
    ),
    (lambda k: k.quotas.set(client_id=5, producer_byte_rate=5), TypeError, "client_id must be a string or .*, not 5"),
    (lambda k: k.quotas.remove(user=5), TypeError, "user must be a string or None, not 5"),
    (lambda k: k.brokers[9], KeyError, "'there is no broker 9: the ids are 1 to 3'"),
    (lambda k: k.brokers["1"], KeyError, "\"there is no broker '1': the ids are 1 to 3\""),
]


@pytest.fixture(scope="module")
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.create_topic("t")
        yield cluster


@pytest.mark.parametrize("kind", [FakeCluster, AsyncFakeCluster])
@pytest.mark.parametrize(("arguments", "error", "sentence"), OF_A_CLUSTER, ids=lambda value: str(value)[:40])
def test_a_cluster_refuses_wrong_arguments(
    kind: type, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{sentence}$"):
        kind(**arguments)


@pytest.mark.parametrize(("call", "error", "sentence"), CALLS, ids=[sentence[:40] for _, _, sentence in CALLS])
def test_a_call_refuses_wrong_arguments(
    kafka: FakeCluster, call: Callable[[FakeCluster], Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{sentence}$"):
        call(kafka)


@pytest.mark.parametrize(("arguments", "error", "sentence"), OF_A_WAIT, ids=lambda value: str(value)[:40])
def test_a_wait_refuses_wrong_arguments(
    kafka: FakeCluster, arguments: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with kafka.hold(api="Produce") as held:
        for wait in (held.fault.wait, held.fault.wait_held):
            with pytest.raises(error, match=f"^{sentence}$"):
                wait(**arguments)
    if "timeout" in arguments:
        with kafka.faults.slow_disk(1, 10) as slow, pytest.raises(error, match=f"^{sentence}$"):
            slow.wait(**arguments)


@pytest.mark.parametrize(("count", "error", "sentence"), OF_A_RELEASE, ids=lambda value: str(value)[:40])
def test_a_release_refuses_wrong_arguments(
    kafka: FakeCluster, count: Any, error: type[Exception], sentence: str
) -> None:
    with kafka.hold(api="Produce") as held, pytest.raises(error, match=f"^{sentence}$"):
        held.release(count)


def test_a_call_of_the_async_cluster_refuses_wrong_arguments() -> None:
    async def main() -> None:
        async with AsyncFakeCluster() as cluster:
            cluster.create_topic("t")
            for call, error, sentence in CALLS:
                with pytest.raises(error, match=f"^{sentence}$"):
                    call(cluster)

    asyncio.run(main())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, loops.new_event_loop], ids=["asyncio", loops.NAME])
@pytest.mark.parametrize("host", ["no.such.invalid", "no such host", "a..b", "a\0b"])
def test_a_host_that_is_not_known_is_named(
    monkeypatch: pytest.MonkeyPatch, host: str, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    monkeypatch.setattr(fake_cluster, "new_event_loop", new_loop)
    with pytest.raises(socket.gaierror) as raised:
        FakeCluster(host=host).start()

    assert str(raised.value.strerror).startswith(
        (f"the host {host!r} is not known: ", f"{host!r} is not a host name: ")
    )
