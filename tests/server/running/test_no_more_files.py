"""No more files can be opened: a line in the log, no busy loop, and connected clients are served. New clients are
served when others have disconnected."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest
from support import doses
from support.cpu_time import Slowness
from support.raw_client import RawClient
from support.requests import Produced, api_versions, produce
from support.serving import Serving
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster
from fakebroker.server import fake_cluster, loops
from fakebroker.server.running.no_more_files import Files, tell_of_no_more_files
from fakebroker.server.writing.limited_log import LimitedLog

FILES = 64
SENTENCE = "no more files can be opened: this process has as many as it may (ulimit -n)"
FEW_FILES = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))"
ON_ASYNCIO = "import asyncio, fakebroker.server.loops as loops; loops.new_event_loop = asyncio.new_event_loop"
PRELUDES = {"asyncio": f"{FEW_FILES}\n{ON_ASYNCIO}"}
TAKE_THEM_ALL = """
import os, signal
def take(*_):
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        pass
signal.signal(signal.SIGUSR1, take)
"""
if loops.NAME == "uvloop":
    PRELUDES["uvloop"] = FEW_FILES
of_both_loops = pytest.mark.parametrize("prelude", PRELUDES.values(), ids=list(PRELUDES))
USUAL = PRELUDES.get("uvloop", PRELUDES["asyncio"])
of_the_usual_loop = pytest.mark.parametrize("prelude", doses.nightly_but([USUAL], PRELUDES.values()))
on_linux = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the limits of another process are unknown here"
)


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_served(serving: Serving) -> bool:
    with RawClient(serving.endpoint(1)) as client:
        try:
            return bool(client.ask(api_versions()))
        except (EOFError, OSError):
            return False


@on_linux
@of_both_loops
def test_more_connections_than_files(prelude: str) -> None:
    began = monotonic()
    with (
        Serving("--port", "0", "--topic", "t", "--followers", "frozen", prelude=prelude) as serving,
        ExitStack() as stack,
        RawClient(serving.endpoint(1)) as first,
    ):
        first.ask(api_versions())
        others = [stack.enter_context(RawClient(serving.endpoint(1))) for _ in range(FILES + 20)]
        assert select.select([client.socket for client in others], [], [], LIMIT_S)[0]  # one is closed again
        before_s = cpu_s(serving.process.pid)
        # It takes that long. The first Produce imports what reads it.
        assert Produced(first.ask(produce("t", timeout_ms=1_200))).partitions == {0: (7, 0)}
        slowness = Slowness()
        for _ in range(5):
            slowness.take()
        assert cpu_s(serving.process.pid) - before_s < 0.5 * slowness.factor()
        for client in others:
            client.socket.close()
        wait_until(lambda: is_served(serving), "a new client's turn")
        status, _, err = serving.stop(signal.SIGTERM)

    seconds = monotonic() - began
    lines = [line for line in err.splitlines() if SENTENCE in line]
    assert status == 0
    assert 1 <= len(lines) <= 2 * (seconds + 2)  # each second one, and one for those that it stands for
    assert "Traceback" not in err
    assert "system resource" not in err


@on_linux
@of_the_usual_loop
def test_a_request_that_is_the_first_of_its_kind_when_there_is_no_file(prelude: str) -> None:
    with (
        Serving("--port", "0", "--topic", "t", prelude=prelude + TAKE_THEM_ALL) as serving,
        RawClient(serving.endpoint(1)) as client,
    ):
        client.ask(api_versions())
        serving.process.send_signal(signal.SIGUSR1)
        files = Path(f"/proc/{serving.process.pid}/fd")
        wait_until(lambda: len(list(files.iterdir())) == FILES, "the last file")
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}
        serving.stop(signal.SIGTERM)


@on_linux
@of_the_usual_loop
def test_a_request_that_cannot_be_read_closes_its_connection_with_a_reason(prelude: str) -> None:
    with Serving("--port", "0", "--topic", "t", prelude=prelude) as serving, RawClient(serving.endpoint(1)) as client:
        client.ask(api_versions())
        resource.prlimit(serving.process.pid, resource.RLIMIT_NOFILE, (3, FILES))  # what is kept is above that
        with pytest.raises(EOFError):
            client.ask(produce("t"))
        resource.prlimit(serving.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        with RawClient(serving.endpoint(1)) as another:
            assert Produced(another.ask(produce("t"))).partitions == {0: (0, 0)}
        status, _, err = serving.stop(signal.SIGTERM)

    assert status == 0
    assert "a request cannot be read here: [Errno 24] Too many open files" in err
    assert "Traceback" not in err


@pytest.fixture
def told() -> Iterator[LimitedLog]:
    loop = asyncio.new_event_loop()
    yield LimitedLog(logging.getLogger("fakebroker"), loop)
    loop.close()


def test_while_there_is_room_nothing_is_told(told: LimitedLog, caplog: pytest.LogCaptureFixture) -> None:
    assert not Files(told).are_short(2)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert not Files(told).are_short(limit)  # which is none
    assert caplog.messages == []


def test_other_errors_are_told_as_the_loop_does_it(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    tell_of_no_more_files(loop)
    loop.call_exception_handler({"message": "something else", "exception": ValueError("x")})
    loop.call_exception_handler({"message": "in _start_serving", "exception": ValueError("x")})
    loop.close()

    assert [message.splitlines()[0] for message in caplog.messages] == ["something else"]


def test_a_cluster_of_the_library_has_a_loop_that_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.new_event_loop()
    monkeypatch.setattr(fake_cluster, "new_event_loop", lambda: loop)
    with FakeCluster(brokers=1):
        assert loop.get_exception_handler() is not None
