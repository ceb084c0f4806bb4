"""Stories about Kafka's producer, with kafka-clients itself: 2.0.1, 2.1.0 (KIP-91) and 4.4.0, unmodified.
`AsyncProducer` of the same generation has the same results.

The clock is real. The callbacks of all records and the logs are compared.
"""

from __future__ import annotations

from typing import Any

import pytest
from support import doses
from support.log_reader import read_values
from support.stock_sends import Sends, sends
from support.unread import unread_bytes
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import NO_ERROR, Append

pytestmark = [pytest.mark.clients, pytest.mark.slow]

BEFORE, SINCE = ["2.0.1"], ["2.1.0", "4.4.0"]  # KIP-91
OURS = ["ours 2.0", "ours 2.1", "ours 4.4"]
EVERYDAY = doses.nightly_but(["ours 4.4"], OURS)
IDEMPOTENT = ("4.4.0", "ours 4.4")  # by default
ROUNDED_MS = 1  # clocks of milliseconds are rounded down, at either end of a wait


def kafka_clients(versions: list[str]) -> list[Any]:
    """Versions of kafka-clients, which need Java."""
    return [pytest.param(version, marks=pytest.mark.languages) for version in versions]


def plain(version: str) -> dict[str, object]:
    return {"enable_idempotence": "false"} if version in IDEMPOTENT else {}


def await_unread(kafka: FakeCluster, size: int) -> None:
    wait_until(lambda: unread_bytes(kafka) >= size, "a request that a paused broker has not read")


def start_and_await_client(kafka: FakeCluster) -> None:
    """Start the broker again; return when a client has connected, and has requested metadata."""
    requests_before = len(kafka.journal.requests(api="Metadata"))
    kafka.brokers[1].start()
    wait_until(
        lambda: len(kafka.journal.requests(api="Metadata")) > requests_before, "a client that has found the broker"
    )


def call_of(program: Sends, key: str) -> tuple[int, str, list[str]]:
    """Return the duration of `send` in ms, its exception, and the other output until then and about this record."""
    others: list[str] = []
    while True:
        words = program.told().split(" ", 3)
        if words[:2] == [key, "call"]:
            return int(words[2]), words[3] if len(words) > 3 else "", others
        if words[1] != "call":
            others.append(" ".join(words))


def expires(version: str, **settings: object) -> list[str]:
    """Return the results of two records to a dead broker: one fills its batch, one does not."""
    with (
        FakeCluster(brokers=1) as kafka,
        sends(version, kafka, request_timeout_ms=400, linger_ms=10, batch_size=1_000, **settings) as program,
    ):
        kafka.brokers[1].kill()
        program.send("probe")  # is the connection known to be gone?
        program.told()
        program.send("full", 980)
        program.send("lingers", 500)
        return [program.told(), program.told()]


@pytest.mark.parametrize("version", kafka_clients(BEFORE))
def test_before_kip_91_it_expires_for_a_reason(version: str) -> None:
    full, lingers = expires(version, retries=0)
    assert full.startswith("full TimeoutException: Expiring 1 record(s) for orders-0: ")
    assert full.endswith(" ms has passed since last append")
    assert lingers.endswith(" ms has passed since batch creation plus linger time")


@pytest.mark.parametrize("version", kafka_clients(SINCE))
def test_since_kip_91_there_is_one_reason(version: str) -> None:
    # 4.x would forget the topic where no broker can be reached, and begin anew (KIP-899).
    more = {"metadata_recovery_strategy": "none"} if version == "4.4.0" else {}
    for line in expires(version, delivery_timeout_ms=500, **more):
        assert " TimeoutException: Expiring 1 record(s) for orders-0:" in line
        assert " ms has passed since batch creation" in line
        assert "linger time" not in line


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE))
def test_a_silent_broker_fails_all_in_flight_at_once(version: str) -> None:
    """The error is a timeout since 3.5, and a network error before."""
    settings: dict[str, object] = {"acks": "1", "request_timeout_ms": 400, "linger_ms": 0, "retries": 0}
    if version == "4.4.0":
        settings["enable_idempotence"] = "false"
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=3)
        with sends(version, kafka, **settings) as program:
            kafka.brokers[1].pause()
            for partition, key in enumerate("abc"):
                program.send(key, partition=partition)
            lines = sorted(program.told() for _ in range(3))
            kafka.brokers[1].resume()
    error = "TimeoutException" if version == "4.4.0" else "NetworkException"
    assert [line.split(":")[0] for line in lines] == [f"{key} {error}" for key in "abc"]


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE))
def test_every_attempt_times_out(version: str) -> None:
    """Before KIP-91 the retries end it, and there are as many copies as attempts; since, delivery.timeout.ms does."""
    settings: dict[str, object] = {"acks": "all", "request_timeout_ms": 400, "linger_ms": 0}
    if version in BEFORE:
        settings["retries"] = 2
    else:
        settings |= {"delivery_timeout_ms": 1_000, "enable_idempotence": "false"}
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("orders", partitions=1)
        with sends(version, kafka, **settings) as program:
            kafka.followers.freeze("orders", partition=0)
            program.send("a")
            line = program.told()
            retries = len(kafka.journal.produce(topic="orders")) - 1
    if version in SINCE:
        assert line.startswith("a TimeoutException: ")
    else:  # the last attempt ended by the broker's clock or by the client's own
        assert line.split(":")[0] in ("a TimeoutException", "a NetworkException")
    assert ("ms has passed since batch creation" in line) == (version in SINCE)
    assert retries >= 2


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE) + EVERYDAY)
def test_memory_is_full_and_send_blocks_its_caller(version: str) -> None:
    """Three batches have all of it. BufferExhaustedException has a name of its own since 2.6 (KAFKA-3720)."""
    settings = {"buffer_memory": 3_000, "batch_size": 1_000, "max_block_ms": 2_000, "linger_ms": 0, "acks": "1"}
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=1)
        with sends(version, kafka, True, request_timeout_ms=20_000, **settings, **plain(version)) as program:
            kafka.brokers[1].pause()
            for key in "abcd":
                program.send(key, 900)
            blocked_ms = [call_of(program, key)[0] for key in "abc"]
            waited_ms, thrown, others = call_of(program, "d")
            assert max(blocked_ms) < waited_ms
            assert waited_ms >= 2_000 - ROUNDED_MS
            assert not thrown, "its future fails"
            line = others[0] if others else program.told()
            error = "BufferExhaustedException" if version in IDEMPOTENT else "TimeoutException"
            assert line.startswith(f"d {error}: ")
            program.send("e", 100)  # would fit beside them, and waits for a batch all the same
            kafka.brokers[1].resume()
            assert not call_of(program, "e")[1], "it is not thrown, and so in the log below"
        keys = [len(value or b"") for value in read_values(kafka, "orders")]
        assert keys == [10, 900, 900, 900, 100]


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE) + EVERYDAY)
def test_metadata_never_comes(version: str) -> None:
    """The topic or the partition does not exist. Up to 2.1 an unknown partition is thrown at once, as invalid."""
    with FakeCluster(brokers=1, config={"auto.create.topics.enable": False}) as kafka:
        kafka.create_topic("orders", partitions=1)
        with sends(version, kafka, True, max_block_ms=3_000, linger_ms=0) as program:
            program.send("topic", topic="oders")
            waited_ms, thrown, others = call_of(program, "topic")
            assert waited_ms >= 3_000 - ROUNDED_MS
            assert not thrown
            line = others[0] if others else program.told()
            assert line.startswith("topic TimeoutException: ")
            program.send("partition", partition=7)
            waited_ms, thrown, others = call_of(program, "partition")
            if version in IDEMPOTENT:
                assert waited_ms >= 3_000 - ROUNDED_MS
                line = others[0] if others else program.told()
                assert line.startswith("partition TimeoutException: ")
            else:
                assert thrown.startswith("KafkaException: ")
                assert not others, "what is thrown is not called back"


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE) + EVERYDAY)
@pytest.mark.parametrize(("most", "order"), [("1", "abc"), ("5", "bca")])
def test_a_retry_keeps_its_place_with_one_in_flight_and_comes_last_with_five(
    version: str, most: str, order: str
) -> None:
    settings = {"linger_ms": 0, "acks": "all", "retries": 5, "retry_backoff_ms": 300, "request_timeout_ms": 20_000}
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=1)
        settings["max_in_flight_requests_per_connection"] = most
        with sends(version, kafka, **settings, **plain(version)) as program:
            kafka.brokers[1].pause()
            for size, key in enumerate("abc", 101):
                before = unread_bytes(kafka)
                program.send(key, size)
                if most != "1" or key == "a":  # with five, each is in a request of its own
                    await_unread(kafka, before + 100)
            when = {"api": "Produce", "topic": "orders"}
            kafka.faults.add(when=when, do={"error": "NOT_ENOUGH_REPLICAS"}, times=1)
            kafka.brokers[1].resume()
            assert [program.told() for _ in range(3)] == [f"{key} offset {at}" for at, key in enumerate(order, 1)]
        sizes = {101 + at: key for at, key in enumerate("abc")}
        assert "".join(sizes[len(value or b"")] for value in read_values(kafka, "orders")[1:]) == order


@pytest.mark.parametrize("version", kafka_clients(SINCE))
def test_a_batch_that_expires_in_the_queue_is_called_back_before_one_in_flight(version: str) -> None:
    """All end in one turn of the sender, since a callback has delayed it until then. (Ours has futures, which delay no
    turn.)"""
    settings = {"acks": "1", "retries": 0, "batch_size": 1, "max_in_flight_requests_per_connection": 1, "linger_ms": 0}
    settings |= {"request_timeout_ms": 1_000, "delivery_timeout_ms": 1_000}
    with FakeCluster(brokers=2) as kafka:
        kafka.create_topic("orders", assignments=[[1], [2]])
        with sends(version, kafka, **settings, **plain(version)) as program:
            program.send("known", partition=1)
            program.told()
            kafka.brokers[1].pause()
            before = unread_bytes(kafka)
            for key in "abc":  # a is in flight, b and c wait
                program.send(key)
            await_unread(kafka, before + 1)
            program.send("slow", partition=1)
            lines = [program.told() for _ in range(4)]
            kafka.brokers[1].resume()
    assert [line.split(":")[0] for line in lines] == ["slow offset 1", *(f"{key} TimeoutException" for key in "bca")]


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE) + EVERYDAY)
def test_an_idempotent_batch_that_expired_after_it_was_sent(version: str) -> None:
    """Sequences are in doubt: b is in the log. Since 2.5 (KIP-360) the epoch is bumped; before, the producer id is
    dropped. Ours follows the newer rule from 2.1 on."""
    settings: dict[str, object] = {"linger_ms": 0, "acks": "all", "request_timeout_ms": 700}
    settings |= {"retry_backoff_ms": 100, "reconnect_backoff_max_ms": 100}
    if version not in ("2.0.1", "ours 2.0"):
        settings["delivery_timeout_ms"] = 1_000
    if version == "4.4.0":
        settings["metadata_recovery_strategy"] = "none"  # else it begins anew (KIP-899)
    with FakeCluster(brokers=1, config={"broker.session.timeout.ms": 300}) as kafka:
        kafka.create_topic("orders", partitions=1)
        with sends(version, kafka, enable_idempotence="true", **settings) as program:
            when = {"api": "Produce", "topic": "orders", "at": "after_append"}
            kafka.faults.add(when=when, do={"kill": 1})
            program.send("b", 101)
            assert program.told().split(":")[0] == "b TimeoutException"
            start_and_await_client(kafka)
            for size, key in enumerate("cd", 102):
                program.send(key, size)
                assert program.told().startswith(f"{key} offset ")
        appended = [event for event in kafka.journal if isinstance(event, Append) and event.error == NO_ERROR]
    assert [event.base_offset for event in appended] == [0, 1, 2, 3]
    first, b, c, d = [(event.producer_id, event.producer_epoch, event.base_sequence) for event in appended]
    assert b == (*first[:2], 1)
    raises_epoch = version in IDEMPOTENT or version == "ours 2.1"
    assert c == (first[0], 1, 0) if raises_epoch else (c[0] != first[0] and c[1:] == (0, 0))
    assert d == (*c[:2], 1)


@pytest.mark.parametrize("version", kafka_clients(BEFORE + SINCE) + EVERYDAY)
def test_what_was_acknowledged_by_a_leader_alone_is_cut_off(version: str) -> None:
    """acks=1: c is at offset 1 of broker 1, which dies; d is told the same offset, by the next leader."""
    settings = {"linger_ms": 0, "acks": "1", "retries": 20, "request_timeout_ms": 3_000}
    with FakeCluster(brokers=2, config={"broker.session.timeout.ms": 1_000}) as kafka:
        kafka.create_topic("orders", assignments=[[1, 2]])
        with sends(version, kafka, **settings, **plain(version)) as program:
            kafka.followers.freeze("orders")
            program.send("c", 101)
            assert program.told() == "c offset 1"
            kafka.brokers[1].kill()
            kafka.followers.resume("orders")
            program.send("d", 102)
            assert program.told() == "d offset 1"
            kafka.brokers[1].start()
            program.send("e", 103)
            assert program.told() == "e offset 2"
        assert [len(value or b"") for value in read_values(kafka, "orders")] == [10, 102, 103]


@pytest.mark.parametrize("version", [*kafka_clients(["2.8.2"]), "ours 2.8"])
def test_from_2_4_to_3_2_a_record_without_a_key_begins_its_batch_elsewhere(version: str) -> None:
    """KIP-480: where a batch is full, or none is open, another partition gets the next one, and fills it.

    A request that waits at the paused broker keeps the sender from the other batches: with a full batch it would also
    take one that is not full."""
    settings = {"linger_ms": 1_000, "batch_size": 400, "acks": "1"}  # two records each
    settings["max_in_flight_requests_per_connection"] = 1
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=2)
        with sends(version, kafka, True, **settings) as program:
            kafka.brokers[1].pause()
            before = unread_bytes(kafka)
            program.send("full", 500)
            call_of(program, "full")
            await_unread(kafka, before + 500)
            for size, key in enumerate("abcdef", 151):
                program.send(f"-{key}", size, partition=-1)
            for key in "abcdef":
                call_of(program, f"-{key}")
            kafka.brokers[1].resume()
            for _ in ["full", *"abcdef"]:
                program.told()
        logs = [[len(value or b"") for value in read_values(kafka, "orders", partition)] for partition in (0, 1)]
    keys = {"".join(chr(size - 151 + ord("a")) for size in log if 150 < size < 157) for log in logs}
    assert keys == {"abef", "cd"}
