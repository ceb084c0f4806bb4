"""Topics, partitions, followers, settings and quotas over HTTP."""

from __future__ import annotations

import pytest
from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import produce


def test_a_topic_is_made_described_and_deleted(controlled: Controlled) -> None:
    new = {"name": "t", "partitions": 2, "replication_factor": 3, "configs": {"min.insync.replicas": 2}}

    made = controlled.ask("POST", "/v1/topics", new, status=201)

    assert made["configs"] == {"min.insync.replicas": "2"}
    assert controlled.get("/v1/topics/t") == made
    listed = controlled.get("/v1/topics")
    assert listed["topics"] == [{"name": "t", "topic_id": made["topic_id"], "partitions": 2, "replication_factor": 3}]
    controlled.ask("DELETE", "/v1/topics/t", status=204)
    assert controlled.get("/v1/topics")["topics"] == []


def test_an_assignment(controlled: Controlled) -> None:
    made = controlled.ask("POST", "/v1/topics", {"name": "t", "assignments": [[3, 1], [1, 2]]}, status=201)

    assert [partition["replicas"] for partition in made["partitions"]] == [[3, 1], [1, 2]]


def test_kafkas_errors_have_kafkas_names(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    exists = controlled.refused("POST", "/v1/topics", {"name": "t"}, status=409)
    assert exists == {"code": "TOPIC_ALREADY_EXISTS", "message": "Topic 't' already exists.", "kafka_code": 36}
    assert controlled.refused("DELETE", "/v1/topics/u", status=404)["code"] == "UNKNOWN_TOPIC_OR_PARTITION"
    bad = controlled.refused("POST", "/v1/topics", {"name": "u", "configs": {"cleanup.policy": "x"}}, status=400)
    assert (bad["code"], bad["kafka_code"]) == ("INVALID_CONFIG", 40)
    assert controlled.refused("POST", "/v1/topics", {"name": "u", "configs": {"a": None}})["member"].startswith(
        "configs"
    )


def test_pages_of_topics(controlled: Controlled) -> None:
    for name in "cab":
        controlled.kafka.create_topic(name)

    first = controlled.get("/v1/topics", limit=2)
    rest = controlled.get("/v1/topics", limit=2, after=first["next"])

    assert [topic["name"] for page in (first, rest) for topic in page["topics"]] == ["a", "b", "c"]
    assert rest["next"] is None


def test_the_leader_moves(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    moved = controlled.ask("PUT", "/v1/partitions/t/0/leader", {"broker": 2})

    assert (moved["leader"], moved["leader_epoch"]) == (2, 1)
    error = controlled.refused("PUT", "/v1/partitions/t/7/leader", {"broker": 2}, status=404)
    assert error["code"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_a_partition_is_reassigned(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t", assignments=[[1, 2]])

    assert controlled.ask("PUT", "/v1/partitions/t/0/replicas", {"brokers": [2, 3]})["removing"] == [1]
    controlled.ask("POST", "/v1/clock/advance", {"ms": 1_000})
    assert controlled.get("/v1/topics/t")["partitions"][0]["replicas"] == [2, 3]
    error = controlled.refused("PUT", "/v1/partitions/t/0/replicas", {"brokers": None}, status=409)
    assert error["code"] == "NO_REASSIGNMENT_IN_PROGRESS"


def test_followers(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    def behaviours() -> set[str]:
        return {follower["behaviour"] for follower in controlled.get("/v1/topics/t")["partitions"][0]["followers"]}

    for body, expected in (
        ({"behaviour": "frozen"}, {"frozen"}),
        ({"behaviour": "resume"}, {"instant"}),
        ({"behaviour": "lagging", "lag_ms": 5}, {"lagging:5"}),
        ({"behaviour": "throttled", "bytes_per_s": 7, "topic": "t"}, {"throttled:7"}),
        ({"behaviour": "external", "broker": 2}, {"external", "throttled:7"}),
        ({"script": [[0, "instant"], [10, "frozen"]]}, {"instant"}),
    ):
        controlled.ask("PUT", "/v1/followers", body, status=204)
        assert behaviours() == expected
    controlled.ask("POST", "/v1/clock/advance", {"ms": 10})
    assert behaviours() == {"frozen"}


def test_slips_about_followers_are_one_sentence(controlled: Controlled) -> None:
    for body, sentence in (
        ({}, "give exactly one of behaviour and script"),
        ({"behaviour": "lagging"}, '"behaviour": "lagging" needs lag_ms, and no other behaviour has it'),
        ({"behaviour": "frozen", "lag_ms": 3}, '"behaviour": "lagging" needs lag_ms, and no other behaviour has it'),
        ({"behaviour": "frosen"}, "behaviour is to be 'instant', "),
        (
            {"behavior": "frozen"},
            "there is no member 'behavior' (did you mean behaviour?); there are behaviour, lag_ms",
        ),
        ({"behaviour": "frozen", "partition": "0"}, 'partition is to be a valid integer, and not "0"'),
        ({"behaviour": "frozen", "partition": True}, "partition is to be a valid integer, and not true"),
        ({"script": [[0, "asleep"]]}, "followers are 'instant', 'lagging:MS'"),
    ):
        assert controlled.refused("PUT", "/v1/followers", body)["message"].startswith(sentence)


def test_settings(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    altered = controlled.ask("PUT", "/v1/topics/t/configs", {"configs": {"retention.ms": 5}})["configs"]
    assert altered == {"retention.ms": "5"}
    assert controlled.ask("PUT", "/v1/topics/t/configs", {"configs": {"retention.ms": None}})["configs"] == {}
    before = controlled.get("/v1/configs")["configs"]
    altered = controlled.ask("PUT", "/v1/configs", {"configs": {"message.max.bytes": 500}})["configs"]
    assert altered == before | {"message.max.bytes": "500"}
    assert controlled.ask("PUT", "/v1/configs", {"configs": {"message.max.bytes": None}})["configs"] == before
    error = controlled.refused("PUT", "/v1/configs", {"configs": {"node.id": 5}}, status=400)
    assert error["code"] == "INVALID_REQUEST"


def test_quotas(controlled: Controlled) -> None:
    set_ = controlled.ask("PUT", "/v1/quotas", {"client_id": "<default>", "producer_byte_rate": 1000})

    assert set_["quotas"] == [{"entity": {"client-id": "<default>"}, "quotas": {"producer_byte_rate": 1000.0}}]
    assert controlled.get("/v1/quotas") == set_
    assert controlled.ask("DELETE", "/v1/quotas", {"client_id": "<default>"})["quotas"] == []
    error = controlled.refused("PUT", "/v1/quotas", {"client_id": "x"})
    assert error["message"].startswith("no quota is given: set one of producer_byte_rate, ")


def test_compaction(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t", configs={"cleanup.policy": "compact"})

    assert controlled.ask("POST", "/v1/topics/t/compact") == {"partitions": 0}  # nothing to clean
    error = controlled.refused("POST", "/v1/topics/u/compact", status=404)
    assert error["code"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_metrics(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.ask(produce("t"))
        text = controlled.http.get("/metrics").text

    def value(name: str) -> float:
        return float(next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[-1])

    assert value('kafka_network_requestmetrics_requests_total{broker="1",request="Produce",version="9"}') == 1
    sums = {}
    for part in ("requestqueue", "local", "remote", "throttle", "responsequeue", "responsesend", "total"):
        assert value(f'kafka_network_requestmetrics_{part}timems_count{{broker="1",request="Produce"}}') == 1
        sums[part] = value(f'kafka_network_requestmetrics_{part}timems_sum{{broker="1",request="Produce"}}')
    assert sums["responsequeue"] > 0
    assert sums["responsesend"] > 0
    assert sums.pop("total") == pytest.approx(sum(sums.values()))
    assert value('kafka_server_brokertopicmetrics_messagesin_total{broker="1",topic="t"}') == 1
    assert value('kafka_server_replicamanager_underreplicatedpartitions{broker="1"}') == 0
    assert value('kafka_server_socket_server_metrics_connection_count{broker="1"}') == 1
    assert value("kafka_controller_kafkacontroller_globalpartitioncount") == 1


def test_metrics_of_what_waits_and_of_the_isr(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t", configs={"min.insync.replicas": 2})
    controlled.ask("PUT", "/v1/followers", {"behaviour": "frozen"}, status=204)
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.send(produce("t", timeout_ms=100))
        controlled.ask("POST", "/v1/purgatory/wait", {})
        parked = controlled.http.get("/metrics").text
        controlled.ask("POST", "/v1/clock/advance", {"ms": 60_000})
        client.receive()
        text = controlled.http.get("/metrics").text

    size = 'kafka_server_delayedoperationpurgatory_numdelayedoperations{broker="1",delayedOperation="Produce"}'
    assert f"{size} 1.0" in parked
    assert f"{size} 0.0" in text
    assert 'kafka_server_delayedproducemetrics_expires_total{broker="1",partition="0",topic="t"} 1.0' in text
    assert 'kafka_server_replicamanager_isrshrinks_total{broker="1"} 1.0' in text
    assert 'kafka_server_replicamanager_underminisrpartitioncount{broker="1"} 1.0' in text
    assert 'kafka_network_requestmetrics_remotetimems_sum{broker="1",request="Produce"} 100.0' in text
