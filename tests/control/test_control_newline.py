"""Every answer ends with one newline, also those that refuse; nothing is added to a stream."""

from __future__ import annotations

import pytest
from support.controlled import Controlled

ANSWERS = {
    "/": 200,
    "/metrics": 200,
    "/openapi.json": 200,
    "/v1/cluster": 200,
    "/v1/journal": 200,
    "/v1/journal?limit=x": 422,
    "/v1/topics/nothing": 404,
    "/nowhere": 404,
}


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_ends_with_a_newline(controlled: Controlled, path: str) -> None:
    answer = controlled.http.get(path)
    assert answer.status_code == ANSWERS[path]
    assert answer.content.endswith(b"\n")
    assert not answer.content.endswith(b"\n\n")
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_an_answer_without_content_stays_so(controlled: Controlled) -> None:
    answer = controlled.http.delete("/v1/journal")
    assert (answer.status_code, answer.content) == (204, b"")


def test_what_the_guard_refuses_ends_with_a_newline(controlled: Controlled) -> None:
    answer = controlled.http.get("/v1/cluster", headers={"Origin": "http://elsewhere"})
    assert answer.status_code == 403
    assert answer.content.endswith(b"}}\n")


def test_a_stream_begins_at_once(controlled: Controlled) -> None:
    with controlled.http.stream("GET", "/v1/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
