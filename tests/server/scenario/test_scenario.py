"""A scenario file makes the described cluster; each kind of mistake is one sentence, with its place."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from support.raw_login import login
from support.watchdog import LIMIT_S, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.core.journal.events import Parked
from fakebroker.server.scenario.checking import problem, schema
from fakebroker.server.scenario.scenario import Scenario, ScenarioError

WHOLE = """\
# Two of three brokers have stopped copying; they go on after ten seconds.
broker_ids: [1, 2, 3]
racks: {1: a, 2: b}
features: {transaction.version: 1}
config: {min.insync.replicas: 2}
clock: manual
seed: 7
topics:
  - name: kafkatest
    partitions: 2
    replication_factor: 3
    configs: {retention.ms: 60000}
    followers: frozen
  - {name: placed, assignments: [[3, 1], [1, 2]]}
scripts:
  - topic: kafkatest
    steps:
      - {at_ms: 0, followers: frozen}
      - {at_ms: 10_000, followers: resume}
quotas:
  - {client_id: loader, producer_byte_rate: 1_000_000}
"""

MISTAKES = [
    ("brokes: 3", (1, 1), "brokes", "there is no 'brokes' here; did you mean 'brokers'?"),
    ("seed: 1\nbrokers: x", (2, 1), "brokers", "'brokers' is a whole number, not \"x\""),
    ("topics: [{name: a, partitons: 3}]", (1, 20), "partitons", "did you mean 'partitions'?"),
    ("topics:\n  - partitions: 3", (2, 5), "topics", "'name' is missing here"),
    ("topics: [{name: a, replication_factor: 9}]", (1, 10), "topics", "Unable to replicate the partition 9 time(s)"),
    ("config:\n  min.insync.replica: 3", (2, 3), "min.insync.replica", "Near to it: min.insync.replicas."),
    ("followers: frosen", (1, 1), "followers", "or 'external', not 'frosen'"),
    ("topics:\n  - name: a\n    followers: slow", (3, 5), "followers", "or 'external', not 'slow'"),
    ("a: [\n", (2, 1), None, "this is not valid YAML: expected the node content, but found '<stream end>'"),
    ("users: {alice: 1234}", (1, 9), "alice", "'alice' is a text, not 1234"),
    ("users: {alice: ''}", (1, 1), "users", "the user 'alice' needs a password"),
    ("users: {a: b}\nlisteners: [SSL]", (1, 1), "users", "a listener with SASL is missing, which users needs"),
    ("acls: [{name: t, operation: read}]", (1, 8), "acls", "'resource_type' is missing here"),
    ("acls: [{resource_type: topic, nam: t, operation: read}]", (1, 31), "nam", "did you mean 'name'?"),
    (
        "acls:\n- {resource_type: topic, name: t, operation: all}\n- {resource_type: topic, name: t, operation: reed}",
        (3, 3),
        "acls",
        "acls[1]: there is no AclOperation 'reed'",
    ),
    ("acls: []\nconfig: {authorizer.class.name: ''}", (1, 1), "acls", "acls needs an authorizer"),
    ("faults: [{when: {principal: al}, do: drop}]", (1, 10), "faults", "'principal' must be TYPE:NAME"),
    ("faults: [{preset: gc_pauze}]", (1, 10), "faults", "there is no preset 'gc_pauze': 'gc_pause' may be meant"),
    (
        "faults: [{when: {api: Produce}, do: {kill: 9}}]",
        (1, 10),
        "faults",
        "'kill' can never act: there is no broker 9: the ids are 1 to 3",
    ),
    ("faults: [{preset: full_disk, broker: 9}]", (1, 10), "faults", "there is no broker 9: the ids are 1 to 3"),
    ("seed: 1\nseed: 2", (2, 1), None, "'seed' is here twice"),
    ("? [a]\n: 1", (1, 3), None, "a key must be a word, not ['a']"),
    ("seed: \x00", (None, None), None, "this is not valid YAML: special characters are not allowed"),
    ("seed: 2021-99-99", (None, None), None, "this YAML cannot be read: month must be in 1..12"),
    ("[" * 10_000, (None, None), None, "this YAML cannot be read: maximum recursion depth exceeded"),
    ("seed: 1\na: &a [*a]", (2, 4), None, "an alias within this value refers to the value itself"),
    ("a: &a\n  b: {c: *a}", (1, 4), None, "an alias within this value refers to the value itself"),
    ("clock: manuel", (1, 1), "clock", "'clock' is real or manual or auto, not \"manuel\"; did you mean 'manual'?"),
    ("[]", (None, None), None, "this is a mapping (name: value), not []"),
    ("racks: {z: 1}", (1, 9), "z", "'z' is not the id of a broker"),
    ("brokers: 2\nracks: {7: a}", (2, 1), "racks", "there is no broker 7: the ids are 1 to 2"),
    ("brokers: 2\nbroker_ids: [1]", (1, 1), "brokers", "brokers is 2, but broker_ids names 1 broker: leave out one"),
    ("brokers: 0", (1, 1), "brokers", "'brokers' is 1 or more, not 0"),
    ("brokers: 101", (1, 1), "brokers", "'brokers' is 100 at most, not 101"),
    ("broker_ids: []", (1, 1), "broker_ids", "'broker_ids' has no items, and needs 1 at least"),
    ("quotas: [{client_id: x}]", (1, 10), "quotas", "no quota is given: set one of producer_byte_rate"),
    ("quotas: [{client_id: x, producer_byte_rate: 0}]", (1, 25), "producer_byte_rate", "is more than 0, not 0"),
    ("scripts: [{topic: q, steps: [{at_ms: 1, followers: frozen}]}]", (1, 11), "scripts", "No follower has topic='q'"),
]


def error_of(path: Path) -> ScenarioError:
    async def start() -> None:
        async with AsyncFakeCluster.from_scenario(path):
            pass

    with pytest.raises(ScenarioError) as raised:
        asyncio.run(start())
    return raised.value


@pytest.mark.parametrize(("text", "place", "key", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_sentence_with_its_place(
    text: str, place: tuple[int | None, int | None], key: str | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    error = error_of(path)

    assert ((error.line, error.column), error.key) == (place, key)
    assert words in str(error)
    assert "\n" not in str(error)
    where = f"{path}" if place[0] is None else f"{path}, line {place[0]}, column {place[1]}"
    assert str(error).startswith(f"{where}: ")


def test_each_keyword_of_the_schema_has_a_sentence() -> None:
    values: list[Any] = [None, [], {}, "x", -1, 0, 1e9, True, {"z": None}]
    count = 0
    for key, said in schema()["properties"].items():
        for value in (
            values + [[value] for value in values] + [[{name: value}] for value in values for name in _items(said)]
        ):
            count += problem({key: value}) is not None  # which raises for a keyword without a sentence

    assert count > 100


def _items(said: dict[str, Any]) -> list[str]:
    return list(said.get("items", {}).get("properties", {}))


def test_the_arguments_are_those_of_a_cluster_and_nothing_else() -> None:
    known = AsyncFakeCluster.__init__.__annotations__
    in_the_cluster = {"topics", "scripts", "quotas", "faults"}

    assert set(schema()["properties"]) - in_the_cluster <= set(known)
    assert set(known) - set(schema()["properties"]) == {"return", "journal", "journal_file"}


def test_json_is_read_too() -> None:
    said = {"brokers": 2, "racks": {"1": "a"}, "topics": [{"name": "t"}]}

    assert Scenario.from_text(json.dumps(said)).arguments == {"brokers": 2, "racks": {1: "a"}}


def test_an_empty_file_is_a_cluster_like_any(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing\n")

    with FakeCluster.from_scenario(tmp_path / "empty.yaml") as kafka:
        assert len(kafka.endpoints) == 3


def test_the_cluster_is_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text(WHOLE)
    answers = []

    with FakeCluster.from_scenario(tmp_path / "whole.yaml", journal=1000) as kafka:
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "acks": "all", "linger.ms": 0, "client.id": "test"}
        )
        producer.produce("kafkatest", b"waits", partition=1, on_delivery=lambda error, _: answers.append(error))
        producer.poll(0)
        wait_until(lambda: any(isinstance(event, Parked) for event in kafka.journal), "a request that waits")
        kafka.clock.advance(9_999)
        assert producer.flush(0.05) == 1
        kafka.clock.advance(1)
        assert producer.flush(LIMIT_S) == 0
        controller = kafka._call(lambda: kafka._cluster.server.driver.cluster.controller)
        assert [p.replica_ids for p in controller.existing("placed").partitions] == [[3, 1], [1, 2]]

    assert answers == [None]


def test_users_and_acls_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "guarded.yaml"
    path.write_text(
        "brokers: 1\n"
        "users: {alice: secret}\n"
        "acls:\n"
        "  - {resource_type: topic, name: orders, operation: write, principal: 'User:alice'}\n"
        "faults:\n"
        "  - {when: {principal: 'User:alice', from_ms: 60000}, do: expire_sessions}\n"
    )
    with FakeCluster.from_scenario(path) as kafka:
        assert login(kafka, "alice", "secret", "SCRAM-SHA-256") == 0
        assert [acl.principal for acl in kafka.acls.list()] == ["User:alice"]
        assert str(kafka.faults.list()[0].fault) == (
            "expire_sessions before_work of principal=User:alice, from_ms=60000"
        )
    with FakeCluster.from_scenario(path, users={"bob": "word"}) as kafka:
        assert list(kafka.users.list()) == ["bob"]


def test_after_a_reset_it_is_so_again(tmp_path: Path) -> None:
    (tmp_path / "topic.yaml").write_text("topics: [{name: here}]\n")

    with FakeCluster.from_scenario(tmp_path / "topic.yaml") as kafka:
        kafka.delete_topic("here")
        kafka.create_topic("other")
        kafka.reset()
        kafka.delete_topic("here")
        with pytest.raises(KafkaError, match="This server does not host this topic-partition"):
            kafka.delete_topic("other")


def test_what_an_argument_says_counts_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("brokers: 2\nseed: 1\n")

    with FakeCluster.from_scenario(tmp_path / "two.yaml", brokers=1) as kafka:
        assert len(kafka.endpoints) == 1


def test_an_alias_may_be_used_twice() -> None:
    topics = "topics: [{name: a, configs: &c {retention.ms: 1}}, {name: b, configs: *c}]"
    assert Scenario.from_text(topics).arguments == {}


@pytest.mark.parametrize("cluster", [AsyncFakeCluster, FakeCluster])
def test_a_file_that_does_not_exist_is_called_a_scenario(cluster: Any) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        cluster.from_scenario("nope.yaml")
    assert str(raised.value) == "[Errno 2] the scenario file cannot be read: No such file or directory: 'nope.yaml'"


@pytest.mark.parametrize("cluster", [AsyncFakeCluster, FakeCluster])
def test_a_number_of_brokers_and_their_ids_replace_each_other(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "number.yaml").write_text("brokers: 2\n")
    (tmp_path / "ids.yaml").write_text("broker_ids: [4, 5, 6]\n")

    assert list(cluster.from_scenario(tmp_path / "number.yaml", broker_ids=[0, 7, 9]).brokers) == [0, 7, 9]
    assert list(cluster.from_scenario(tmp_path / "ids.yaml", brokers=2).brokers) == [1, 2]


def test_a_cluster_that_cannot_be_set_up_has_no_port_open_and_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("topics: [{name: a, replication_factor: 9}]\n")
    kafka = FakeCluster.from_scenario(tmp_path / "bad.yaml")

    for _ in range(2):
        with pytest.raises(ScenarioError, match="cannot be reached"):
            kafka.start()
    assert kafka._cluster.server.descriptors() == []


def test_what_arises_at_the_start_does_so_after_each_reset(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("faults: [{preset: slow_disk, broker: 1, ms: 40}, {do: drop}]")

    with FakeCluster.from_scenario(tmp_path / "slow.yaml") as kafka:
        for _ in range(2):
            assert [str(arisen.preset) for arisen in kafka.faults.arisen()] == ["slow_disk broker=1 ms=40"]
            assert len(kafka.faults) == 1
            kafka.reset()
