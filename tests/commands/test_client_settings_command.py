"""`fakebroker client-settings`: what it prints, and what it says of mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from support.command_line import run
from support.serving import Serving

LISTENERS = ("--listener", "PLAINTEXT", "--listener", "SASL_PLAINTEXT")


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    options = ("--brokers", "1", "--control-port", "0", "--control-token", "key", "--user", r"alice=se\cret")
    with Serving(*LISTENERS, *options) as running:
        yield running


def control(serving: Serving) -> tuple[str, ...]:
    return "--control", serving.facts["control_url"], "--control-token", "key"


def test_the_settings_of_the_first_listener_are_printed_as_json(serving: Serving) -> None:
    result = run("client-settings", "confluent", *control(serving))
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {
        "bootstrap.servers": serving.facts["bootstrap_servers"],
        "security.protocol": "PLAINTEXT",
    }


def test_the_settings_of_java_are_properties(serving: Serving) -> None:
    result = run("client-settings", "java", "sasl_plaintext", "--user", "alice", *control(serving))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        f"bootstrap.servers={serving.facts['listeners']['SASL_PLAINTEXT']}",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        r'username="alice" password="se\\\\cret";',
    ]


class Answer(BaseHTTPRequestHandler):
    """A server that has one answer to each request."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()
        self.wfile.write(self.server.body)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(body: str, status: int = 200) -> Iterator[str]:
    """Run such a server and return its URL."""
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        server.status, server.body = status, body.encode()  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


TEXTS = {"a": "\xe4\u20ac", "b": "\U0001d11e\\", "c": "\ud800", "d": " \n"}


def test_properties_are_read_back_by_java_and_have_ascii_only() -> None:
    with answering(json.dumps({"settings": TEXTS})) as url:
        result = run("client-settings", "java", "--control", url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        r"a=\u00e4\u20ac",
        r"b=\ud834\udd1e\\",
        r"c=\ud800",
        r"d=\u0020\u000a",
    ]


def test_json_has_ascii_only() -> None:
    with answering(json.dumps({"settings": TEXTS})) as url:
        result = run("client-settings", "confluent", "--control", url)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.isascii()
    assert json.loads(result.stdout) == TEXTS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("java", "X"), "no listener 'X': there are PLAINTEXT (PLAINTEXT), SASL_PLAINTEXT (SASL_PLAINTEXT)"),
        (("java", "SASL_PLAINTEXT"), "the listener SASL_PLAINTEXT has SASL: give user and password"),
        (("ruby",), "library: "),
    ],
)
def test_the_control_says_what_is_wrong(serving: Serving, words: tuple[str, ...], sentence: str) -> None:
    result = run("client-settings", *words, *control(serving))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"fakebroker: {sentence}")


def test_a_wrong_token_is_said(serving: Serving) -> None:
    result = run("client-settings", "java", "--control", serving.facts["control_url"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Authorization: Bearer TOKEN" in result.stderr


def test_a_control_that_cannot_be_reached_is_said_with_where_to_find_its_address() -> None:
    result = run("client-settings", "java", "--control", "http://127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    sentence = (
        "--control http://127.0.0.1:1 cannot be reached: Connection refused; `fakebroker serve` prints its address"
    )
    assert result.stderr == f"fakebroker: {sentence}\n"


@pytest.mark.parametrize("url", ["127.0.0.1:9644", "http://[", "htp://127.0.0.1:1"])
def test_an_address_without_a_control_is_one_sentence(url: str) -> None:
    result = run("client-settings", "java", "--control", url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"fakebroker: --control {url} does not answer as fakebroker's HTTP control: ")
    assert result.stderr.count("\n") == 1


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "body",
    ["[]", "null", "5", "{}", *(f'{{"settings": {other}}}' for other in ("null", "5", "[]", '["ab"]', '""')), DEEP],
)
def test_a_server_with_other_json_is_one_sentence(body: str) -> None:
    with answering(body) as url:
        result = run("client-settings", "java", "--control", url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"fakebroker: --control {url} does not answer as fakebroker's HTTP control: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("body", ["[]", '{"error": null}', '{"error": []}', DEEP])
def test_another_error_of_a_server_is_one_sentence(body: str) -> None:
    with answering(body, status=500) as url:
        result = run("client-settings", "java", "--control", url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"fakebroker: --control {url}: HTTP Error 500")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("java", "--user", "\udcff"), "the user"),
        (("java", "--password", "\udcff"), "the password"),
        (("java", "--common-name", "\udcff"), "the common name"),
        (("java", "--token", "\udcff"), "the token"),
        (("java", "--mechanism", "\udcff"), "the mechanism"),
        (("\udcff",), "the library"),
        (("java", "\udcff"), "the listener"),
        (("java", "--control-token", "\udcff"), "the control token"),
    ],
)
def test_what_is_no_unicode_is_said_before_anything_is_sent(words: tuple[str, ...], what: str) -> None:
    result = run("client-settings", *words, "--control", "http://127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    sentence = rf"{what} has '\udcff' at place 1, which is no character of Unicode"
    assert result.stderr == f"fakebroker: {sentence}\n"
