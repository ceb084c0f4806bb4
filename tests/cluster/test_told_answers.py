"""The journal's event of a response has the results from which it was encoded. The tests compare them with the bytes
that the client got (docs/decisions.md, 34)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.requests import ONE_RECORD, PRODUCE, request
from support.simulation import Simulation

from fakebroker.core.journal.events import Answer, PartitionAnswer, Request
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.messages import decode_response

NOBODYS_ID = UUID(int=5)
TIMEOUT_MS = 30
RECORDS = {
    "good": ONE_RECORD,
    "damaged": ONE_RECORD[:-1] + b"!",
    "two batches": ONE_RECORD * 2,
    "of no batch": b"x" * 20,
    "null": None,
}


class Asked:
    """A Produce: for each topic the records of some partitions. Broker 1 leads partition 0 only, and partition 9 does
    not exist."""

    def __init__(self, version: int, acks: int, topics: dict[str, dict[int, str]]) -> None:
        self.version = version
        self.acks = acks
        self.topics = topics

    def __repr__(self) -> str:
        return f"Asked({self.version}, {self.acks}, {self.topics})"

    def frame(self, correlation_id: int, ids: dict[str, UUID]) -> bytes:
        values: dict[str, Any] = {
            "transactional_id": None,
            "acks": self.acks,
            "timeout": timedelta(milliseconds=TIMEOUT_MS),
            "topic_data": [],
        }
        for name, partitions in self.topics.items():
            data = [{"index": index, "records": RECORDS[what]} for index, what in partitions.items()]
            named = {"topic_id": ids[name]} if self.version >= 13 else {"name": name}
            values["topic_data"].append(named | {"partition_data": data})
        return request(PRODUCE, self.version, values, correlation_id)


one_request = st.builds(
    Asked,
    st.integers(3, 13),
    st.sampled_from([-1, 1, 5]),
    st.dictionaries(
        st.sampled_from(["t", "compacted", "small", "nobody"]),
        st.dictionaries(st.sampled_from([0, 1, 2, 9]), st.sampled_from(sorted(RECORDS)), min_size=1),
        min_size=1,
    ),
)


def told_and_sent(requests: list[Asked], followers: str) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return two dicts by correlation id: each partition's result by the journal, and by the response that the client
    read."""
    journal = Journal()
    recorded = Simulation(followers=followers, journal=journal)
    recorded.topic("t", partitions=3)
    recorded.topic("compacted", cleanup_policy="compact")  # records without a key have errors of their own
    recorded.topic("small", max_message_bytes=10)
    ids = {topic.name: topic.topic_id for topic in recorded.cluster.metadata.topics()}
    ids["nobody"] = NOBODYS_ID
    names = {topic_id: name for name, topic_id in ids.items()} | {NOBODYS_ID: str(NOBODYS_ID)}
    client = recorded.connect()
    client.send(*(generated.frame(number, ids) for number, generated in enumerate(requests)))
    recorded.advance(TIMEOUT_MS * len(requests))

    numbers = {event.request: event.correlation_id for event in journal if isinstance(event, Request)}
    results = {numbers[answer.request]: answer.partitions for answer in journal if isinstance(answer, Answer)}
    sent = {}
    for _, frame in client.answers:
        version = requests[int.from_bytes(frame[:4], "big")].version
        correlation_id, response = decode_response(PRODUCE, version, frame)
        body: Any = response
        sent[correlation_id] = tuple(
            PartitionAnswer(
                names[topic.topic_id] if version >= 13 else topic.name,
                partition.index,
                kafka_name(partition.error_code),
                partition.base_offset,
            )
            for topic in body.responses
            for partition in topic.partition_responses
        )
    return results, sent


@given(requests=st.lists(one_request, min_size=1, max_size=4), followers=st.sampled_from(["instant", "frozen"]))
def test_the_journal_has_the_results_of_each_response(requests: list[Asked], followers: str) -> None:
    results, sent = told_and_sent(requests, followers)

    assert results == sent
    assert sorted(sent) == list(range(len(requests)))


@pytest.mark.parametrize("version", range(3, 14))
def test_answers_of_every_kind_are_told_as_they_were_sent(version: int) -> None:
    several = {
        "t": {0: "good", 1: "good", 9: "good"},
        "compacted": {0: "good"},
        "small": {0: "good"},
        "nobody": {0: "good"},
    }
    requests = [Asked(version, -1, {"t": {0: "good"}}), Asked(version, -1, several), Asked(version, 5, several)]
    requests += [Asked(version, 1, {"t": {0: what}}) for what in RECORDS]
    results, sent = told_and_sent(requests, "frozen")

    assert results == sent
    nobody = "UNKNOWN_TOPIC_ID" if version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION"
    assert sorted(partition.error for partition in results[1]) == sorted(
        [
            "REQUEST_TIMED_OUT",
            "NOT_LEADER_OR_FOLLOWER",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "INVALID_RECORD",
            "MESSAGE_TOO_LARGE",
            nobody,
        ]
    )
    assert {partition.error for number in results for partition in results[number]} >= {
        "NONE",
        "INVALID_REQUIRED_ACKS",
        "CORRUPT_MESSAGE",
        "UNKNOWN_SERVER_ERROR",
    }
