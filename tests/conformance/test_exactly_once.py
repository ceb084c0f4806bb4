"""Would it be found out? Programs and brokers that do not do things exactly once, and the man in the middle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from confluent_kafka import Consumer, Producer
from support.watchdog import LIMIT_S

from conformance.clients.builds import CLIENTS
from conformance.clients.exactly_once.__main__ import NAMES, run
from conformance.clients.exactly_once.chain import Chain, Outcome
from conformance.clients.exactly_once.committed import read_values
from conformance.clients.exactly_once.kinds import set_version
from conformance.clients.exactly_once.points import POINTS, STEPS, Point
from conformance.clients.exactly_once.proxy import API_VERSIONS, END_TXN, PRODUCE, Proxy, Strike
from conformance.clients.exactly_once.workers import Workers
from conformance.clients.process import Broken
from fakebroker import FakeCluster

# Without transactions: `offset` is committed before the effect, or after it.
CARELESS = """
import json, os, sys
from confluent_kafka import Consumer, Producer, TopicPartition
plan = json.loads(input())
given, common = plan["processor"], {"bootstrap.servers": plan["bootstrap"], "log_level": 0}
consumer = Consumer(common | {"group.id": given["group"], "group.instance.id": given["instance"],
                              "auto.offset.reset": "earliest", "enable.auto.commit": False})
producer = Producer(common)
consumer.subscribe([given["in"]])
while True:
    message = consumer.poll(0.1)
    if message is None or message.error():
        continue
    value = message.value().decode()
    print(json.dumps({"consumed": value}), flush=True)
    die = json.loads(input())["die"]
    if die == "consumed":
        os._exit(9)
    def commit():
        place = TopicPartition(given["in"], message.partition(), message.offset() + 1)
        consumer.commit(offsets=[place], asynchronous=False)
    if ORDER == "first":
        commit()
    producer.produce(given["out"], value, partition=0)
    producer.flush()
    if die == "produced":
        os._exit(9)
    producer.produce(given["out"], value, partition=1)
    producer.flush()
    if die == "flushed":
        os._exit(9)
    if ORDER == "last":
        commit()
    print(json.dumps({"done": value}), flush=True)
"""


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, config={"group.initial.rebalance.delay.ms": 0}) as cluster:
        cluster.create_topic("t", partitions=2)
        yield cluster


def crashed(kafka: FakeCluster, code: str, points: list[Point]) -> list[Outcome]:
    with Proxy(kafka.bootstrap_servers) as proxy:
        chain = Chain(([sys.executable, "-W", "ignore", "-c", code], Path.cwd()), proxy, "careless")
        for topic, partitions in chain.topics.items():
            kafka.create_topic(topic, partitions, configs={"retention.ms": -1})
        return chain.crash(points)


def at(*steps: str) -> list[Point]:
    return [point for point in STEPS if point.step in steps]


@pytest.mark.clients
def test_a_program_that_does_things_at_least_once_is_found_out(kafka: FakeCluster) -> None:
    torn, doubled, last = crashed(kafka, f"ORDER = 'last'{CARELESS}", at("produced", "flushed"))
    assert (torn.seen, doubled.seen, last.seen) == ([2, 1], [2, 2], [1, 1])
    assert (torn.is_right, doubled.is_right, last.is_right) == (False, False, True)


@pytest.mark.clients
def test_a_program_that_does_things_at_most_once_is_found_out(kafka: FakeCluster) -> None:
    torn, done, last = crashed(kafka, f"ORDER = 'first'{CARELESS}", at("produced", "flushed"))
    assert (torn.seen, done.seen, last.seen) == ([1, 0], [1, 1], [1, 1])
    assert (torn.is_right, done.is_right, last.is_right) == (False, False, True)  # no program repeated the second one


@pytest.mark.clients
@pytest.mark.slow
def test_workers_that_do_things_at_least_once_are_found_out(kafka: FakeCluster) -> None:
    with Proxy(kafka.bootstrap_servers) as proxy:
        code = f"ORDER = 'last'{CARELESS}"
        workers = Workers(([sys.executable, "-W", "ignore", "-c", code], Path.cwd()), proxy, "careless")
        for topic, partitions in workers.topics.items():
            kafka.create_topic(topic, partitions, configs={"retention.ms": -1})
        outcomes = workers.run()
    wrong = [outcome.seen for outcome in outcomes if not outcome.is_right]
    assert sorted(wrong) == [[2, 1], [2, 1], [2, 2], [2, 2]]  # "consumed" is before the effect


def test_a_program_that_tells_of_an_error_or_ends_breaks_the_chain(kafka: FakeCluster) -> None:
    with pytest.raises(Broken, match="status 3"):
        crashed(kafka, "import sys; input(); sys.exit(3)", at("init"))
    with Proxy(kafka.bootstrap_servers) as proxy:
        program = "import json; input(); print(json.dumps({'error': 'E'})); input()"
        chain = Chain(([sys.executable, "-c", program], Path.cwd()), proxy, "careless")
        with pytest.raises(Broken, match="E"):
            chain.crash(at("init"))


def test_points_have_names_of_their_own_and_say_where_they_are() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)
    assert all((point.step is None) != (point.api_key is None) for point in POINTS)


@pytest.mark.parametrize(
    ("seen", "consumed", "met", "is_right"),
    [
        ([1, 1], 2, True, True),
        ([1, 1], 1, True, False),
        ([1, 1], 1, False, True),
        ([2, 2], 2, True, False),
        ([1, 0], 2, True, False),
        ([0, 0], 2, True, False),
    ],
)
def test_an_effect_that_is_missing_torn_or_doubled_is_wrong(
    seen: list[int], consumed: int, met: bool, is_right: bool
) -> None:
    assert Outcome("o", Point("p", "begun"), met, consumed, seen).is_right is is_right


# what is committed


def test_committed_records_are_read_and_aborted_ones_left_out(kafka: FakeCluster) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "x", "log_level": 0})
    producer.init_transactions(LIMIT_S)
    for number in range(4):
        producer.begin_transaction()
        for partition in range(2):
            producer.produce("t", f"{number}", partition=partition)
        if number % 2:
            producer.flush(LIMIT_S)
            producer.abort_transaction(LIMIT_S)
        else:
            producer.commit_transaction(LIMIT_S)
    assert read_values(kafka.bootstrap_servers, "t", committed=True) == {0: ["0", "2"], 1: ["0", "2"]}
    assert read_values(kafka.bootstrap_servers, "t", committed=False)[1] == ["0", "1", "2", "3"]


def test_an_open_transaction_is_told(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.clients.exactly_once.committed._LIMIT_S", 0.1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "x", "log_level": 0})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce("t", "open", partition=0)
    producer.flush(LIMIT_S)
    with pytest.raises(TimeoutError, match="t-0 has an open transaction: last stable offset 0, high watermark 1"):
        read_values(kafka.bootstrap_servers, "t", committed=True)


# the man in the middle


def test_clients_find_all_brokers_behind_the_proxy() -> None:
    with FakeCluster(brokers=3, config={"group.initial.rebalance.delay.ms": 0}) as kafka:
        kafka.create_topic("many", partitions=6)
        with Proxy(kafka.bootstrap_servers) as proxy:
            producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "linger.ms": 0, "log_level": 0})
            for partition in range(6):
                producer.produce("many", f"{partition}", partition=partition)
            assert producer.flush(LIMIT_S) == 0
            consumer = Consumer(
                {
                    "bootstrap.servers": proxy.bootstrap_servers,
                    "group.id": "g",
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                }
            )
            consumer.subscribe(["many"])
            read = {message.value() for message in consumer.consume(6, LIMIT_S)}
            consumer.close()
            assert len(read) == 6
            apis = {name for name, _ in proxy.requests}
    assert {"Produce", "Fetch", "FindCoordinator", "JoinGroup"} <= apis


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("cut", [False, True], ids=["held", "cut"])
def test_a_strike_is_before_the_broker_has_it_or_after_and_once(kafka: FakeCluster, is_after: bool, cut: bool) -> None:
    def there() -> int:
        return len(read_values(kafka.bootstrap_servers, "t", committed=False)[0])

    seen: list[int] = []
    with Proxy(kafka.bootstrap_servers) as proxy:
        producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "linger.ms": 0, "log_level": 0})
        strike = proxy.arm(Strike(PRODUCE, is_after, lambda: seen.append(there()), cut))
        for _ in range(2):
            producer.produce("t", "v", partition=0)
            assert producer.flush(LIMIT_S) == 0
        assert strike.over.is_set()
        sent = [name for name, _ in proxy.requests].count("Produce")
    assert seen == [int(is_after)]
    assert sent == 2 + cut  # what is lost is sent again
    assert there() >= 2


def test_a_strike_that_is_taken_back_and_one_for_another_request_do_nothing(kafka: FakeCluster) -> None:
    with Proxy(kafka.bootstrap_servers) as proxy:
        ends = proxy.arm(Strike(END_TXN, False, lambda: None))
        assert proxy.due(PRODUCE) is None
        proxy.disarm()
        assert proxy.due(END_TXN) is None
        assert not ends.over.is_set()
        taken = proxy.arm(Strike(API_VERSIONS, False, lambda: None))
        assert proxy.due(API_VERSIONS) is taken
        assert proxy.due(API_VERSIONS) is None


# the command


def test_the_command_knows_its_clients_and_sets_the_version(kafka: FakeCluster) -> None:
    assert set(NAMES) <= {client.name for client in CLIENTS}
    with pytest.raises(typer.Exit):
        run(["sarama"])
    set_version(kafka.bootstrap_servers, 1)
    with pytest.raises(RuntimeError, match=r"transaction\.version=9 failed"):
        set_version(kafka.bootstrap_servers, 9)
