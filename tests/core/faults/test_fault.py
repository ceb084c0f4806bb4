"""A fault is the same value in Python and in JSON, and a mistake is reported in one sentence."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.faults.actions import VERBS, Delay, Disconnect, Error, MoveLeader
from fakebroker.core.faults.fault import Fault, as_fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import table
from fakebroker.core.faults.times import every_time, once, times
from fakebroker.core.faults.when import NAMES, When

ID = "7b1c5bf7-5c8d-4a7d-9f0e-0d3c0f6f4a11"

GOOD: list[dict[str, Any]] = [
    {"when": {"api": "Produce", "topic": "t"}, "do": "NOT_ENOUGH_REPLICAS"},
    {"when": {"api": [0, "Fetch"], "topic_id": ID, "partition": [1, 2]}, "do": {"delay": 100}, "times": 3},
    {"when": {"api": "Produce", "at": "after_append", "acks": -1}, "do": "disconnect", "times": "every_time"},
    {"when": {"at": "connect", "broker": 2}, "do": "blackhole"},
    {"when": {"api": "EndTxn", "transactional_id": "bank"}, "do": [{"move_coordinator": 2}, "hold"]},
    {"when": {"api": "Fetch", "versions": ["4-12", "13+", 9]}, "do": [{"delay": 5}, {"cut": {"bytes": 3, "part": 2}}]},
    {
        "when": {"from_ms": 5, "until_ms": 9, "client_id": "me"},
        "do": {"throttle": 7},
        "times": {"every": 2, "count": 4},
    },
    {"when": {"api": "Metadata"}, "do": {"move_leader": {"topic": "t", "partition": 0, "broker": 3}}},
    {"when": {"api": "Produce"}, "do": "NOT_CONTROLLER", "force": True},
    {
        "when": {"api": "DescribeConfigs", "resource": "topic:t"},
        "do": {"error": {"error": "INVALID_CONFIG", "level": "top"}},
    },
    {
        "when": {"api": "SaslAuthenticate", "principal": ["User:alice", "User:bob"], "mechanism": "PLAIN"},
        "do": {"error": {"error": "SASL_AUTHENTICATION_FAILED", "message": "locked"}},
    },
    {"when": {"principal": "User:alice", "from_ms": 60_000}, "do": {"expire_sessions": "alice"}},
    {"do": {"disconnect": "reset"}, "times": {"probability": 0.5, "seed": 7}},
]


@pytest.mark.parametrize("value", GOOD, ids=str)
def test_there_and_back(value: dict[str, Any]) -> None:
    fault = Fault.from_json(value)
    document = json.loads(json.dumps(fault.to_json()))
    assert Fault.from_json(document) == fault
    assert Fault.from_json(document).to_json() == document
    assert str(fault)


def test_python_takes_values_names_and_mappings() -> None:
    made = Fault(When(api=("Produce",), topic=("t",)), (Error("NOT_ENOUGH_REPLICAS"),), once)
    assert made == Fault({"api": "Produce", "topic": "t"}, "not_enough_replicas")
    assert made == Fault(when={"api": 0, "topic": ["t"]}, do=19)
    assert as_fault(made) is made
    assert as_fault(when={"api": 0, "topic": "t"}, do=19) == made
    assert Fault(do=[Delay(5), MoveLeader(2)], when={"api": "Produce"}, times=2).times == times(2)


def test_kfakes_flat_names_are_understood() -> None:
    flat = {"keys": [0], "node": 1, "topic": "t", "partitions": [0, 1], "txn_id": "x", "err": "NOT_ENOUGH_REPLICAS"}
    fault = Fault.from_json({**flat, "count": 0})
    assert fault.when == When(
        ("Produce",), (), (1,), topic=("t",), partition=(0, 1), transactional_id=("x",), at="before_work"
    )
    assert fault.times == once
    assert Fault.from_json({**flat, "count": -1}).times == every_time
    assert Fault.from_json({**flat, "count": 4}).times == times(4)
    assert fault.when.topic_id == ()
    assert Fault.from_json({"key": "Fetch", "topic_ids": [ID], "do": "reset"}) == Fault(
        {"api": 1, "topic_id": UUID(ID)}, Disconnect("reset")
    )


@pytest.mark.parametrize(
    ("api", "do", "at"),
    [
        ("Produce", "NOT_ENOUGH_REPLICAS", "before_work"),
        ("Produce", "REQUEST_TIMED_OUT", "after_append"),
        ("Produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "after_watermark"),
        ("CreateTopics", "REQUEST_TIMED_OUT", "before_work"),
        ("DeleteRecords", "REQUEST_TIMED_OUT", "before_answer"),
        ("Heartbeat", "REBALANCE_IN_PROGRESS", "before_answer"),
        ("Fetch", "drop", "before_answer"),
        ("Fetch", {"throttle": 5}, "before_answer"),
        ("Fetch", "duplicate", "within_answer"),
        ("Fetch", [{"delay": 5}, "duplicate"], "within_answer"),
        ("Produce", [{"delay": 5}, 20], "after_watermark"),
        ("Fetch", "disconnect", "before_work"),
        ([], "freeze", "before_work"),
    ],
)
def test_the_usual_point(api: Any, do: Any, at: str) -> None:
    assert Fault({"api": api} if api else None, do).when.at == at


BAD: list[tuple[Any, str]] = [
    ([], "a fault must be a mapping of names to values, not []"),
    ({"do": "drop", "when": 5}, "'when' must be a mapping of names to values, not 5"),
    ({1: 2}, "a fault has the key 1, which is not a string"),
    ({"do": "drop", "wen": {}}, "a fault has no 'wen': 'when' may be meant"),
    ({"when": {}}, "a fault needs its 'do': an error, as in 'NOT_ENOUGH_REPLICAS', or a verb, as in 'disconnect'"),
    ({"do": "drop", "when": {"tpic": "t"}}, "'when' has no 'tpic': 'topic' may be meant"),
    (
        {"do": "drop", "when": {"node": 1, "broker": 1}},
        "'when' has 'broker' twice: as 'broker' and under another name",
    ),
    ({"do": "drop", "when": {"principal": "alice"}}, "'principal' must be TYPE:NAME, as in 'User:alice', not 'alice'"),
    ({"do": "drop", "when": {"principal": [7]}}, "'principal' must be a string, not 7"),
    ({"do": "drop", "when": {"mechanism": "PLAN"}}, "'mechanism' cannot be 'PLAN': 'PLAIN' may be meant"),
    ({"do": {"error": {"error": 58, "message": 7}}}, "'message' of 'error' must be a string, not 7"),
    ({"do": {"expire_sessions": 7}}, "'user' of 'expire_sessions' must be a string, not 7"),
    (
        {"do": {"expire_sessions": {"broker": 1}}},
        "'expire_sessions' has no 'broker': it is the sessions at all of them",
    ),
    ({"do": "drop", "when": {}, "topic": "t"}, "'topic' of a fault with a 'when' belongs into the 'when'"),
    ({"do": "drop", "times": 2, "count": 1}, "a fault has 'times' twice: as 'count' and under another name"),
    ({"do": "drop", "when": {"api": "Prodce"}}, "there is no API 'Prodce' here: 'Produce' may be meant"),
    ({"do": "drop", "when": {"api": 4}}, "no API with the key 4 is served here: use a name, as in 'Produce'"),
    (
        {"do": "drop", "when": {"api": []}},
        "'api' is an empty list, which matches nothing: leave it out to match everything",
    ),
    ({"do": "drop", "when": {"at": "befor_work"}}, "there is no point 'befor_work': 'before_work' may be meant"),
    ({"do": "drop", "when": {"versions": "9-3"}}, "'versions' must go up, as in '3-9', not '9-3'"),
    ({"do": "drop", "when": {"versions": "x"}}, "'versions' must be a number, '3-9' or '9+', not 'x'"),
    ({"do": "drop", "when": {"topic_id": "x"}}, "'topic_id' must be a UUID as text, not 'x'"),
    ({"do": "drop", "when": {"partition": "1"}}, "'partition' must be a whole number, not '1'"),
    ({"do": "drop", "when": {"topic": 1}}, "'topic' must be a string, not 1"),
    ({"do": "drop", "when": {"from_ms": 9, "until_ms": 9}}, "'until_ms' must be above 'from_ms', 9, not 9"),
    ({"do": "drop", "when": {"predicate": "x"}}, "'predicate' works in Python only: JSON has no functions"),
    ({"do": "dissconnect"}, "'do' has no verb 'dissconnect', and Kafka has no such error: 'disconnect' may be meant"),
    ({"do": "NOT_ENOUGH_REPLICA"}, "Kafka has no error 'NOT_ENOUGH_REPLICA': 'NOT_ENOUGH_REPLICAS' may be meant"),
    ({"do": "NONE"}, "NONE is not an error: leave the fault out"),
    ({"do": 9999}, "Kafka has no error 9999"),
    ({"do": []}, "'do' is an empty list: give an action"),
    ({"do": "delay"}, "'delay' needs its 'ms', as in {'delay': 100}"),
    ({"do": {"delay": 0}}, "'ms' of 'delay' must be 1 to 2147483647, not 0"),
    ({"do": {"hold": 3}}, "'hold' takes no value, not 3"),
    ({"do": {"cut": {"byts": 1}}}, "'cut' has no 'byts': 'bytes' may be meant"),
    ({"do": {"a": 1, "b": 2}}, "an action has one verb, as in {'delay': 100}: {'a': 1, 'b': 2} has 2"),
    ({"do": {"move_leader": {"partition": 1}}}, "'partition' of 'move_leader' needs a 'topic'"),
    ({"do": "drop", "times": 0}, "'times' is 0, which is never: use 'once', a number from 1, or 'every_time'"),
    ({"do": "drop", "times": -1}, "'times' must be 1 or more, not -1"),
    ({"do": "drop", "times": {"count": -1, "every": 2}}, "'count' must be 1 or more, not -1"),
    ({"do": "drop", "times": {"on_call": 0}}, "'on_call' must be 1 or more, not 0"),
    ({"do": "drop", "times": 2**63}, "'times' must be 1 to 9223372036854775807, not 9223372036854775808"),
    ({"do": "drop", "times": "ones"}, "'times' is 'once', 'every_time', a number or a mapping, not 'ones'"),
    ({"do": "drop", "times": {"evry": 1}}, "'times' has no 'evry': 'every' may be meant"),
    ({"do": "drop", "times": {"probability": 2}}, "'probability' must be a number from 0 to 1, not 2"),
    ({"do": "drop", "force": "yes"}, "'force' must be true or false, not 'yes'"),
]


@pytest.mark.parametrize(("value", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_a_slip_is_one_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as raised:
        Fault.from_json(value)
    assert str(raised.value) == sentence


def test_a_predicate_has_no_json() -> None:
    fault = Fault({"predicate": lambda seen: True}, "disconnect")
    with pytest.raises(ValueError, match="works in Python only"):
        fault.to_json()


def test_a_fault_or_what_makes_one_but_not_both() -> None:
    with pytest.raises(ValueError, match="not both"):
        as_fault(Fault(do="disconnect"), when={"api": "Produce"})


WORDS = st.text(max_size=9) | st.sampled_from([*VERBS, *POINTS, *table()])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def almost_faults(draw: st.DrawFn) -> Any:
    """Draw a valid fault with some values replaced."""
    value = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    for _ in range(draw(st.integers(1, 3))):
        place = value
        while isinstance(place, dict) and place and draw(st.booleans()):
            inner = place[draw(st.sampled_from(sorted(place)))]
            if not isinstance(inner, dict):
                break
            place = inner
        place[draw(st.sampled_from([*place, "when", "do", "times", *NAMES]))] = draw(ANYTHING)
    return value


@given(almost_faults() | ANYTHING)
def test_whatever_comes_it_is_a_fault_or_a_sentence(value: Any) -> None:
    try:
        fault = Fault.from_json(value)
    except ValueError as error:
        text = str(error)
        assert text
        assert "\n" not in text
        assert len(text) < 600
    else:
        assert Fault.from_json(fault.to_json()) == fault
