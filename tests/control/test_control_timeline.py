"""The time line of one request over HTTP: as steps, and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import api_versions, produce


@pytest.fixture
def written(controlled: Controlled) -> Controlled:
    """A record of <shop>, and before it a request that is no Produce."""
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
    texts = {text.text for text in ET.fromstring(answer.text).iter("{http://www.w3.org/2000/svg}text")}
    assert "request 1 of <shop>" in texts


def test_what_cannot_be_told_is_one_sentence(written: Controlled) -> None:
    (other,) = written.get("/v1/journal", event="request", api="ApiVersions")["events"]
    assert len(written.get("/v1/journal/timeline", request=other["request"])["steps"]) > 1
    for path in ("/v1/journal/timeline", "/v1/journal/timeline.svg"):
        for query in ({}, {"request": 1, "topic": "t"}, {"topic": "t", "partition": 0}, {"request": 1, "offset": 0}):
            error = written.refused("GET", path, **query)
            assert error["message"] == "choose one by request, or by topic, partition and offset"
        error = written.refused("GET", path, status=404, request=99)
        assert error["message"] == "the journal has no request 99"
        error = written.refused("GET", path, status=404, topic="t", partition=0, offset=7)
        assert error["message"] == "the journal does not say who wrote offset 7 of t-0"
    error = written.refused("GET", "/v1/journal/timeline.svg", request=other["request"])
    assert error["message"] == "there are pictures of Produce requests alone"
