"""Faults and barriers over HTTP."""

from __future__ import annotations

import threading
from typing import Any

from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.watchdog import wait_until


def test_an_error_once(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")

    made = controlled.ask(
        "POST", "/v1/faults", {"when": {"api": "Produce", "topic": "t"}, "do": "NOT_ENOUGH_REPLICAS"}, 201
    )

    assert (made["id"], made["hits"], made["installed"]) == ("f1", 0, True)
    with RawClient(controlled.kafka.endpoints[0]) as client:
        assert Produced(client.ask(produce("t"))).partitions == {0: (19, -1)}
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}
    now = controlled.get("/v1/faults/f1")
    assert (now["hits"], now["installed"], now["do"]) == (1, False, "NOT_ENOUGH_REPLICAS")
    assert controlled.get("/v1/faults")["faults"] == [now]
    fired = controlled.get("/v1/journal", fault="f1", event="fault_fired")["events"]
    assert [event["done"] for event in fired] == ["error NOT_ENOUGH_REPLICAS"]


def test_a_barrier(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    barrier = controlled.ask(
        "POST", "/v1/faults", {"when": {"api": "Produce"}, "do": "hold", "times": "every_time"}, 201
    )
    path = f"/v1/faults/{barrier['id']}"
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(controlled.ask("POST", f"{path}/wait", {"held": 2})))
    waiting.start()
    main = controlled.clusters.main
    wait_until(lambda: main.waiting.count == 1, "the wait")
    with RawClient(controlled.kafka.endpoints[0]) as one, RawClient(controlled.kafka.endpoints[0]) as other:
        one.send(produce("t"))
        other.send(produce("t"))
        waiting.join()
        assert (answers[0]["matched"], answers[0]["held"]) == (True, 2)

        assert controlled.ask("POST", f"{path}/release", {"count": 1})["released"] == 1
        assert Produced(one.receive()).partitions == {0: (0, 0)}
        controlled.ask("DELETE", path, status=204)
        assert Produced(other.receive()).partitions == {0: (0, 1)}
    assert controlled.get("/v1/faults")["faults"] == []


def test_append_then_lose_the_acknowledgement(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    controlled.ask("POST", "/v1/faults", {"when": {"api": "Produce", "at": "after_append"}, "do": "disconnect"}, 201)
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.send(produce("t"))
        assert client.is_closed_by_broker()

    assert controlled.get("/v1/topics/t")["partitions"][0]["log_end_offset"] == 1


def test_a_wait_that_ends_with_its_limit(controlled: Controlled) -> None:
    controlled.ask("POST", "/v1/faults", {"when": {"api": "Produce"}, "do": "drop"}, 201)

    assert not controlled.ask("POST", "/v1/faults/f1/wait", {"hits": 1, "timeout_wall_ms": 5})["matched"]


def test_all_are_removed(controlled: Controlled) -> None:
    for _ in range(3):
        controlled.ask("POST", "/v1/faults", {"when": {"api": "Produce"}, "do": "drop"}, 201)

    assert controlled.ask("DELETE", "/v1/faults") == {"removed": 3}
    assert controlled.get("/v1/faults")["faults"] == []


def test_what_can_never_act_is_refused_with_the_reason(controlled: Controlled) -> None:
    for fault, words in (
        ({}, "a fault needs its 'do'"),
        ({"when": {"api": "Produce"}, "do": "explode"}, "explode"),
        ({"when": {"api": "ApiVersions", "topic": "t"}, "do": "drop"}, "topic"),
        ({"when": {"apy": "Produce"}, "do": "drop"}, "apy"),
        (
            {"when": {"api": "Produce", "at": "before_work"}, "do": "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
            "the work was done",
        ),
        ({"when": {"api": "Produce"}, "do": {"kill": 9}}, "'kill' can never act: there is no broker 9"),
        ({"when": {"broker": 9}, "do": "disconnect"}, "the fault can never match: there is no broker 9: the ids are 1"),
        ({"when": {"topic": "caf\u00e9"}, "do": "disconnect"}, "'topic' must be a topic name that Kafka accepts"),
        ({"when": {"partition": 10**12}, "do": "disconnect"}, "'partition' must be 0 to 2147483647"),
    ):
        error = controlled.refused("POST", "/v1/faults", fault)
        assert error["code"] == "INVALID_ARGUMENT"
        assert words in error["message"]
    assert controlled.refused("GET", "/v1/faults/f9", status=404)["message"] == "there is no fault 'f9': there are none"
    assert controlled.refused("POST", "/v1/faults", [])["code"] == "INVALID_BODY"


def test_a_fault_arises_is_waited_for_and_removed(controlled: Controlled) -> None:
    made = controlled.ask("POST", "/v1/faults", {"preset": "gc_pause", "broker": 1, "ms": 60_000}, 201)
    assert made == {
        "id": "a1", "preset": "gc_pause", "broker": 1, "ms": 60_000,
        "hits": 1, "matches": 0, "held": 0, "installed": True, "done": False,
    }  # fmt: skip
    assert controlled.kafka.brokers[1].state == "paused"
    assert controlled.get("/v1/faults")["faults"] == [made]
    assert not controlled.ask("POST", "/v1/faults/a1/wait", {"timeout_wall_ms": 5})["matched"]
    assert "holds no requests" in controlled.refused("POST", "/v1/faults/a1/release", {}, status=409)["message"]
    controlled.ask("DELETE", "/v1/faults/a1", status=204)
    assert controlled.kafka.brokers[1].state == "running"
    assert controlled.get("/v1/faults")["faults"] == []
    assert controlled.get("/v1/faults/a1")["installed"] is False

    controlled.ask("POST", "/v1/faults", {"preset": "gc_pause", "broker": 1, "ms": 20}, 201)
    controlled.ask("POST", "/v1/clock/advance", {"ms": 20})
    assert controlled.ask("POST", "/v1/faults/a2/wait", {"hits": 1, "timeout_wall_ms": 20_000})["matched"]
    controlled.ask("POST", "/v1/faults", {"preset": "slow_disk", "broker": 1, "ms": 20}, 201)
    assert controlled.ask("DELETE", "/v1/faults") == {"removed": 1}


def test_a_preset_that_cannot_be_is_refused_with_the_reason(controlled: Controlled) -> None:
    for preset, words in (
        ({"preset": "gc_pauze"}, "'gc_pause' may be meant"),
        ({"preset": "gc_pause", "broker": 1}, "needs 'ms'"),
        ({"preset": "gc_pause", "broker": 99, "ms": 5}, "there is no broker 99"),
        ({"preset": "gc_pause", "broker": 1, "ms": 5, "when": {}}, "'when'"),
    ):
        error = controlled.refused("POST", "/v1/faults", preset)
        assert (error["code"], words in error["message"]) == ("INVALID_ARGUMENT", True)
    assert controlled.get("/v1/faults")["faults"] == []
