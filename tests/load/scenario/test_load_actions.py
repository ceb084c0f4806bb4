"""Actions of a scenario: valid ones, their requests to the control, and their times."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from support.serving import Serving
from support.watchdog import LIMIT_S, wait_until

from fakebroker_load.control import ControlCallError, ask_control
from fakebroker_load.progress import ProgressListener, ProgressSender
from fakebroker_load.scenario.actions import VERBS, Ask, ControlCall, ScenarioActor, calls_of, check_action, renamed
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import parse_text
from fakebroker_load.scenario.schema import json_schema
from fakebroker_load.scenario.setup import prepared

TOPICS = {"orders": 2}
ACTIONS: list[dict[str, Any]] = [
    {"at_ms": 0, "stop": 3},
    {"at_ms": 0, "followers": {"topic": "orders", "behaviour": "frozen"}},
    {"at_ms": 0, "leader": {"topic": "orders", "partition": 1, "broker": 2}},
    {"at_ms": 0, "configs": {"orders": {"min.insync.replicas": 2}}},
    {"at_ms": 0, "quota": {"client_id": "a b", "producer_byte_rate": 1000}},
    {"at_ms": 0, "fault": {"when": {"topic": "orders"}, "do": "drop"}},
]
CALLS = [
    ControlCall("POST", "/v1/brokers/3/stop"),
    ControlCall("PUT", "/v1/followers", {"topic": "orders", "behaviour": "frozen"}),
    ControlCall("PUT", "/v1/partitions/orders/1/leader", {"broker": 2}),
    ControlCall("PUT", "/v1/topics/orders/configs", {"configs": {"min.insync.replicas": 2}}),
    ControlCall("PUT", "/v1/quotas", {"client_id": "a b", "producer_byte_rate": 1000}),
    ControlCall("POST", "/v1/faults", {"when": {"topic": "orders"}, "do": "drop"}),
]
SCENARIO = LoadScenario("s", (RequestGroup("g", "orders", 1, "NONE", partitions=2),), actions=tuple(ACTIONS))


class Control:
    """A control that records its requests and the state of brokers. It obeys at the path
    `refuses`, too, and then fails: its response was late."""

    def __init__(self, refuses: str = "", **states: str) -> None:
        self.asked: list[ControlCall] = []
        self.done = threading.Event()
        self._refuses = refuses
        self._states = dict.fromkeys((1, 2, 3), "running") | {int(name[1:]): state for name, state in states.items()}

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        if method == "GET":
            brokers = [{"id": broker, "state": state} for broker, state in self._states.items()]
            return {"brokers": brokers, "quotas": []}
        self.asked.append(ControlCall(method, path, body))
        if path.startswith("/v1/brokers/"):
            *_, broker, verb = path.split("/")
            became = {"stop": "stopped", "kill": "killed", "pause": "paused"}
            self._states[int(broker)] = became.get(verb, "running")
        if path == self._refuses:
            self.done.set()
            raise ControlCallError("--control http://x: it fails.")
        if path == "/v1/faults":
            self.done.set()  # the last one of ACTIONS
            return {"id": 7}
        return None


def now(timeout_s: float) -> int:
    return time.monotonic_ns()


@pytest.mark.parametrize(("action", "call"), list(zip(ACTIONS, CALLS, strict=True)), ids=[list(a)[1] for a in ACTIONS])
def test_what_the_control_is_asked_for(action: dict[str, Any], call: ControlCall) -> None:
    check_action(action, TOPICS)
    assert calls_of(action) == [call]


@pytest.mark.parametrize("action", ACTIONS, ids=[list(action)[1] for action in ACTIONS])
def test_topics_have_the_names_of_the_run(action: dict[str, Any]) -> None:
    assert str(action).replace("orders", "orders-1") == str(renamed(action, {"orders": "orders-1"}))


def test_all_are_done_in_their_order_and_taken_back_in_the_end() -> None:
    control = Control()
    actor = ScenarioActor(control, SCENARIO)
    with actor.acting(now):
        assert control.done.wait(LIMIT_S)
    assert control.asked == [*CALLS, ControlCall("DELETE", "/v1/faults/7"), ControlCall("POST", "/v1/brokers/3/start")]
    assert [action.what for action in actor.done][:2] == ["stop broker 3", "followers topic: orders, behaviour: frozen"]
    assert all(action.at_ms <= action.begun_ms <= action.ended_ms for action in actor.done)


@pytest.mark.parametrize(
    ("verbs", "back"),
    [
        (["stop", "start"], []),
        (["kill"], ["start"]),
        (["pause"], ["resume"]),
        (["pause", "resume"], []),
        (["pause", "kill"], ["start"]),
    ],
)
def test_a_broker_is_left_as_it_was(verbs: list[str], back: list[str]) -> None:
    control = Control()
    actions = [{"at_ms": 0, verb: 2} for verb in verbs]
    with ScenarioActor(control, LoadScenario("s", SCENARIO.groups, actions=(*actions, ACTIONS[-1]))).acting(now):
        assert control.done.wait(LIMIT_S)
    calls = [call.path.rpartition("/")[2] for call in control.asked if "/brokers/" in call.path]
    assert calls == verbs + back


def test_a_broker_that_did_not_run_before_is_not_started() -> None:
    control = Control(b2="stopped")
    with ScenarioActor(
        control, LoadScenario("s", SCENARIO.groups, actions=({"at_ms": 0, "kill": 2}, ACTIONS[-1]))
    ).acting(now):
        assert control.done.wait(LIMIT_S)
    assert [call.path for call in control.asked] == ["/v1/brokers/2/kill", "/v1/faults", "/v1/faults/7"]


def test_what_was_obeyed_and_not_answered_is_taken_back_too() -> None:
    control = Control("/v1/brokers/2/pause")
    actor = ScenarioActor(control, LoadScenario("s", SCENARIO.groups, actions=({"at_ms": 0, "pause": 2},)))
    with pytest.raises(ControlCallError, match="it fails"), actor.acting(now):
        assert control.done.wait(LIMIT_S)
    assert control.asked[-1] == ControlCall("POST", "/v1/brokers/2/resume")


def test_each_is_done_at_its_time_and_not_before() -> None:
    control = Control()
    actor = ScenarioActor(control, LoadScenario("s", SCENARIO.groups, actions=({"at_ms": 30, "stop": 3}, ACTIONS[-1])))
    with actor.acting(now):
        assert control.done.wait(LIMIT_S)
        assert [call.path for call in control.asked][:1] == ["/v1/faults"]  # the earlier one, though it stands behind
        wait_until(lambda: len(actor.done) >= 2, "the later one")
    assert [action.at_ms for action in actor.done] == [0, 30]
    assert actor.done[1].begun_ms >= 30


def test_a_load_that_ends_sooner_does_not_wait_for_actions_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    control = Control()
    late = LoadScenario("s", SCENARIO.groups, actions=({"at_ms": 600_000, "stop": 3},))
    for start_ns in (now, lambda timeout_s: None):  # it began, or never did
        with ScenarioActor(control, late).acting(start_ns):
            pass
        output = capsys.readouterr().err
        assert output == "fakebroker-load: not done, since the load had ended by 600,000 ms: stop broker 3\n"
    assert control.asked == []


def test_a_control_that_refuses_ends_the_run_with_a_sentence() -> None:
    control = Control("/v1/followers")
    raises = pytest.raises(ControlCallError, match=r"it fails. It was to be done at 0 ms: followers topic: orders")
    with raises, ScenarioActor(control, SCENARIO).acting(now):
        assert control.done.wait(LIMIT_S)
    assert control.asked == [*CALLS[:2], ControlCall("POST", "/v1/brokers/3/start")]


def test_the_tasks_tell_when_they_start() -> None:
    with ProgressListener(lambda sent, done: None) as listener:
        assert listener.start_ns(0) is None
        sender = ProgressSender(listener.address, 0)
        sender.starts(12_345)
        assert listener.start_ns(LIMIT_S) == 12_345
        sender.close()


def test_topics_are_made_with_their_assignments() -> None:
    control = Control()
    scenario = LoadScenario("s", SCENARIO.groups, assignments={"orders": [[1, 2], [2, 3]]}, actions=tuple(ACTIONS))
    with prepared(control, scenario, "id") as own:
        assert own.actions[2] == {"at_ms": 0, "leader": {"topic": "orders-id", "partition": 1, "broker": 2}}
        assert own.assignments == {"orders-id": [[1, 2], [2, 3]]}
    new = {"name": "orders-id", "assignments": [[1, 2], [2, 3]], "configs": {}}
    assert control.asked[0] == ControlCall("POST", "/v1/topics", new)


GROUPS = "name: s\ngroups:\n  - {name: g, topic: orders, acks: 1, expect: NONE, partitions: 2}\n"
REFUSED = {
    "actions: 3": "f:4: actions is a list of mappings, as in {at_ms: 2000, stop: 3}.",
    "actions: [{at_ms: 0}]": f"f:4: An action has a time, at_ms, and one of {', '.join(VERBS)}.",
    "actions: [{at_ms: 0, stop: 1, kill: 2}]": f"f:4: An action has a time, at_ms, and one of {', '.join(VERBS)}.",
    "actions:\n  - {stop: 1}": "f:5: An action needs at_ms, milliseconds after the start, and not None.",
    "actions:\n  - {at_ms: -1, stop: 1}": "f:5: An action needs at_ms, milliseconds after the start, and not -1.",
    "actions:\n  - {at_ms: 0, stop: a}": "f:5: The action stop needs a broker's id, and not 'a'.",
    "actions:\n  - {at_ms: 0, followers: frozen}": "f:5: The action followers needs a mapping, and not 'frozen'.",
    "actions:\n  - {at_ms: 0, followers: {behaviour: frozen}}": "f:5: The action followers needs a topic.",
    "actions:\n  - {at_ms: 0, leader: {topic: t, partition: 0, broker: 1}}": (
        "f:5: The action leader names the topic 't', to which no group sends."
    ),
    "actions:\n  - {at_ms: 0, leader: {topic: orders}}": (
        "f:5: The action leader needs a topic, a partition and the broker that is to lead."
    ),
    "assignments: {t: [[1], [1]]}": "f:4: assignments names the topic 't', to which no group sends.",
    "assignments: {orders: [[1]]}": "f:4: assignments has 1 partitions of the topic 'orders', and groups send to 2.",
    "assignments: {orders: [1]}": "f:4: assignments is a mapping of topics to the broker ids of each partition, as in"
    " {t: [[1, 2, 3]]}.",
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.items(), ids=range(len(REFUSED)))
def test_a_slip_is_told_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(LoadScenarioError) as caught:
        parse_text(f"{GROUPS}{text}\n", "f")
    assert str(caught.value) == sentence


def test_a_group_is_due_at_a_time_or_waits_and_not_both() -> None:
    with pytest.raises(LoadScenarioError, match="has waits or due_ms, and not both"):
        RequestGroup("g", "t", -1, "REQUEST_TIMED_OUT", True, due_ms=(1, 2))
    with pytest.raises(LoadScenarioError, match="it is a time after the start or a range of two that rises"):
        RequestGroup("g", "t", -1, "NONE", due_ms=(2, 1))


def test_the_schema_knows_them() -> None:
    properties = json_schema()["properties"]
    assert {action["required"][1] for action in properties["actions"]["items"]["oneOf"]} == set(VERBS)
    assert {"start_ms", "due_ms"} <= set(properties["groups"]["items"]["properties"])


def test_the_control_itself_does_them_all_and_is_left_as_it_was() -> None:
    """Every verb against the real control: bodies, responses, names of states."""
    quick = ("--config", "broker.session.timeout.ms=1000")
    with Serving("--brokers", "3", "--port", "0", "--control-port", "0", *quick) as serving:
        ask = partial(ask_control, serving.facts["control_url"], None)
        before = {"client_id": "a b", "consumer_byte_rate": 5, "request_percentage": 12.5}
        ask("PUT", "/v1/quotas", before)
        quotas = ask("GET", "/v1/quotas", None)
        verbs = [*ACTIONS[1:], {"at_ms": 0, "pause": 3}, {"at_ms": 0, "stop": 2}, {"at_ms": 0, "kill": 1}]
        scenario = LoadScenario("s", SCENARIO.groups, brokers=3, actions=tuple(verbs))
        with prepared(ask, scenario, "id") as own:
            actor = ScenarioActor(ask, own)
            with actor.acting(now):
                wait_until(lambda: len(actor.done) == len(verbs) or actor.error is not None, "all is done")
                # The second one waits until the third, which is silent, has lost its session.
                wait_until(lambda: states(ask) == ["killed", "stopped", "paused"], "none runs")
                assert len(ask("GET", "/v1/faults", None)["faults"]) == 1
                assert ask("GET", "/v1/quotas", None) != quotas
            wait_until(lambda: states(ask) == ["running"] * 3, "all run again")
        assert ask("GET", "/v1/quotas", None) == quotas
        assert ask("GET", "/v1/faults", None) == {"faults": []}


def states(ask: Ask) -> list[str]:
    return [broker["state"] for broker in ask("GET", "/v1/brokers", None)["brokers"]]
