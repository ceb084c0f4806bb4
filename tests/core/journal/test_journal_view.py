"""Queries of a journal about Produce requests, and the messages of failed expectations."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.batches import sequenced
from support.requests import batch, metadata, produce
from support.simulation import START_MONO_MS, Simulation

from fakebroker.core.journal.events import Dropped
from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.produced import ProducedPartition
from fakebroker.core.journal.view import ProduceView, view_produce


class Asked:
    """A simulation with frozen "t" and healthy "u", and its Produce requests."""

    def __init__(self, size: int = 1_000) -> None:
        self.journal = Journal(size)
        self.simulation = Simulation(journal=self.journal)
        self.simulation.topic("t", 2)
        self.simulation.topic("u")
        self.simulation.followers("frozen", topic="t")

    def produce(
        self, topic: str = "t", partition: int = 0, *, wait_ms: int = 1_000, client_id: str = "me", acks: int = -1
    ) -> None:
        client = self.simulation.connect(1 + partition)
        client.send(produce(topic, partition, client_id=client_id, acks=acks, records=batch(b"a", b"b")))
        self.simulation.advance(wait_ms)

    def view(self, topic: str | None = None, partition: int | None = None, client_id: str | None = None) -> ProduceView:
        return view_produce(self.journal, self.journal.dropped, topic, partition, client_id)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_an_entry_joins_what_the_journal_tells_of_a_partition(asked: Asked) -> None:
    asked.produce()

    assert list(asked.view()) == [
        ProducedPartition(
            request=1,
            client_id="me",
            broker=1,
            correlation_id=1,
            topic="t",
            partition=0,
            acks=-1,
            timeout_ms=500,
            received_mono_ms=START_MONO_MS,
            handled_mono_ms=START_MONO_MS,
            answered_mono_ms=START_MONO_MS + 500,
            outcome="sent",
            error="REQUEST_TIMED_OUT",
            base_offset=0,
            records=2,
        )
    ]
    assert asked.view()[0].waited_ms == 500


def test_a_request_has_an_entry_for_each_partition(asked: Asked) -> None:
    client = asked.simulation.connect()
    client.send(produce("t", partitions={0: batch(), 1: batch(), 7: batch()}))
    asked.simulation.advance(500)

    entries = asked.view()
    assert [(e.partition, e.error, e.base_offset, e.records) for e in entries] == [
        (0, "REQUEST_TIMED_OUT", 0, 1),
        (1, "NOT_LEADER_OR_FOLLOWER", -1, 0),
        (7, "UNKNOWN_TOPIC_OR_PARTITION", -1, 0),
    ]
    assert [request.request for request in entries.requests()] == [1]


def test_what_is_left_out_means_all(asked: Asked) -> None:
    asked.produce("t", 0)
    asked.produce("t", 1, client_id="you")
    asked.produce("u", 0)

    assert len(asked.view()) == 3
    assert [entry.partition for entry in asked.view("t")] == [0, 1]
    assert [entry.topic for entry in asked.view(partition=0)] == ["t", "u"]
    assert [entry.partition for entry in asked.view(client_id="you")] == [1]
    assert [entry.topic for entry in asked.view("t", 0, "you")] == []


def test_other_apis_are_left_out(asked: Asked) -> None:
    asked.simulation.connect().send(metadata([]))

    assert len(asked.view()) == 0


def test_a_request_that_waits_has_no_answer_yet(asked: Asked) -> None:
    asked.produce(wait_ms=0)

    (entry,) = asked.view()
    assert (entry.error, entry.outcome, entry.answered_mono_ms, entry.waited_ms) == (None, None, None, None)
    assert (entry.base_offset, entry.records) == (0, 2)


def test_acks_0_has_no_answer_ever(asked: Asked) -> None:
    asked.produce(acks=0)

    (entry,) = asked.view()
    assert (entry.error, entry.answered_mono_ms, entry.records) == (None, None, 2)


def test_what_is_sent_again_appends_nothing(asked: Asked) -> None:
    client = asked.simulation.connect()
    client.send(*[produce("u", records=sequenced(5, 0, 0))] * 2)

    assert [(e.error, e.base_offset, e.records) for e in asked.view()] == [("NONE", 0, 1), ("NONE", 0, 0)]


def test_an_expectation_that_is_met_gives_those_that_meet_it(asked: Asked) -> None:
    asked.produce("t")
    asked.produce("u")

    assert [entry.topic for entry in asked.view().expect("REQUEST_TIMED_OUT")] == ["t"]
    assert [entry.topic for entry in asked.view().expect("none")] == ["u"]
    assert len(asked.view().expect()) == 2
    assert len(asked.view().expect(error="NONE", count=1)) == 1
    assert len(asked.view().expect("NOT_ENOUGH_REPLICAS", count=0)) == 0
    assert len(asked.view().expect(within_ms=0)) == 1
    assert len(asked.view().expect(within_ms=500, count=2)) == 2


def test_an_answer_counts_although_its_client_had_gone(asked: Asked) -> None:
    client = asked.simulation.connect()
    client.send(produce("t"))
    client.disconnect()
    asked.simulation.advance(500)

    (entry,) = asked.view().expect("REQUEST_TIMED_OUT")
    assert str(entry).endswith("REQUEST_TIMED_OUT, offset 0, after 500 ms, but the client had gone")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"error": "NONE"}, "expected at least 1 answered NONE, found 0 of 2"),
        ({"error": "REQUEST_TIMED_OUT", "count": 2}, "expected 2 answered REQUEST_TIMED_OUT, found 1 of 2"),
        ({"error": "REQUEST_TIMED_OUT", "count": 0}, "expected 0 answered REQUEST_TIMED_OUT, found 1 of 2"),
        (
            {"error": "REQUEST_TIMED_OUT", "within_ms": 499},
            "expected at least 1 answered REQUEST_TIMED_OUT within 499 ms, found 0 of 2",
        ),
        ({"count": 2}, "expected 2 answered at all, found 1 of 2"),
    ],
)
def test_an_expectation_that_is_not_met_lists_what_was_there(
    asked: Asked, arguments: dict[str, Any], sentence: str
) -> None:
    asked.produce()
    asked.produce(wait_ms=0)

    with pytest.raises(AssertionError) as failed:
        asked.view().expect(**arguments)
    assert str(failed.value).splitlines() == [
        sentence,
        "  request 1 of 'me' to t-0, acks=-1, timeout 500 ms: REQUEST_TIMED_OUT, offset 0, after 500 ms",
        "  request 2 of 'me' to t-0, acks=-1, timeout 500 ms: no answer",
    ]


def test_an_expectation_of_nothing_at_all_is_not_met(asked: Asked) -> None:
    nothing = r"^expected at least 1 answered at all, found 0 of 0\n  the journal has no Produce request$"
    with pytest.raises(AssertionError, match=nothing):
        asked.view().expect()


def test_an_expectation_of_a_misspelt_topic_says_what_there_is(asked: Asked) -> None:
    asked.produce("t", 0)
    asked.produce("t", 0, client_id="you")
    asked.produce("t", 0)
    asked.produce("u", 0)
    with pytest.raises(AssertionError) as failed:
        asked.view(topic="tt", partition=3, client_id="me").expect("NONE")

    assert str(failed.value).splitlines() == [
        "expected at least 1 answered NONE, found 0 of 0 to topic 'tt' to partition 3 from client 'me'",
        "  the journal has Produce requests to",
        "    t-0 from client 'me': 2",
        "    t-0 from client 'you': 1",
        "    u-0 from client 'me': 1",
    ]


def test_only_the_last_requests_are_listed(asked: Asked) -> None:
    for _ in range(25):
        asked.produce(wait_ms=500)

    with pytest.raises(AssertionError) as failed:
        asked.view().expect("NONE")
    lines = str(failed.value).splitlines()
    assert len(lines) == 22
    assert lines[1] == "  (5 earlier ones)"
    assert lines[2].startswith("  request 6 of")


def test_a_count_cannot_be_told_of_a_journal_that_dropped_events() -> None:
    client = Asked(size=30)
    for _ in range(10):
        client.produce(wait_ms=500)

    assert client.view().expect("REQUEST_TIMED_OUT")
    with pytest.raises(AssertionError, match=re.escape(f"{client.journal.dropped} events of the journal were")):
        client.view().expect("REQUEST_TIMED_OUT", count=3)
    with pytest.raises(AssertionError, match="events of the journal were dropped"):
        client.view().expect("NONE")


@pytest.mark.parametrize("size", range(40))
def test_half_a_request_is_none(size: int) -> None:
    """An entry is correct wherever the journal begins."""
    client = Asked(size=size)
    for _ in range(4):
        client.produce(wait_ms=500)

    assert all((entry.error, entry.waited_ms) == ("REQUEST_TIMED_OUT", 500) for entry in client.view())


@pytest.mark.parametrize(("error", "meant"), [("TIMED_OUT", ": 'REQUEST_TIMED_OUT' may be meant"), ("", ""), ("7", "")])
def test_an_error_that_kafka_does_not_have_is_a_slip(asked: Asked, error: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"^Kafka has no error called '{error}'{meant}$"):
        asked.view().expect(error)


@pytest.mark.parametrize("arguments", [{"error": 7}, {"count": "1"}, {"count": True}, {"within_ms": 0.5}])
def test_wrong_types_are_slips(asked: Asked, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="must be a"):
        asked.view().expect(**arguments)


def test_expect_refuses_a_journal_that_dropped_events_for_a_slow_reader() -> None:
    client = Asked()
    client.produce(wait_ms=500)
    events = [*client.journal, Dropped(1, 2, 5), Dropped(3, 4, 6)]

    with pytest.raises(AssertionError, match=r"1 cannot be told: 11 events of the journal were dropped"):
        view_produce(events, 0, None, None, None).expect("REQUEST_TIMED_OUT", count=1)
