"""The cluster, its brokers and its clock over HTTP."""

from __future__ import annotations

import threading

import pytest
from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import Produced, produce, request
from support.watchdog import wait_until

MS = 30_000


def test_the_cluster(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t", partitions=2)

    cluster = controlled.get("/v1/cluster")

    assert cluster["bootstrap_servers"] == controlled.kafka.bootstrap_servers
    assert [broker["id"] for broker in cluster["brokers"]] == [1, 2, 3]
    assert (cluster["topics"], cluster["partitions"], cluster["under_replicated"]) == (1, 2, 0)
    assert cluster["clock"]["kind"] == "manual"


def test_a_broker_is_stopped_and_started(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    stopped = controlled.ask("POST", "/v1/brokers/1/stop")

    assert (stopped["is_running"], stopped["state"]) == (False, "stopped")
    assert not controlled.kafka.brokers[1].is_running
    assert controlled.get("/v1/topics/t")["partitions"][0]["isr"] == [2, 3]
    assert controlled.get("/v1/cluster")["under_replicated"] == 1
    assert controlled.ask("POST", "/v1/brokers/1/stop")["state"] == "stopped"
    assert controlled.ask("POST", "/v1/brokers/1/start")["is_running"]


def test_a_broker_is_killed_and_started_when_its_session_has_ended(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    assert controlled.ask("POST", "/v1/brokers/1/kill")["state"] == "killed"

    assert controlled.get("/v1/topics/t")["partitions"][0]["leader"] == 1  # the session of the broker has not ended
    assert controlled.ask("POST", "/v1/brokers/1/start")["state"] == "starting"
    controlled.ask("POST", "/v1/clock/advance", {"ms": 20_000})
    assert controlled.get("/v1/brokers")["brokers"][0]["state"] == "running"
    assert controlled.get("/v1/topics/t")["partitions"][0]["leader"] == 2


@pytest.mark.parametrize("action", ["stop", "kill"])
def test_what_is_parked_at_a_broker_that_goes_waits_no_more(controlled: Controlled, action: str) -> None:
    controlled.kafka.create_topic("t")
    controlled.ask("PUT", "/v1/followers", {"behaviour": "frozen"}, status=204)
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.send(produce("t", timeout_ms=MS))
        assert controlled.ask("POST", "/v1/purgatory/wait", {})["count"] == 1

        controlled.ask("POST", f"/v1/brokers/1/{action}")

        assert controlled.get("/v1/purgatory")["count"] == 0


def test_a_broker_is_paused_and_goes_on(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    assert controlled.ask("POST", "/v1/brokers/1/pause")["state"] == "paused"
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.send(produce("t"))
        assert controlled.ask("POST", "/v1/brokers/1/resume")["state"] == "running"
        assert Produced(client.receive()).partitions == {0: (0, 0)}
    controlled.ask("POST", "/v1/brokers/2/kill")
    assert controlled.refused("POST", "/v1/brokers/2/resume", status=409)["code"] == "CONFLICT"


def test_a_broker_that_is_not_there(controlled: Controlled) -> None:
    error = controlled.refused("POST", "/v1/brokers/9/stop", status=404)

    assert error == {"code": "NOT_FOUND", "message": "there is no broker 9: the ids are 1 to 3"}


def test_something_that_cannot_be_done_to_a_broker(controlled: Controlled) -> None:
    error = controlled.refused("POST", "/v1/brokers/1/explode")

    assert error["code"] == "INVALID_BODY"
    assert error["member"] == "action"
    assert "'stop'" in error["message"]


def test_acks_all_on_frozen_followers_times_out_when_the_clock_is_advanced(controlled: Controlled) -> None:
    kafka = controlled.kafka
    controlled.ask("POST", "/v1/topics", {"name": "t", "replication_factor": 3}, status=201)
    controlled.ask("PUT", "/v1/followers", {"behaviour": "frozen", "topic": "t"}, status=204)
    answers: list[bytes] = []

    with RawClient(kafka.endpoints[0]) as client:
        asking = threading.Thread(target=lambda: answers.append(client.ask(produce("t", timeout_ms=MS))))
        asking.start()
        waited = controlled.ask("POST", "/v1/purgatory/wait", {"api": "Produce", "topic": "t"})
        assert waited["matches"]
        assert [waiting["partitions"] for waiting in waited["waiting"]] == [[["t", 0]]]
        assert controlled.get("/v1/clock")["is_pending"]

        advanced = controlled.ask("POST", "/v1/clock/advance", {"to": "next_deadline"})

        asking.join()
    assert advanced["advanced_ms"] == MS
    assert Produced(answers[0]).partitions == {0: (7, 0)}
    assert controlled.get("/v1/purgatory")["count"] == 0


def test_a_clock_is_set_and_does_not_go_back(controlled: Controlled) -> None:
    assert controlled.ask("PUT", "/v1/clock", {"elapsed_ms": 500})["elapsed_ms"] == 500
    wall_ms = controlled.get("/v1/clock")["wall_ms"]
    assert controlled.ask("PUT", "/v1/clock", {"wall_ms": wall_ms + 7})["elapsed_ms"] == 507

    error = controlled.refused("PUT", "/v1/clock", {"elapsed_ms": 1})

    assert error["message"] == "a clock does not go back: the time is 506 ms in the past"
    assert controlled.ask("POST", "/v1/clock/advance", {"ms": 3})["elapsed_ms"] == 510
    assert controlled.ask("POST", "/v1/clock/advance", {"to": "next_deadline"})["advanced_ms"] is None
    both = controlled.refused("POST", "/v1/clock/advance", {"to": "next_deadline", "ms": 3})
    assert both["message"] == 'give exactly one of ms and to, as in {"ms": 30000}'


def test_the_real_clock_cannot_be_moved() -> None:
    with Controlled() as controlled:
        error = controlled.refused("POST", "/v1/clock/advance", {"ms": 3}, status=409)

    assert error["code"] == "CONFLICT"
    assert "the clock is real and cannot be moved" in error["message"]


def test_reset(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    controlled.ask("POST", "/v1/clock/advance", {"ms": 3})

    assert controlled.ask("POST", "/v1/reset")["topics"] == 0

    assert controlled.get("/v1/clock")["elapsed_ms"] == 0
    assert controlled.get("/v1/journal")["events"] == []
    controlled.kafka.create_topic("u")
    assert [event["event"] for event in controlled.get("/v1/journal")["events"]] == ["topic_created", "leader_changed"]


def test_nothing_listens_to_the_cluster_before_the_first_request() -> None:
    with Controlled(is_loaded=False, journal=0) as controlled:
        cluster = controlled.kafka._cluster.server.driver.cluster
        controlled.kafka.create_topic("before")
        assert cluster.probe.listeners == []

        assert controlled.get("/v1/journal")["events"] == []  # the first one: it is imported now

        assert len(cluster.probe.listeners) == 2
        controlled.kafka.create_topic("after")
        assert {event.get("topic") for event in controlled.get("/v1/journal")["events"]} == {"after"}


def test_concurrent_requests_before_the_import_all_get_a_response() -> None:
    with Controlled(is_loaded=False) as controlled:
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda: counts.append(len(controlled.get("/v1/cluster")["brokers"])))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert counts == [3] * 8


def test_a_wait_for_what_cannot_be_is_refused_at_once(controlled: Controlled) -> None:
    for path, body, sentence in (
        ("purgatory", {"api": "Prodce"}, "there is no purgatory of 'Prodce': did you mean 'Produce'?"),
        (
            "purgatory",
            {"api": "Metadata"},
            "there is no purgatory of 'Metadata': there are Produce, Fetch, DeleteRecords",
        ),
        ("purgatory", {"broker": 9}, "there is no broker 9: the ids are 1 to 3"),
        (
            "groups",
            {"group_id": "g", "state": "Stabel"},
            "there is no group state 'Stabel': did you mean 'Stable'?",
        ),
        (
            "groups",
            {"group_id": "g", "state": "Gone"},
            "there is no group state 'Gone': there are Empty, PreparingRebalance, CompletingRebalance, Stable, "
            "Dead, Assigning, Reconciling",
        ),
    ):
        error = controlled.refused("POST", f"/v1/{path}/wait", {**body, "timeout_wall_ms": 0})
        assert (error["code"], error["message"]) == ("INVALID_ARGUMENT", sentence)
    for api in (None, "produce", "Fetch", "DeleteRecords"):
        answer = controlled.ask("POST", "/v1/purgatory/wait", {"api": api, "broker": 1, "timeout_wall_ms": 0})
        assert not answer["matches"]
    for state in (None, "stable", "Assigning", "PreparingRebalance"):
        wait = {"group_id": "g", "state": state, "timeout_wall_ms": 0}
        assert controlled.ask("POST", "/v1/groups/wait", wait)["reason"] == "there is no group 'g'"


def test_a_wait_ends_with_its_limit_of_the_machines_clock(controlled: Controlled) -> None:
    waited = controlled.ask("POST", "/v1/purgatory/wait", {"count": 1, "timeout_wall_ms": 20})

    assert not waited["matches"]
    assert waited["count"] == 0


def test_a_wait_ends_with_its_limit_of_the_brokers_clock(controlled: Controlled) -> None:
    answers: list[bool] = []
    body = {"count": 1, "timeout_ms": 1_000}
    waiting = threading.Thread(
        target=lambda: answers.append(controlled.ask("POST", "/v1/purgatory/wait", body)["matches"])
    )
    waiting.start()
    main = controlled.clusters.main
    wait_until(lambda: main.waiting.count == 1, "the wait")

    controlled.ask("POST", "/v1/clock/advance", {"ms": 999})
    assert waiting.is_alive()
    controlled.ask("POST", "/v1/clock/advance", {"ms": 1})

    waiting.join()
    assert answers == [False]


def test_a_listener_that_is_added_to_a_broker_is_not_advertised(controlled: Controlled) -> None:
    before = controlled.get("/v1/cluster")
    endpoint = controlled.kafka.brokers[1].endpoint
    listeners = f"PLAINTEXT://{endpoint.host}:{endpoint.port},EXTRA://127.0.0.1:0"
    values = {"listeners": listeners, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT"}
    configs = [{"name": name, "config_operation": 0, "value": value} for name, value in values.items()]
    resource = {"resource_type": 4, "resource_name": "1", "configs": configs}
    with RawClient(endpoint) as client:
        client.ask(request(44, 1, {"resources": [resource], "validate_only": False}))
    after = controlled.get("/v1/cluster")
    assert "EXTRA" in controlled.kafka._cluster.server.driver.cluster.registry[1].added_listeners
    assert [after[key] for key in ("bootstrap_servers", "listeners")] == [
        before[key] for key in ("bootstrap_servers", "listeners")
    ]
