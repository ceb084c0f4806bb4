"""A scenario does the same to the brokers of Apache Kafka as to those of fakebroker, where Kafka can do it."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from support.messages import decode_request
from support.watchdog import wait_until

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.headers import decode_request_header
from fakebroker_load.control import ControlCallError, ask_control, resume_followers
from fakebroker_load.scenario.actions import ScenarioActor
from fakebroker_load.scenario.reading import bundled, load_scenario
from fakebroker_load.scenario.setup import prepared

from .kafka_control import FROZEN, is_possible, kafka_control

DONE = SimpleNamespace(error_code=ErrorCode.none, error_message=None)


class Target:
    """Records what is done to it. A method without a result of its own returns None."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.admin = SimpleNamespace(ask=self._create, request=self._alter, await_leader=lambda *_: None)

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.done.append((name, *given))

    def catch_up(self, broker: int) -> None: ...

    def pause(self, ms: int) -> None: ...

    def _create(self, api_key: int, version: int, frame: bytes) -> Any:
        self.done.append(("create", frame))
        return SimpleNamespace(topics=[DONE])

    def _alter(self, api_key: int, version: int, values: Any) -> Any:
        [entry] = values["entries"]
        self.done.append(
            ("alter", entry["entity"][0]["entity_name"], [(op["key"], op["remove"]) for op in entry["ops"]])
        )
        return SimpleNamespace(entries=[DONE])


def assignments(frame: bytes) -> tuple[str, list[list[int]]]:
    """Return the name and the replicas of the topic that a CreateTopics creates."""
    body = frame[4:]
    [topic] = decode_request(19, 7, body, decode_request_header(body, flexible=True).body_offset).topics
    return str(topic.name), [list(map(int, place.broker_ids)) for place in topic.assignments]


@pytest.fixture
def target() -> Target:
    return Target()


def played(target: Target, name: str, *, acts: bool = False) -> None:
    """Set a scenario up, do its actions, all of which are due, and take everything back."""
    scenario = load_scenario(name)
    with kafka_control(target, scenario) as url:  # type: ignore[arg-type]  # a stand-in for Kafka
        ask = partial(ask_control, url, None)
        with prepared(ask, scenario, "id") as own:
            if acts:
                actor = ScenarioActor(ask, own)
                with actor.acting(lambda _: time.monotonic_ns() - 3_600_000_000_000):
                    wait_until(lambda: len(actor.done) == len(own.actions) or actor.error is not None, "the actions")
            resume_followers(url, own.replicated)


def test_a_frozen_topic_alone_has_the_replica_that_is_stopped(target: Target) -> None:
    played(target, "frozen")
    created = dict(assignments(frame) for name, frame in target.done[:2] if name == "create")
    assert created["orders-id"] == [[1, 4], [2, 4], [3, 4], [1, 4], [2, 4], [3, 4]]
    assert created["payments-id"][:3] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert all(FROZEN not in replicas for replicas in created["payments-id"])
    assert [done for done in target.done if done[0] in ("freeze", "thaw")] == [("freeze", 4), ("thaw", 4)]
    assert sorted(done for done in target.done if done[0] == "delete_topic") == [
        ("delete_topic", "orders-id"),
        ("delete_topic", "payments-id"),
    ]


def test_one_frozen_follower_leaves_the_other_in_place(target: Target) -> None:
    played(target, "one-frozen-follower")
    created = dict(assignments(frame) for name, frame in target.done[:2] if name == "create")
    assert created == {"orders-id": [[1, 2, 4], [2, 1, 4]], "payments-id": [[1, 2, 3], [2, 1, 3]]}


def test_brokers_are_killed_and_are_running_at_the_end(target: Target) -> None:
    played(target, "isr-shrink", acts=True)
    assert [done for done in target.done if "broker" in done[0]] == [("kill_broker", 3), ("start_broker", 3)]
    assert assignments(target.done[0][1]) == ("orders-id", [[1, 2, 3], [2, 1, 3]])


def test_a_quota_is_set_and_removed(target: Target) -> None:
    played(target, "quota-storm", acts=True)
    assert [done for done in target.done if done[0] in ("set_quota", "alter")] == [
        ("set_quota", "storm", {"producer_byte_rate": 200_000}),
        ("alter", "storm", [("producer_byte_rate", True)]),
    ]


def test_a_call_that_kafka_does_not_have_is_refused(target: Target) -> None:
    with kafka_control(target, load_scenario("healthy")) as url, pytest.raises(ControlCallError, match="KeyError"):  # type: ignore[arg-type]
        ask_control(url, None, "POST", "/v1/faults", {})


def test_scenarios_that_need_what_kafka_cannot_do_are_left_out() -> None:
    left_out = {name for name in bundled() if not is_possible(load_scenario(name))}
    with_faults = {"expired-batches", "idempotent-retries", "lost-acks"}
    assert left_out == with_faults | {"lagging-followers", "leader-move", "min-insync", "min-insync-altered"}
