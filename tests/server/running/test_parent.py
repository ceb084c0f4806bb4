"""`serve --exit-with-parent` ends with the program that started it, however that ends."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest
from support.command_line import run
from support.serving import Serving
from support.watchdog import LIMIT_S

from fakebroker.server.running import parent


def test_the_end_of_stdin_ends_it_in_order() -> None:
    with Serving("--port", "0", "--no-control", "--exit-with-parent", stdin=subprocess.PIPE) as serving:
        assert serving.process.stdin is not None
        serving.process.stdin.write("what comes there is dropped\n")
        serving.process.stdin.close()
        assert serving.process.wait(LIMIT_S) == 0
        assert serving.process.stderr is not None
        assert serving.process.stderr.read() == ""


def test_without_it_the_end_of_stdin_means_nothing() -> None:
    with Serving("--port", "0", "--no-control", stdin=subprocess.DEVNULL) as serving:
        assert serving.process.poll() is None


def test_a_stdin_that_is_no_pipe_is_a_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent, "is_a_pipe", lambda descriptor: False)
    exit_code, _, err = run("serve", "--port", "0", "--exit-with-parent")
    assert exit_code == 2
    assert err.startswith("fakebroker: --exit-with-parent: stdin is not a pipe")


def test_what_is_a_pipe() -> None:
    reading, writing = os.pipe()
    one, other = socket.socketpair()
    with one, other, open(os.devnull, "rb") as null:
        answers = [parent.is_a_pipe(descriptor) for descriptor in (reading, one.fileno(), null.fileno())]
    os.close(reading)
    os.close(writing)
    assert answers == [True, True, False]
