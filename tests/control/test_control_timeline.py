"""The time line of one request over HTTP: as steps, and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import api_versions, produce

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> set[str | None]:
    return {text.text for text in ET.fromstring(svg).iter(f"{SVG}text")}


@pytest.fixture
def written(controlled: Controlled) -> Controlled:
    """Produce a record <shop>, after a request that is no Produce."""
    controlled.kafka.create_topic("t")
    controlled.get("/v1/journal")
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.ask(api_versions())
        client.ask(produce("t", client_id="<shop>"))
    return controlled


def test_what_became_of_a_request(written: Controlled) -> None:
    (append,) = written.get("/v1/journal", event="append")["events"]
    steps = written.get("/v1/journal/timeline", request=append["request"])["steps"]
    assert steps == written.get("/v1/journal/timeline", topic="t", partition=0, offset=0)["steps"]
    assert steps[0]["text"] == "Produce v9 handled"
    assert steps[-1]["text"] == "answered: t-0 NONE, base offset 0"
    assert {step["where"] for step in steps} == {"broker 1"}
    kinds = [step["event"]["event"] for step in steps]
    assert kinds[:3] == ["request", "produce", "append"]
    assert "watermark_moved" in kinds


def test_the_same_as_a_picture(written: Controlled) -> None:
    answer = written.http.get("/v1/journal/timeline.svg", params={"topic": "t", "partition": 0, "offset": 0})
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "request 1 of <shop>" in texts(answer.text)


def test_a_request_that_is_still_parked(controlled: Controlled) -> None:
    controlled.kafka.create_topic("t")
    controlled.kafka.followers.freeze("t")
    controlled.get("/v1/journal")
    with RawClient(controlled.kafka.endpoints[0]) as client:
        client.send(produce("t", timeout_ms=30_000))
        (waiting,) = controlled.ask("POST", "/v1/purgatory/wait", {"api": "Produce"})["waiting"]
        controlled.kafka.clock.advance(12_000)
        timeline = controlled.get("/v1/journal/timeline", request=waiting["request"])
        assert timeline["steps"][-1]["text"] == "parked, for at most 30000 ms"
        assert (timeline["until_ms"], timeline["parked"]["waited_ms"], timeline["parked"]["left_ms"]) == (
            12_000,
            12_000,
            18_000,
        )
        drawn = controlled.http.get("/v1/journal/timeline.svg", params={"request": waiting["request"]}).text
        assert {"still parked, 18,000 ms left", "12,000"} <= texts(drawn)
        (bar,) = [rectangle for rectangle in ET.fromstring(drawn).iter(f"{SVG}rect") if rectangle.get("class") == "p"][
            :1
        ]
        assert float(bar.get("width", "0")) == 550.0  # all of the picture's time

        controlled.kafka.clock.advance(18_000)
        timeline = controlled.get("/v1/journal/timeline", request=waiting["request"])
        assert timeline["steps"][-1]["text"] == "answered: t-0 REQUEST_TIMED_OUT, base offset 0"
        assert (timeline["until_ms"], timeline["parked"]) == (30_000, None)


def test_what_cannot_be_told_is_one_sentence(written: Controlled) -> None:
    (other,) = written.get("/v1/journal", event="request", api="ApiVersions")["events"]
    assert len(written.get("/v1/journal/timeline", request=other["request"])["steps"]) > 1
    for path in ("/v1/journal/timeline", "/v1/journal/timeline.svg"):
        for query in ({}, {"request": 1, "topic": "t"}, {"topic": "t", "partition": 0}, {"request": 1, "offset": 0}):
            error = written.refused("GET", path, **query)
            assert error["message"] == "choose a request by its number, or by topic, partition and offset"
        error = written.refused("GET", path, status=404, request=99)
        assert error["message"] == "the journal has no request 99"
        error = written.refused("GET", path, status=404, topic="t", partition=0, offset=7)
        assert error["message"] == "the journal has no request that wrote offset 7 of t-0"
    error = written.refused("GET", "/v1/journal/timeline.svg", request=other["request"])
    assert error["message"] == "only Produce requests have pictures"
