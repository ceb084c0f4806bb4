"""Groups that send several topics, partitions and records in a request: what they expect, and mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakebroker_load.plan import plan_connections
from fakebroker_load.scenario.batches import ENDS
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError, RequestGroup
from fakebroker_load.scenario.reading import load_scenario, parse_scenario

WIDE: dict[str, Any] = {
    "name": "g", "topic": "t", "acks": -1, "expect": "REQUEST_TIMED_OUT", "waits": True, "partitions": 4,
    "connections": 4, "requests_per_connection": 5, "beside": {"u": "NONE"}, "partitions_per_request": 2,
    "records_per_batch": 3,
}  # fmt: skip
LEADERS = {(topic, partition): ("h", partition % 2) for topic in "tu" for partition in range(4)}


def scenario(**change: Any) -> LoadScenario:
    return parse_scenario({"name": "s", "groups": [WIDE | change]})


def test_each_topic_of_a_request_has_its_answer_and_each_record_its_row() -> None:
    (group,) = scenario().groups
    assert group.expected == {"t": 7, "u": 0}
    assert (group.requests, group.records_per_request, group.records) == (20, 12, 240)
    assert scenario().records == 240
    assert scenario().topics == {"t": 4, "u": 4}
    assert RequestGroup("g", "t", 1, "NONE", connections=2, requests_per_connection=3).records == 6


def test_the_partitions_of_a_request_have_one_leader() -> None:
    rows = plan_connections(scenario(), LEADERS, 1).to_pylist()
    assert [json.loads(row["parts"]) for row in rows[:2]] == [
        [["t", 0, 7], ["t", 2, 7], ["u", 0, 0], ["u", 2, 0]],
        [["t", 1, 7], ["t", 3, 7], ["u", 1, 0], ["u", 3, 0]],
    ]
    with pytest.raises(LoadScenarioError, match=r"needs 3 partitions of the topic 't' in a request, .* t-0 leads 2"):
        plan_connections(scenario(partitions_per_request=3), LEADERS, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"beside": "u"}, "beside = 'u'; it is a mapping of topics to answers"),
        ({"beside": {"u": 7}}, "it is a mapping of topics to answers"),
        ({"beside": {"t": "NONE"}}, "its own topic 't' beside itself"),
        ({"beside": {"u": "TOO_LATE"}}, "expects an error of 'u' that Kafka does not have: TOO_LATE"),
        ({"beside": {"u": "unknown"}}, "expects 'unknown' of 'u', and 'REQUEST_TIMED_OUT' of 't'"),
        ({"beside": {"u": "no answer"}}, "expects 'no answer' of 'u'"),
        ({"acks": 0, "waits": False, "expect": "no answer"}, "expects 'NONE' of 'u', and 'no answer' of 't'"),
        ({"partitions_per_request": 5}, "5 partitions in a request, of 4"),
        ({"partitions_per_request": 0}, "count below 1: partitions_per_request"),
        ({"records_per_batch": 0}, "count below 1: records_per_batch"),
        ({"headers": -1}, "negative time or size: headers"),
        ({"compression": "brotli"}, "compression 'brotli', which is none or gzip or snappy or lz4 or zstd"),
        ({"idempotent": True, "acks": 1, "waits": False, "beside": {}, "expect": "NONE"}, "that takes acks -1, not 1"),
        ({"transaction": "maybe"}, "has transaction 'maybe', which is commit or abort"),
        ({"transaction": "commit", "idempotent": True}, "takes acks -1, and neither idempotent nor written"),
        ({"transaction": "abort", "written": "once"}, "takes acks -1, and neither idempotent nor written"),
        ({"client": "producer", "waits": False, "beside": {}}, "is a producer, and only raw requests have partitions"),
        ({"client": "reader", "waits": False, "acks": None, "expect": None}, "only raw requests have beside"),
    ],
)
def test_a_mistake_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    group = {name: value for name, value in (WIDE | change).items() if value is not None}
    with pytest.raises(LoadScenarioError, match=sentence):
        parse_scenario({"name": "s", "groups": [group]})


def test_the_topics_of_a_transaction_are_read_as_such_and_what_is_aborted_must_not_be_there() -> None:
    scenarios: dict[str | None, LoadScenario] = {end: scenario(transaction=end) for end in ENDS}
    scenarios[None] = scenario()
    planned = {end: plan_connections(one, LEADERS, 1).to_pylist()[0] for end, one in scenarios.items()}
    assert {end: row["written"] for end, row in planned.items()} == {None: None, "commit": None, "abort": "never"}
    assert {end: row["idempotent"] for end, row in planned.items()} == {None: False, "commit": True, "abort": True}
    assert scenario(transaction="abort").transactional == {"t", "u"}
    assert scenario().transactional == set()


def test_readers_cannot_know_how_much_goes_to_a_partition() -> None:
    reader = {"name": "r", "client": "reader", "topic": "u", "partitions": 2, "connections": 2}
    with pytest.raises(LoadScenarioError, match="reads the topic 'u', to which requests of several partitions go"):
        parse_scenario({"name": "s", "groups": [WIDE, WIDE | {"name": "v", "topic": "u", "beside": {}}, reader]})


def test_the_bundled_scenario_has_all_of_it() -> None:
    groups = load_scenario("wide-requests").groups
    assert {group.acks for group in groups} == {-1, 0, 1}
    assert {group.compression for group in groups} == {"gzip", "snappy", "lz4", "zstd"}
    assert all(group.is_wide and group.records_per_batch > 1 for group in groups)
    assert any(group.idempotent for group in groups)
    assert any(group.headers for group in groups)
    assert {group.transaction for group in groups} == {None, "commit", "abort"}
    both = [group.expected for group in groups if group.waits]
    assert [counts.get("orders", counts.get("ledger")) for counts in both] == [7, 7, 7, 7]
    assert [counts.get("payments", counts.get("audit")) for counts in both] == [0, 0, 0, 0]
