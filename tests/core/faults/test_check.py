"""What cannot be is refused, with the reason and with what can."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.apis import registry
from fakebroker.core.faults.check import can_answer
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import TABLE
from fakebroker.protocol.error_code import error_from_name

REFUSED: list[tuple[dict[str, Any], Any, str]] = [
    ({"api": "Produce", "at": "after_append"}, 19, "says that nothing was done, and at 'after_append' it is appended"),
    (
        {"api": "Produce", "at": "before_work"},
        7,
        "the work was done, and at 'before_work' nothing is: say at='after_append'",
    ),
    ({"api": "Produce", "at": "after_append"}, 20, "says that all in sync have it, and at 'after_append' they may not"),
    ({"api": "Produce", "at": "after_watermark"}, 7, "was not replicated in time, and at 'after_watermark' it is"),
    ({"api": "Produce"}, "MEMBER_ID_REQUIRED", "Produce never answers MEMBER_ID_REQUIRED"),
    ({"api": "CreateTopics", "at": "before_answer"}, 36, "nothing was done, and at 'before_answer' all is done"),
    ({"at": "before_work"}, 20, "no API answers NOT_ENOUGH_REPLICAS_AFTER_APPEND at 'before_work'"),
    ({"api": "DescribeCluster", "topic": "t"}, "drop", "DescribeCluster has no 'topic', so the fault can never match"),
    ({"api": "CreateTopics", "partition": 1}, "drop", "so the fault can never match: it has 'topic'"),
    ({"topic": "t", "resource": "t"}, "drop", "no API has all of 'topic' and 'resource'"),
    ({"api": "Fetch", "acks": 1}, "drop", "Fetch has no 'acks'"),
    ({"api": "Fetch", "versions": 99}, "drop", "Fetch has the versions 4 to 18"),
    ({"api": "Fetch", "at": "after_append"}, "disconnect", "Fetch appends nothing"),
    ({"api": "Produce"}, "corrupt_batch", "needs an answer with batches"),
    ({"api": "Fetch", "at": "before_work"}, "duplicate", "at 'within_answer' and not at 'before_work'"),
    ({"api": "Fetch", "at": "within_answer"}, "disconnect", "is not done to the bytes of an answer"),
    ({"api": "Produce", "acks": 0}, "drop", "acks=0 has no answer"),
    ({"api": "Produce", "acks": 0, "at": "after_answer"}, "disconnect", "acks=0 has no answer"),
    ({"api": "Produce", "acks": 1}, 7, "is answered to acks=-1 alone"),
    ({"api": "Produce", "acks": 1, "at": "after_watermark"}, "disconnect", "does not wait for the watermark"),
    ({"api": "Fetch", "at": "connect"}, "disconnect", "'api' cannot be told at 'connect': nothing is read by then"),
    ({"topic": "t", "at": "request_read"}, "disconnect", "its body is not read by then"),
    ({"at": "connect"}, "UNKNOWN_SERVER_ERROR", "there is none to be made"),
    ({"at": "after_answer"}, 7, "there is none to be made"),
    ({"at": "before_work"}, "drop", "say at='before_answer'"),
    ({"at": "connect"}, "freeze", "knows no partition here"),
    ({"api": "Metadata"}, "freeze", "knows no partition here"),
    ({"api": "Fetch"}, "move_coordinator", "needs a request with a group or a transactional id"),
    ({}, ["disconnect", {"delay": 1}], "nothing can be done after 'disconnect'"),
]


@pytest.mark.parametrize(("when", "do", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
def test_refused_with_the_reason(when: dict[str, Any], do: Any, why: str) -> None:
    with pytest.raises(ValueError) as raised:
        Fault(when, do)
    assert why in str(raised.value)


def test_force_takes_an_error_to_where_kafka_does_not_have_it() -> None:
    assert Fault({"api": "Produce", "at": "after_append"}, "NOT_ENOUGH_REPLICAS", force=True).force
    with pytest.raises(ValueError, match="there is none to be made"):
        Fault({"api": "Produce", "at": "after_answer"}, "NOT_ENOUGH_REPLICAS", force=True)


def test_the_table_has_what_is_served_and_errors_that_there_are() -> None:
    assert {api.key: api.name for api in registry.load().values()} == {r.key: name for name, r in TABLE.items()}
    for name, rules in TABLE.items():
        for error in rules.before | rules.after:
            assert error_from_name(error), name


@pytest.mark.parametrize("api", TABLE)
def test_every_pair_is_taken_or_refused_as_the_table_says(api: str) -> None:
    for error in TABLE[api].before | TABLE[api].after | {"NOT_ENOUGH_REPLICAS", "MEMBER_ID_REQUIRED"}:
        for at in POINTS:
            possible = error == "UNKNOWN_SERVER_ERROR" and at not in ("connect", "within_answer", "after_answer")
            possible = possible and (TABLE[api].appends or at not in ("after_append", "after_watermark"))
            possible = possible or can_answer(TABLE[api], error, at)
            try:
                Fault({"api": api, "at": at}, error)
            except ValueError:
                assert not possible, (api, error, at)
            else:
                assert possible, (api, error, at)
