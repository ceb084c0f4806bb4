"""The request to resume the followers of each topic; an error is one sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from support.controlled import Controlled
from support.ports import free_ports

from fakebroker_load.control import ControlCallError, check_control, resume_followers


@contextmanager
def control(status: int) -> Iterator[tuple[str, list[tuple[str, str, object]]]]:
    requests: list[tuple[str, str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Suppress the output on the terminal."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_each_topic_goes_on() -> None:
    with control(200) as (url, requests):
        resume_followers(url, ["a", "b"])
    kind = "application/json"
    assert requests == [("/v1/followers", kind, {"behaviour": "resume", "topic": name}) for name in ("a", "b")]


def test_a_control_that_refuses() -> None:
    with control(404) as (url, _), pytest.raises(ControlCallError, match=r"followers of a cannot be resumed .*404"):
        resume_followers(url, ["a"])


def test_a_control_that_is_not_there() -> None:
    for url in ("nonsense", "file:///etc/hostname#", f"http://127.0.0.1:{free_ports(1)}"):
        with pytest.raises(ControlCallError, match=f"--control {url}: it does not answer"):
            check_control(url)


def test_a_control_that_is_there() -> None:
    with Controlled(token="secret") as controlled:
        controlled.kafka.create_topic("a")
        controlled.kafka.followers.freeze("a")
        check_control(controlled.control.url, "secret")
        resume_followers(controlled.control.url, ["a"], "secret")
        with pytest.raises(ControlCallError, match="401"):
            check_control(controlled.control.url)
        assert {follower["behaviour"] for follower in controlled.get("/v1/topics/a")["partitions"][0]["followers"]} == {
            "instant"
        }
