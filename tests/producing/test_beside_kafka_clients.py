"""AsyncProducer asks for the same as kafka-clients 4.4.0 does, byte for byte.

Each plays the same program against a cluster like the other's. With one broker everything that reaches it is compared:
which requests, in which versions, on which connection, in which order, their correlation ids and all of their bytes.
With three, brokers are drawn for what any of them can answer; then the requests that only one can take are compared.
"""

from __future__ import annotations

import os
import random
from itertools import chain
from typing import Any

import pytest
from support.both_producers import FLUSH, PAUSE, START_MS, Meanwhile, Outcome, Program, do, on_both, send
from support.request_tap import RequestTap
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.producer.network.node_api_versions import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
)

pytestmark = [pytest.mark.clients, pytest.mark.languages]

PLAIN: dict[str, object] = {"enable.idempotence": False}
FIVE = [send(b"value %d" % i, b"key %d" % i, timestamp_ms=START_MS + i) for i in range(5)]
ODD = [
    send(None, b"no value"),
    send(b"no key"),
    send(b"", b""),
    send(b"earlier", b"k", timestamp_ms=START_MS - 60_000),
    send(b"headers", b"k", headers=[("h", b"1"), ("h", None), ("", b"")]),
    send("käse".encode(), b"\xff\x00", headers=[("ключ", b"\x00")]),
]
# From `batch.size` on, each batch is a request of its own.
MANY = [send(b"%03d" % i * 60, timestamp_ms=START_MS + i) for i in range(40)]
EVERYWHERE = [send(b"%d" % i, partition=i % 5, topic="a" if i % 3 else "b") for i in range(60)]
BY_KEY = [send(b"%d" % i, b"key %d" % (i % 20), partition=None) for i in range(60)]


def produced(outcome: Outcome) -> int:
    return sum(request.api_key == PRODUCE for request in chain(*outcome.connections))


def decompressed(outcome: Outcome) -> list[list[tuple[object, ...]]]:
    return [[request.decompressed() for request in requests] for requests in outcome.connections]


PROGRAMS = {
    "acks 0": (Program([*FIVE, FLUSH], PLAIN | {"acks": "0"}), 1),
    "acks 1": (Program([*FIVE, FLUSH], PLAIN | {"acks": "1"}), 1),
    "acks all": (Program([*FIVE, FLUSH], PLAIN | {"acks": "all"}), 1),
    "idempotent": (Program([*FIVE, FLUSH, *FIVE, FLUSH]), 2),
    "odd records": (Program([*ODD, FLUSH]), 1),
    "full batches": (Program([*MANY, FLUSH], {"batch.size": 2_000}), 4),
    "full batches, one in flight": (
        Program([*MANY, FLUSH], {"batch.size": 1_000, "max.in.flight.requests.per.connection": 1}), 10,
    ),
    "a record larger than a batch": (Program([send(b"x" * 5_000), *FIVE, FLUSH], {"batch.size": 1_000}), 2),
    "two topics of five partitions": (Program([*EVERYWHERE, FLUSH], topics={"a": 5, "b": 5}), 1),
    "partitions by key": (Program([*BY_KEY, FLUSH], topics={"t": 7}), 1),
    "no linger": (Program([step for one in FIVE for step in (one, FLUSH)], {"linger.ms": 0}), 5),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bytes_in_the_same_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, requests = PROGRAMS[name]
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results
    assert produced(theirs) == requests


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compressed bytes are each library's own. A first flush alone: which records share a later batch depends on
    how well the first were compressed."""
    theirs, ours = on_both(Program([*MANY, FLUSH], {"compression.type": codec, "batch.size": 4_000}), monkeypatch)
    assert decompressed(ours) == decompressed(theirs)
    assert produced(theirs) == 3
    assert ours.results == theirs.results


TRANSACTION = [
    do("begin"),
    *FIVE,
    do("commit"),
    do("begin"),
    *FIVE,
    FLUSH,
    do("abort"),
    do("begin"),
    *FIVE,
    do("commit"),
]


@pytest.mark.parametrize("timeout_ms", [60_000, 10_000])
def test_transactions(timeout_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, object] = {"transactional.id": "me", "transaction.timeout.ms": timeout_ms}
    theirs, ours = on_both(Program([do("init"), *TRANSACTION], settings), monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results


def time_out(kafka: FakeCluster, tap: RequestTap) -> None:
    """The first Produce waits for its followers for as long as it says; the second finds them there."""
    wait_until(lambda: produces(tap) == 1, "the first request")
    kafka.clock.advance(30_000)
    wait_until(lambda: produces(tap) == 2, "the same once more")
    kafka.followers.instant("t")


def freeze(kafka: FakeCluster, _: RequestTap) -> None:
    kafka.followers.freeze("t")


def move(broker: int) -> Meanwhile:
    return lambda kafka, _: kafka.move_leader("t", 0, broker)


def produces(tap: RequestTap) -> int:
    return sum(request.api_key == PRODUCE for request in tap.seen())


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_error_7_is_tried_again(is_idempotent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [PAUSE, send(b"late"), PAUSE, FLUSH, send(b"after it"), FLUSH]
    settings: dict[str, object] = {"linger.ms": 0, "enable.idempotence": is_idempotent, "request.timeout.ms": 30_000}
    tried = Program(steps, settings, brokers=3, clock="manual", meanwhile=[freeze, time_out])
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.requests(PRODUCE) == theirs.requests(PRODUCE)
    assert ours.results == theirs.results
    assert theirs.results == [["t", 0, offset] for offset in ([0, 1] if is_idempotent else [1, 2])]


def test_a_leader_that_moves_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: whether news of a first move come before a second one is anybody's guess."""
    steps = [*FIVE, FLUSH, PAUSE, *FIVE, FLUSH]
    theirs, ours = on_both(Program(steps, brokers=3, meanwhile=[move(2)]), monkeypatch)
    assert ours.requests(PRODUCE) == theirs.requests(PRODUCE)
    assert ours.results == theirs.results
    assert produced(theirs) == 3


def fail_next_connection(fault: Any) -> Meanwhile:
    def act(kafka: FakeCluster, _: RequestTap) -> None:
        kafka.faults.add(when={"api": "ApiVersions"}, do=fault, times=1)

    return act


@pytest.mark.parametrize("fault", ["disconnect", {"error": 31}, {"error": 129}], ids=["ends", "refused", "misrouted"])
def test_a_connection_that_fails_while_a_record_waits_for_metadata(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection was to carry the request for the topic. The client starts again from the bootstrap addresses, and
    sends one request."""
    settings = PLAIN | {"acks": "1", "reconnect.backoff.ms": 300}
    tried = Program([PAUSE, *FIVE, FLUSH], settings, meanwhile=[fail_next_connection(fault)])
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results
    assert len(theirs.connections) == 3


ANSWERS: dict[str, Any] = {
    "unknown topic": {"error": 3},
    "not the leader": {"error": 6},
    "too large: split": {"error": 10},
    "too few replicas": {"error": 19},
    "out of order": {"error": 45},
    "duplicate": {"error": 46},
    "unknown producer id": {"error": 59},
    "invalid producer epoch": {"error": 47},
    "invalid record": {"error": 87},
    "no answer": "disconnect",
}


@pytest.mark.parametrize("is_idempotent", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_done_about_an_answer(answer: str, is_idempotent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One Produce is answered so, and nothing is written. What comes after it shows what the client made of it."""

    def act(kafka: FakeCluster, _: RequestTap) -> None:
        kafka.faults.add(when={"api": "Produce"}, do=ANSWERS[answer], times=1)

    # Long enough for news of the cluster to come before the next attempt.
    settings: dict[str, object] = {"retry.backoff.ms": 1_000, "enable.idempotence": is_idempotent}
    tried = Program([*FIVE, FLUSH, PAUSE, *FIVE, FLUSH, *FIVE, FLUSH], settings, meanwhile=[act])
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results


def test_an_answer_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(kafka: FakeCluster, _: RequestTap) -> None:
        kafka.faults.add(when={"api": "Produce", "at": "after_append"}, do="disconnect", times=1)

    tried = Program([PAUSE, *FIVE, FLUSH, *FIVE, FLUSH], {"retry.backoff.ms": 1_000}, meanwhile=[act])
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results == [["t", 0, offset] for offset in range(10)]


def test_a_broker_that_finds_everything_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are split until there is one record in each."""

    def act(kafka: FakeCluster, _: RequestTap) -> None:
        kafka.faults.add(when={"api": "Produce"}, do={"error": 10}, times="every_time")

    theirs, ours = on_both(Program([PAUSE, *FIVE, FLUSH], meanwhile=[act]), monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results == [["RecordTooLargeException"]] * 5


def test_a_topic_that_the_broker_creates(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Program([*FIVE, FLUSH], {"retry.backoff.ms": 1_000}, topics={})
    theirs, ours = on_both(tried, monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results


IN_A_TRANSACTION: dict[str, Any] = {
    "too few replicas": {"error": 19},
    "invalid producer epoch": {"error": 47},
    "invalid record": {"error": 87},
    "no answer": "disconnect",
}


@pytest.mark.parametrize("answer", IN_A_TRANSACTION)
def test_an_error_within_a_transaction(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(kafka: FakeCluster, _: RequestTap) -> None:
        kafka.faults.add(when={"api": "Produce"}, do=IN_A_TRANSACTION[answer], times=1)

    steps = [do("init"), do("begin"), PAUSE, *FIVE, FLUSH, do("abort"), do("begin"), *FIVE, do("commit")]
    settings: dict[str, object] = {"transactional.id": "me", "retry.backoff.ms": 1_000}
    theirs, ours = on_both(Program(steps, settings, meanwhile=[act]), monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results


def test_a_transaction_over_three_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leaders of partitions and the coordinator are the same on both sides."""
    steps = [do("init"), do("begin"), *EVERYWHERE, FLUSH, do("commit"), do("begin"), *EVERYWHERE, FLUSH, do("abort")]
    tried = Program(steps, {"transactional.id": "me"}, {"a": 5, "b": 5}, brokers=3)
    theirs, ours = on_both(tried, monkeypatch)
    keys = (PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN)
    assert ours.requests(*keys) == theirs.requests(*keys)
    assert ours.results == theirs.results
    assert {request.broker_id for one in theirs.requests(PRODUCE) for request in one} == {1, 2, 3}


def drawn(seed: int) -> Program:
    """Draw a program. Several partitions have no full batch before a flush: otherwise a race would decide which batches
    share a request."""
    draw = random.Random(seed)
    topics = {"a": draw.randint(1, 4), "b": draw.randint(1, 4)} if draw.random() < 0.5 else {"a": 1}
    settings: dict[str, object] = {"acks": draw.choice(["0", "1", "all"]), "max.request.size": 1 << 24}
    settings["enable.idempotence"] = settings["acks"] == "all" and draw.random() < 0.7
    settings["batch.size"] = 1 << 20 if len(topics) > 1 else draw.choice([0, 1, 300, 1_000, 16_384])
    settings["max.in.flight.requests.per.connection"] = draw.randint(1, 5)
    steps = []
    for _ in range(draw.randint(1, 60)):
        topic = draw.choice(sorted(topics))
        key = draw.choice([None, b"", draw.randbytes(draw.randint(1, 30))])
        partition = None if key is not None and draw.random() < 0.5 else draw.randrange(topics[topic])
        value = draw.choice([None, b"", draw.randbytes(draw.choice([5, 100, 700]))])
        headers = [(f"h{i}", draw.choice([None, b"", b"x" * i])) for i in range(draw.choice([0, 0, 0, 1, 3]))]
        steps.append(send(value, key, partition, topic, headers, START_MS + draw.randint(-100_000, 100_000)))
        if draw.random() < 0.1:
            steps.append(FLUSH)
    return Program([*steps, FLUSH], settings, topics)


@pytest.mark.parametrize("seed", range(int(os.environ.get("FAKEBROKER_PROGRAMS", "12"))))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAKEBROKER_PROGRAMS=200 asks for more."""
    theirs, ours = on_both(drawn(seed), monkeypatch)
    assert ours.connections == theirs.connections
    assert ours.results == theirs.results
