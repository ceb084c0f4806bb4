"""An impossible fault is refused, with the reason and the alternatives."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.apis import registry
from fakebroker.core.faults.check import can_answer
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import api_names, table
from fakebroker.core.faults.when import ENTITY_SELECTORS
from fakebroker.protocol.error_code import error_from_name

REFUSED: list[tuple[dict[str, Any], Any, str]] = [
    (
        {"api": "Produce", "at": "after_append"},
        19,
        "but at 'after_append' the records are appended",
    ),
    (
        {"api": "Produce", "at": "before_work"},
        7,
        "the work was done, but at 'before_work' nothing is done: use at='after_append'",
    ),
    (
        {"api": "Produce", "at": "after_append"},
        20,
        "the ISR has the records, but at 'after_append' it may not",
    ),
    ({"api": "Produce", "at": "after_watermark"}, 7, "was not replicated, but at 'after_watermark' it is"),
    ({"api": "Produce"}, "MEMBER_ID_REQUIRED", "Produce never returns MEMBER_ID_REQUIRED"),
    ({"api": "CreateTopics", "at": "before_answer"}, 36, "nothing was done, but at 'before_answer' the work is done"),
    ({"at": "before_work"}, 20, "no API returns NOT_ENOUGH_REPLICAS_AFTER_APPEND at 'before_work'"),
    ({"api": "DescribeCluster", "topic": "t"}, "drop", "DescribeCluster has no 'topic', so the fault can never match"),
    ({"api": "CreateTopics", "partition": 1}, "drop", "so the fault can never match: it has 'topic'"),
    ({"topic": "t", "resource": "t"}, "drop", "no API has all of 'topic' and 'resource'"),
    ({"api": "Fetch", "acks": 1}, "drop", "Fetch has no 'acks'"),
    ({"api": "Fetch", "versions": 99}, "drop", "Fetch has the versions 4 to 18"),
    ({"api": "Fetch", "at": "after_append"}, "disconnect", "Fetch appends nothing"),
    ({"api": "Produce"}, "corrupt_batch", "needs a response with batches"),
    ({"api": "Fetch", "at": "before_work"}, "duplicate", "use at='within_answer', not 'before_work'"),
    ({"api": "Fetch", "at": "within_answer"}, "disconnect", "does not change the bytes of a response"),
    ({"api": "Produce", "acks": 0}, "drop", "acks=0 has no response"),
    ({"api": "Produce", "acks": 0, "at": "after_answer"}, "disconnect", "acks=0 has no response"),
    ({"api": "Produce", "acks": 1}, 7, "is returned for acks=-1 only"),
    ({"api": "Produce", "acks": 1, "at": "after_watermark"}, "disconnect", "does not wait for the high watermark"),
    ({"api": "Fetch", "at": "connect"}, "disconnect", "'api' is not known at 'connect': nothing has been read by then"),
    ({"principal": "User:x", "at": "connect"}, "disconnect", "'principal' is not known at 'connect'"),
    ({"mechanism": "PLAIN", "at": "connect"}, "disconnect", "'mechanism' is not known at 'connect'"),
    (
        {"api": ["SaslAuthenticate", "SaslHandshake"], "principal": "User:x"},
        "disconnect",
        "SaslHandshake comes before a client names its principal: use api='SaslAuthenticate'",
    ),
    (
        {"api": "SaslHandshake"},
        {"error": {"error": "UNSUPPORTED_SASL_MECHANISM", "message": "no"}},
        "'message' is that of a refused login: use api='SaslAuthenticate'",
    ),
    ({"topic": "t", "at": "request_read"}, "disconnect", "its body has not been read by then"),
    ({"at": "connect"}, "UNKNOWN_SERVER_ERROR", "needs a response, and at"),
    ({"at": "after_answer"}, 7, "needs a response, and at"),
    ({"at": "before_work"}, "drop", "use at='before_answer'"),
    ({"at": "connect"}, "freeze", "has no partition here"),
    ({"api": "Metadata"}, "freeze", "has no partition here"),
    ({"api": "Fetch"}, "move_coordinator", "needs a request with a group or a transactional id"),
    *(
        ({"api": "Fetch", "at": "within_answer"}, [action, {"delay": 1}], f"no action can follow {verb!r}")
        for verb, action in {
            "drop": "drop", "disconnect": "disconnect", "blackhole": "blackhole",
            "cut": {"cut": 4}, "drip": {"drip": 1}, "coalesce": {"coalesce": 2},
        }.items()
    ),
]  # fmt: skip


NAME = "must be a topic name that Kafka accepts, 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not"


@pytest.mark.parametrize(
    ("topic", "shown"),
    [("", "''"), ("..", "'..'"), ("café", "'café'"), ("t" * 250, f"'{'t' * 56}...")],
    ids=["empty", "dots", "letters", "long"],
)
def test_a_name_that_no_topic_can_have_is_refused(topic: str, shown: str) -> None:
    with pytest.raises(ValueError) as raised:
        Fault({"api": "Produce", "topic": ["t", topic]}, "drop")
    assert str(raised.value) == f"'topic' {NAME} {shown}"
    with pytest.raises(ValueError) as raised:
        Fault({"api": "Produce"}, {"freeze": {"topic": topic}})
    assert str(raised.value) == f"'topic' of 'freeze' {NAME} {shown}"
    for legal in ("__consumer_offsets", "a.b-C_9", "t" * 249):
        assert Fault({"api": "Produce", "topic": legal}, "drop").when.topic == (legal,)


@pytest.mark.parametrize("number", [-1, 2**31, 10**12])
def test_a_partition_that_no_topic_can_have_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"^'partition' must be 0 to 2147483647, not {number}$"):
        Fault({"api": "Produce", "partition": [0, number]}, "drop")
    with pytest.raises(ValueError, match=f"^'partition' of 'freeze' must be 0 to 2147483647, not {number}$"):
        Fault({"api": "Produce"}, {"freeze": {"topic": "t", "partition": number}})
    assert Fault({"api": "Produce", "partition": 2**31 - 1}, "drop").when.partition == (2**31 - 1,)


@pytest.mark.parametrize(("when", "do", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
def test_refused_with_the_reason(when: dict[str, Any], do: Any, why: str) -> None:
    with pytest.raises(ValueError) as raised:
        Fault(when, do)
    assert why in str(raised.value)


def test_force_takes_an_error_to_where_kafka_does_not_have_it() -> None:
    when = {"api": "Produce", "at": "after_append"}
    assert Fault(when, "NOT_ENOUGH_REPLICAS", force=True).force
    with pytest.raises(ValueError, match="after_append"):
        Fault(when, "NOT_ENOUGH_REPLICAS")
    with pytest.raises(ValueError, match="needs a response, and at"):
        Fault({"api": "Produce", "at": "after_answer"}, "NOT_ENOUGH_REPLICAS", force=True)


def test_the_table_has_what_is_served_and_errors_and_selectors_that_there_are() -> None:
    assert {api.key: api.name for api in registry.load().values()} == api_names()
    for name, errors in table().items():
        assert set(errors.selectors) <= set(ENTITY_SELECTORS), name
        for error in errors.before | errors.after:
            assert error_from_name(error), name


@pytest.mark.parametrize("api", table())
def test_every_pair_is_taken_or_refused_as_the_table_says(api: str) -> None:
    for error in table()[api].before | table()[api].after | {"NOT_ENOUGH_REPLICAS", "MEMBER_ID_REQUIRED"}:
        for at in POINTS:
            possible = error == "UNKNOWN_SERVER_ERROR" and at not in ("connect", "within_answer", "after_answer")
            possible = possible and (table()[api].appends or at not in ("after_append", "after_watermark"))
            possible = possible or can_answer(table()[api], error, at)
            try:
                Fault({"api": api, "at": at}, error)
            except ValueError:
                assert not possible, (api, error, at)
            else:
                assert possible, (api, error, at)
