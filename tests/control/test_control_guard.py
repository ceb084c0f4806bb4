"""Access to the control, and its limits."""

from __future__ import annotations

import json
import re
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest
from support.controlled import Controlled
from support.watchdog import LIMIT_S

AUTH = "Authorization"


def test_another_host_than_this_machine_is_refused(controlled: Controlled) -> None:
    for host, status in (
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:9644", 200),
        ("192.168.1.7:9644", 200),  # an address: no name that was rebound
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("", 403),
        ("[::1", 403),
    ):
        answer = controlled.http.get("/v1/cluster", headers={"Host": host})
        assert answer.status_code == status, host
    assert answer.json()["error"]["code"] == "FORBIDDEN"


def test_a_page_of_another_site_is_refused(controlled: Controlled) -> None:
    answer = controlled.http.post("/v1/reset", headers={"Origin": "http://evil.example"})

    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == "a page of 'http://evil.example' may not ask here"
    assert controlled.http.get("/v1/cluster", headers={"Origin": controlled.control.url}).status_code == 200


def test_a_token() -> None:
    with Controlled(token="secret") as controlled:
        assert controlled.get("/v1/cluster")["topics"] == 0
        for name, value in (("X", "y"), (AUTH, "Bearer wrong"), (AUTH, "Basic secret"), (AUTH, "Bearer \xe9")):
            headers = [(name.encode(), value.encode("latin-1"))]
            answer = httpx.get(f"{controlled.control.url}/v1/cluster", headers=headers, trust_env=False, verify=False)
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        elsewhere = {"Host": "kafka:9644"}
        assert controlled.http.get("/v1/cluster", headers=elsewhere).status_code == 200
        assert (
            httpx.get(controlled.control.url, trust_env=False, verify=False).status_code == 200
        )  # the page: it has nothing to hide


@pytest.mark.parametrize("headers", [{}, {"Host": "evil.example"}])
@pytest.mark.parametrize("size", [1_048_577, 2_000_000, 20_000_000])
@pytest.mark.parametrize("pieces", [1, 7])
def test_too_large_a_body_gets_an_error(
    size: int, pieces: int, headers: dict[str, str], controlled: Controlled
) -> None:
    """The length may come first (one piece) or not. This client reads nothing before it has sent all."""
    content = b"x" * size if pieces == 1 else iter([b"x" * (size // pieces + 1)] * pieces)
    connection = HTTPConnection(urlsplit(controlled.control.url).netloc, timeout=LIMIT_S)
    with closing(connection):
        way = {"Connection": "close"} | ({"Transfer-Encoding": "chunked"} if pieces > 1 else {})
        connection.request("POST", "/v1/topics", content, headers | way, encode_chunked=pieces > 1)
        answer = connection.getresponse()
        said = json.loads(answer.read())

    assert answer.status == (403 if headers else 413)
    assert said["error"]["code"] == ("FORBIDDEN" if headers else "TOO_LARGE")


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"[" + b"0," * 32_000 + b"0]", 413, "TOO_LARGE"),
        (b"{" + b",".join(b'"m%d": 1' % number for number in range(1_001)) + b"}", 413, "TOO_LARGE"),
        (b"{", 400, "INVALID_JSON"),
        (b"[" * 100_000, 400, "INVALID_JSON"),
        (b'{"name": 1' + b"0" * 5_000 + b"}", 400, "INVALID_JSON"),
        (b"\xff", 400, "INVALID_JSON"),
        (b"[]", 422, "INVALID_BODY"),
        (b"", 422, "INVALID_BODY"),
        (b'{"name": "\\ud800"}', 400, "INVALID_JSON"),
        (b'{"name": "t", "partitions": 1e400}', 422, "INVALID_BODY"),
        (b'{"name": "t", "configs": {"retention.ms": NaN}}', 400, "INVALID_JSON"),
    ],
)
def test_a_body_that_is_none(controlled: Controlled, content: bytes, status: int, code: str) -> None:
    answer = controlled.http.post("/v1/topics", content=content)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_the_type_of_a_body_does_not_matter(controlled: Controlled) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}  # of curl -d
    assert controlled.http.post("/v1/topics", content=b'{"name": "t"}', headers=headers).status_code == 201


def test_a_path_and_a_method_that_are_not_there(controlled: Controlled) -> None:
    error = controlled.refused("GET", "/v1/topic", status=404)
    assert error["message"] == "there is no path /v1/topic; /openapi.json has those there are"
    error = controlled.refused("PATCH", "/v1/topics", status=405)
    assert error["code"] == "METHOD_NOT_ALLOWED"


def test_the_page_uses_existing_paths_and_forbids_frames(controlled: Controlled) -> None:
    answer = controlled.http.get("/")

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    paths = controlled.get("/openapi.json")["paths"]
    paths_of_page = set(re.findall(r"\$\{base\}(/[a-z/.]+)", answer.text))
    assert {"/events", "/journal", "/journal/timeline", "/journal/timeline.svg", "/clock/advance"} == paths_of_page
    assert {f"/v1{path}" for path in paths_of_page} <= paths.keys()
    assert "[hidden] { display: none !important; }" in answer.text  # else a request without a picture shows another's
    assert "http://" not in answer.text  # nothing is fetched from elsewhere
    assert "https://" not in answer.text
