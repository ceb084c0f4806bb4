"""`fakebroker serve` and its control: by default, on request, on a port in use, and switched off."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import ExitStack
from struct import pack
from typing import Any

import httpx
import pytest
from support.raw_client import RawClient
from support.requests import produce
from support.serving import Serving, fakebroker
from support.watchdog import LIMIT_S


def ask(serving: Serving, method: str, path: str, body: object = None, **headers: str) -> Any:
    url = serving.facts["control_url"] + path
    answer = httpx.request(method, url, json=body, headers=headers, timeout=LIMIT_S, trust_env=False, verify=False)
    assert answer.status_code < 400, answer.text
    return answer.json() if answer.content else None


def check_the_line_of_stdout(serving: Serving, out: str) -> None:
    assert serving.facts["control_url"].startswith("http://127.0.0.1:")
    assert f" control_url={serving.facts['control_url']} pid=" in out


def test_there_is_none() -> None:
    with Serving("--port", "0", "--no-control") as serving:
        assert serving.facts["control_url"] is None


def test_there_is_one_by_default_and_it_moves_a_manual_clock() -> None:
    with Serving("--port", "0", "--topic", "t", "--followers", "frozen", "--clock", "manual") as serving:
        assert ask(serving, "GET", "/v1/cluster")["bootstrap_servers"] == serving.facts["bootstrap_servers"]
        with RawClient(serving.endpoint(1)) as client:
            client.send(produce("t", timeout_ms=30_000))
            assert ask(serving, "POST", "/v1/purgatory/wait", {"api": "Produce"})["matches"]
            assert ask(serving, "POST", "/v1/clock/advance", {"to": "next_deadline"})["advanced_ms"] == 30_000
            client.receive()
        body = {"topic": "t", "error": "REQUEST_TIMED_OUT", "count": 1}
        assert ask(serving, "POST", "/v1/journal/expect", body)["matches"]
        status, out, err = serving.stop(signal.SIGTERM)

    assert (status, err) == (0, "")
    check_the_line_of_stdout(serving, out)


def test_one_that_was_asked_for_keeps_the_journal_resets_to_the_options_and_ends_in_the_middle_of_a_stream() -> None:
    options = ("--topic", "t", "--quota", "client-id=loader,producer_byte_rate=1000")
    with Serving("--port", "0", "--control-port", "0", *options) as serving:
        with RawClient(serving.endpoint(1)) as client:
            client.ask(produce("t"))
        kinds = {event["event"] for event in ask(serving, "GET", "/v1/journal")["events"]}
        assert {"topic_created", "append"} <= kinds  # from the start

        ask(serving, "POST", "/v1/topics", {"name": "u"})
        ask(serving, "POST", "/v1/reset")
        assert [topic["name"] for topic in ask(serving, "GET", "/v1/topics")["topics"]] == ["t"]
        assert len(ask(serving, "GET", "/v1/quotas")["quotas"]) == 1

        url = serving.facts["control_url"]
        with httpx.Client(trust_env=False, verify=False) as http, http.stream("GET", f"{url}/v1/events") as answer:
            next(answer.iter_lines())
            made = ask(serving, "POST", "/v1/clusters", {"brokers": 1})
            assert made["brokers"][0]["is_running"]
            status, out, err = serving.stop(signal.SIGTERM)

    assert (status, err) == (0, "")
    check_the_line_of_stdout(serving, out)


def test_a_port_that_is_taken_is_no_reason_not_to_serve_unless_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = fakebroker("serve", "--port", "0", "--control-port", port)
        assert result.returncode == 2
        assert result.stderr.startswith(f"fakebroker: cannot listen on 127.0.0.1:{port} for the control: ")
        assert result.stderr.endswith("; take another --control-port, or --control-port 0 for a free one\n")

        prelude = f"import fakebroker.serving\nfakebroker.serving.DEFAULT_PORT = {port}"
        free = socket.create_server(("127.0.0.1", 0))
        brokers_port = free.getsockname()[1]
        free.close()
        with Serving("--brokers", "1", "--port", str(brokers_port), prelude=prelude) as serving:
            assert serving.facts["control_url"] is None
            status, _, err = serving.stop(signal.SIGTERM)
    assert status == 0
    assert f"cannot listen on 127.0.0.1:{port} for the control" in err
    assert "serving without it" in err


def test_what_is_not_installed_is_told_if_it_was_asked_for() -> None:
    prelude = "import fakebroker.control.listening as l\nl._NEEDED = ('no_such_module',)"
    with Serving("--port", "0", prelude=prelude) as serving:
        assert serving.facts["control_url"] is None
        _, out, err = serving.stop(signal.SIGTERM)
    assert err == ""
    how = "it needs no_such_module, which is not installed: pip install '.[control]' in the checkout of fakebroker"
    assert out.endswith(f" pid={serving.process.pid} (no HTTP control: {how})\n")
    with Serving("--port", "0", "--no-control", prelude=prelude) as serving:
        assert serving.stop(signal.SIGTERM)[1].endswith(f" pid={serving.process.pid}\n")  # which is as it was wanted
    refused = Serving("--port", "0", "--control-port", "0", prelude=prelude)
    with pytest.raises(AssertionError, match="the control needs no_such_module, which is not installed: pip install"):
        refused.__enter__()


def test_a_token_for_others() -> None:
    options = ("--control-host", "0.0.0.0", "--control-token", "secret", "--control-port", "0")
    with Serving("--port", "0", *options) as serving:
        url = serving.facts["control_url"].replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/v1/cluster", trust_env=False, verify=False).status_code == 401
        headers = {"Authorization": "Bearer secret"}
        assert httpx.get(f"{url}/v1/cluster", headers=headers, trust_env=False, verify=False).status_code == 200


def test_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKEBROKER_CONTROL_TOKEN", "secret")
    with Serving("--port", "0") as serving:
        assert httpx.get(f"{serving.facts['control_url']}/v1/cluster", trust_env=False, verify=False).status_code == 401
        assert ask(serving, "GET", "/v1/cluster", Authorization="Bearer secret")["topics"] == 0


def read_until(connection: socket.socket, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        more = connection.recv(65_536)
        assert more, received
        received += more


def read_all(connection: socket.socket) -> bytes:
    received = b""
    while True:
        try:
            more = connection.recv(65_536)
        except ConnectionResetError:
            return received
        if not more:
            return received
        received += more


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_without_a_word_whatever_is_attached(number: signal.Signals) -> None:
    """Attached are streams with and without a reader, waits, an incomplete request, and a silent connection."""
    readers = {
        "events": b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "page": b"GET /v1/events?overview=true HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "of a cluster": b"GET /v1/clusters/c1/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "unread": b"GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "wait": b"POST /v1/purgatory/wait HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 18\r\n\r\n" + b'{"api": "Produce"}',
        "half": b"POST /v1/journal/expect HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
        "head": b"GET /v1/clus",
        "silent": b"",
    }
    with ExitStack() as stack:
        serving = stack.enter_context(Serving("--port", "0", "--control-port", "0", "--topic", "t:50"))
        ask(serving, "POST", "/v1/clusters", {"brokers": 1})
        address = httpx.URL(serving.facts["control_url"])
        connections = {}
        for name, frame in readers.items():
            connections[name] = stack.enter_context(socket.create_connection((address.host, address.port), LIMIT_S))
            connections[name].sendall(frame)
        for name in ("events", "page", "of a cluster"):
            read_until(connections[name], b"the events of a cluster")
        status, _, err = serving.stop(number)
        ended = {name: read_all(connection) for name, connection in connections.items()}

    assert (status, err) == (0, "")
    for name in ("events", "page", "of a cluster"):
        assert ended[name].endswith(b"0\r\n\r\n")  # the stream was ended, and not cut


def test_what_is_no_http_is_told_with_the_peer() -> None:
    with Serving("--port", "0", "--control-port", "0") as serving:
        address = httpx.URL(serving.facts["control_url"])
        for first in (pack(">ihhi", 24, 18, 3, 1), b"\x16\x03\x01\x02\x00", b"NONSENSE\r\n\r\n"):
            with socket.create_connection((address.host, address.port), LIMIT_S) as connection:
                connection.sendall(first)
                read_all(connection)
        status, _, err = serving.stop(signal.SIGTERM)

    lines = err.splitlines()
    assert status == 0
    assert len(lines) == 3, err
    for said in (
        r"closed the connection from 127\.0\.0\.1:\d+: it speaks Kafka's protocol, and this is the HTTP control",
        r"closed the connection from 127\.0\.0\.1:\d+: it speaks TLS, and the control is plain HTTP",
        r"got bytes that are not HTTP, from 127\.0\.0\.1:\d+",
    ):
        assert any(re.search(said, line) for line in lines), err
    assert "Invalid HTTP" not in err
