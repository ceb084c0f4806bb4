"""The journal over HTTP: pages, filters, expectations, and the stream."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import produce
from support.watchdog import join, wait_until

from fakebroker.control.routes.journal import _freed


def send(controlled: Controlled, topic: str, times: int = 1, timeout_ms: int = 500) -> None:
    with RawClient(controlled.kafka.endpoints[0]) as client:
        for _ in range(times):
            client.ask(produce(topic, timeout_ms=timeout_ms))


def test_pages(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    send(controlled, "t", times=3)

    everything = controlled.get("/v1/journal")["events"]
    seen: list[dict[str, Any]] = []
    after = 0
    while True:
        page = controlled.get("/v1/journal", after=after, limit=4)
        seen += page["events"]
        if len(page["events"]) < 4:
            break
        after = page["next"]

    assert seen == everything
    assert [event["seq"] for event in seen] == list(range(page["total"]))


def test_filters(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    controlled.kafka.create_topic("u")
    send(controlled, "t")
    send(controlled, "u")

    appends = controlled.get("/v1/journal", event="append,answer", topic="u")["events"]

    assert [event["event"] for event in appends] == ["append", "answer"]
    assert len(controlled.get("/v1/journal", event="request", api="Produce", client_id="test")["events"]) == 2
    assert len(controlled.get("/v1/journal", event="request", limit=1)["events"]) == 1
    assert controlled.get("/v1/journal", client_id="nobody")["events"] == []
    error = controlled.refused("GET", "/v1/journal", event="apend")
    assert error["message"].startswith("there is no event 'apend': there are connection_opened, ")
    assert controlled.refused("GET", "/v1/journal", tropic="t")["message"].startswith(
        "there is no member 'tropic' (did you mean topic?); there are event, topic, "
    )


def test_a_filter_that_no_event_can_have_is_refused(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    send(controlled, "t")
    for path in ("/v1/journal", "/v1/events"):
        for query, sentence in (
            ({"error": "NOPE"}, "Kafka has no error called 'NOPE'"),
            (
                {"error": "REQUEST_TIMEDOUT"},
                "Kafka has no error called 'REQUEST_TIMEDOUT': 'REQUEST_TIMED_OUT' may be meant",
            ),
            ({"api": "Prodce"}, "there is no API 'Prodce': did you mean 'Produce'?"),
            ({"broker": 9}, "there is no broker 9: the ids are 1"),
        ):
            error = controlled.refused("GET", path, **query)
            assert error["code"] == "INVALID_ARGUMENT"
            assert error["message"].startswith(sentence)
    assert len(controlled.get("/v1/journal", event="append", error="none", broker=1)["events"]) == 1
    assert len(controlled.get("/v1/journal", event="request", api="produce")["events"]) == 1


def test_clear(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    total = controlled.get("/v1/journal")["total"]

    controlled.ask("DELETE", "/v1/journal", status=204)

    assert controlled.get("/v1/journal") == {"events": [], "next": total, "total": total, "dropped": 0}


def test_what_was_expected(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    send(controlled, "t", times=2)

    expected = controlled.ask("POST", "/v1/journal/expect", {"topic": "t", "error": "NONE", "count": 2})

    assert (expected["matches"], expected["reason"], expected["count"]) == (True, None, 2)
    assert expected["entries"][1]["base_offset"] == 1
    other = controlled.ask("POST", "/v1/journal/expect", {"topic": "t", "error": "REQUEST_TIMED_OUT"})
    assert not other["matches"]
    assert other["reason"].startswith("expected at least 1 answered REQUEST_TIMED_OUT, found 0 of 2")
    error = controlled.refused("POST", "/v1/journal/expect", {"error": "TIMED_OUT"})
    assert error == {
        "code": "INVALID_ARGUMENT",
        "message": "Kafka has no error called 'TIMED_OUT': 'REQUEST_TIMED_OUT' may be meant",
    }


def test_to_expect_nothing_of_a_misspelt_topic(controlled: Controlled) -> None:
    controlled.ask("POST", "/v1/topics", {"name": "orders"}, 201)
    refused = controlled.ask("POST", "/v1/journal/expect", {"topic": "odrers", "count": 0})
    assert (refused["matches"], refused["count"]) == (False, 0)
    assert refused["reason"].startswith("there is no topic 'odrers', and the journal knows none: 'orders' may be meant")
    assert controlled.ask("POST", "/v1/journal/expect", {"topic": "orders-dlq", "count": 0})["matches"]


def test_waiting_for_what_is_expected(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    answers: list[Any] = []
    body = {"topic": "t", "error": "NONE", "timeout_ms": 1_000}
    waiting = threading.Thread(target=lambda: answers.append(controlled.ask("POST", "/v1/journal/expect", body)))
    waiting.start()
    main = controlled.clusters.main
    wait_until(lambda: main.waiting.count == 1, "the wait")

    send(controlled, "t")

    waiting.join()
    assert answers[0]["matches"]


def events_of(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def test_the_stream_of_events(controlled: Controlled) -> None:
    with controlled.http.stream("GET", "/v1/events", params={"event": "append,topic_created"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = events_of(answer)
        controlled.kafka.create_topic("t")
        send(controlled, "t")

        assert next(events)[1]["topic"] == "t"
        kind, append = next(events)
        assert (kind, append["base_offset"]) == ("append", 0)


def test_the_stream_goes_on_where_it_was_left(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    headers = {"Last-Event-ID": "0"}
    with controlled.http.stream("GET", "/v1/events", headers=headers) as answer:
        assert next(events_of(answer))[0] == "leader_changed"  # 0 was that there is a topic


def test_the_stream_with_the_whole(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t", partitions=2)
    with controlled.http.stream("GET", "/v1/events", params={"overview": "true"}) as answer:
        events = events_of(answer)
        kind, overview = next(events)
        assert kind == "overview"
        assert [line["isr"] for line in overview["partitions"]] == [[1, 2, 3], [2, 3, 1]]

        controlled.ask("POST", "/v1/clock/advance", {"ms": 5})

        kind, overview = next(event for event in events if event[0] == "overview")
        assert overview["cluster"]["clock"]["elapsed_ms"] == 5


def test_the_stream_tells_of_a_reset(controlled: Controlled) -> None:
    with controlled.http.stream("GET", "/v1/events") as answer:
        events = events_of(answer)
        controlled.ask("POST", "/v1/reset")

        assert next(events) == ("reset", {})


def test_the_end_of_the_cluster_ends_the_stream() -> None:
    ended: list[object] = []

    def read(url: str) -> None:
        with httpx.Client(trust_env=False, verify=False) as http, http.stream("GET", f"{url}/v1/events") as answer:
            lines = answer.iter_lines()
            ended.append(next(lines))
            with suppress(httpx.HTTPError):
                ended.extend(lines)
        ended.append("end")

    with Controlled() as controlled:
        reading = threading.Thread(target=read, args=(controlled.control.url,))
        reading.start()
        wait_until(lambda: bool(ended), "the stream")
    join(reading)

    assert ended[-1] == "end"


def test_a_journal_of_very_many_events_is_freed_in_slices() -> None:
    events: deque[Any] = deque(range(10_000))
    assert len(list(_freed(events))) == 10
