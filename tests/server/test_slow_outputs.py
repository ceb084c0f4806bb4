"""`fakebroker serve` next to a reader that does not read: it continues, and SIGTERM ends it with status 0.

It sleeps for at most two seconds before it ends: so long it waits for such a reader."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from support import doses
from support.cpu_time import Slowness
from support.raw_client import RawClient
from support.requests import CREATE_TOPICS, Produced, batch, fetch, metadata, produce, request
from support.serving import COMMAND, Serving
from support.watchdog import LIMIT_S, wait_until

from fakebroker.core.journal.events import Answer, Append, Event
from fakebroker.core.journal.journal import from_lines

END_S = 2.0
BAD_FRAME = struct.pack(">i", -1)  # closes its connection, with a line in the log
ARGUMENTS = ("--port", "0", "--brokers", "1", "--topic", "t")


def sleeps_before_its_end(serving: Serving, number: signal.Signals = signal.SIGTERM) -> float:
    """Send a signal: return for how many seconds the process slept until it ended, with status 0."""
    times = serving.end(number)
    assert serving.process.returncode == 0
    return times.slept_s()


def check_it_serves(serving: Serving) -> None:
    with RawClient(serving.endpoint(1)) as client:
        assert Produced(client.ask(produce("t"))).partitions[0][0] == 0


@contextmanager
def full_pipe() -> Iterator[int]:
    """Return the write end of a full pipe without a reader."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (65_536, 1):
        try:
            while True:
                os.write(writing, b"x" * size)
        except BlockingIOError:
            pass
    os.set_blocking(writing, True)
    try:
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


def cause_log_lines(serving: Serving, count: int = 30) -> None:
    for _ in range(count):
        with RawClient(serving.endpoint(1)) as client:
            client.send(BAD_FRAME)
            assert client.is_closed_by_broker()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_log_that_is_not_read(number: signal.Signals) -> None:
    with full_pipe() as stderr, Serving(*ARGUMENTS, stderr=stderr) as serving:
        cause_log_lines(serving)
        check_it_serves(serving)

        assert sleeps_before_its_end(serving, number) < END_S


def test_a_stdout_that_is_not_read() -> None:
    with full_pipe() as stdout, Serving(*ARGUMENTS, stdout=stdout) as serving:
        check_it_serves(serving)

        assert sleeps_before_its_end(serving) < END_S


@pytest.mark.parametrize("which", ["stdout", "stderr"])
@pytest.mark.parametrize("device", doses.nightly_after(1, ["/dev/full", "/dev/null"]))
def test_a_stream_that_is_full(which: str, device: str) -> None:
    with open(device, "wb") as full:
        stdout, stderr = (full.fileno() if which == name else subprocess.PIPE for name in ("stdout", "stderr"))
        with Serving(*ARGUMENTS, stdout=stdout, stderr=stderr) as serving:
            cause_log_lines(serving, 2)
            check_it_serves(serving)
            status, out, err = serving.stop(signal.SIGTERM)

    assert status == 0
    assert "Traceback" not in f"{out}{err}"
    if which == "stdout" and device == "/dev/full":
        assert "the ready line could not be written to stdout: No space left on device" in err


@pytest.mark.parametrize("closed", doses.nightly_but([[1], [0, 1, 2]], [[0], [1], [2], [0, 1, 2]]))
def test_a_stream_that_is_closed_from_the_start(closed: list[int], tmp_path: Path) -> None:
    """A socket would otherwise become stdout, and uvloop ends the process with an assertion when it closes that."""
    ready = tmp_path / "ready"
    code = f"import os, sys; [os.close(fd) for fd in {closed}]; os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", code, *COMMAND, "serve", *ARGUMENTS, "--ready-file", str(ready)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, "the ready file")
            process.terminate()
            out, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()

    assert process.returncode == 0
    assert err == ""
    assert out.startswith("fakebroker ready") == (1 not in closed)


# The journal in a pipe.


def read_events(path: Path) -> list[Event]:
    """Return all events that a late reader gets, until the end."""
    with path.open() as lines:
        return list(from_lines(lines))


@contextmanager
def reading(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that reads a pipe to its end."""
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_journal_in_a_pipe_that_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    with Serving(*ARGUMENTS, "--journal", str(path)) as serving:
        check_it_serves(serving)
        status, _, err = stop_within(serving)

    assert status == 0
    assert f"the journal {path} is incomplete: its reader did not take the last " in err


def test_a_journal_in_a_pipe_that_is_open_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with (
            Serving(*ARGUMENTS, "--journal", str(path)) as serving,
            RawClient(serving.endpoint(1)) as client,
        ):
            for _ in range(300):  # some 700 bytes in the journal for each: more than a pipe holds
                client.ask(produce("t", acks=1))

            assert sleeps_before_its_end(serving) < END_S
    finally:
        os.close(reader)


def test_a_late_reader_of_the_journal_pipe_misses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    with Serving(*ARGUMENTS, "--journal", str(path)) as serving, RawClient(serving.endpoint(1)) as client:
        for _ in range(300):
            client.ask(produce("t", acks=1))
        with reading(path) as cat:
            assert serving.process.poll() is None
            serving.process.terminate()
            lines, _ = cat.communicate(timeout=LIMIT_S)
    events = list(from_lines(lines.splitlines()))

    assert [event.base_offset for event in events if isinstance(event, Append)] == list(range(300))


def test_what_was_acknowledged_before_the_signal_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Serving(*ARGUMENTS, "--journal", str(path)) as serving, RawClient(serving.endpoint(1)) as client:
        for _ in range(300):
            client.ask(produce("t", acks=1))

        assert sleeps_before_its_end(serving) < END_S
    assert sum(isinstance(event, Answer) for event in read_events(path)) == 300


# Many, and much.


@pytest.mark.parametrize("parked", [500])
def test_many_connections_whose_requests_wait(parked: int) -> None:
    with Serving(*ARGUMENTS[:-2], "--brokers", "3", "--followers", "frozen") as serving, ExitStack() as stack:
        clients = [stack.enter_context(RawClient(serving.endpoint(1))) for _ in range(parked)]
        clients[0].ask(metadata(["t"]))
        for client in clients:
            client.send(produce("t", timeout_ms=60_000))
        status, _, err = stop_within(serving)

    assert status == 0
    assert "Traceback" not in err


def stop_within(serving: Serving) -> tuple[int, str, str]:
    """End the process, which writes less than a pipe holds: return its status, stdout and stderr."""
    assert serving.end().slept_s() < END_S
    out, err = serving.process.communicate(timeout=LIMIT_S)
    return serving.process.returncode, out, err


def test_peers_that_do_not_read_their_answers() -> None:
    with Serving(*ARGUMENTS) as serving, ExitStack() as stack:
        clients = [stack.enter_context(RawClient(serving.endpoint(1))) for _ in range(10)]
        clients[0].ask(produce("t", records=batch(b"x" * 900_000), acks=1))
        for client in clients:
            client.send(*(fetch("t") for _ in range(10)))
            client.receive()  # so the others come, or are held up

        assert stop_within(serving)[0] == 0


@pytest.mark.nightly  # every day: the other ways to end, with few topics
@pytest.mark.slow
def test_many_topics() -> None:
    """Python frees the remaining objects at the end of a process: 1.7 s for these, 9 s for 100,000."""
    with Serving("--port", "0", "--brokers", "1") as serving, RawClient(serving.endpoint(1)) as client:
        client.socket.settimeout(LIMIT_S)
        for thousand in range(20):
            names = [f"t-{thousand}-{number}" for number in range(1_000)]
            spec = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            values = {
                "topics": [{"name": name, **spec} for name in names],
                "timeout": timedelta(seconds=1),
                "validate_only": False,
            }
            client.ask(request(CREATE_TOPICS, 5, values))

        times = serving.end()
        slowness = Slowness()
        for _ in range(5):
            slowness.take()
        assert serving.process.returncode == 0
        assert times.ran_s() < 1.0 * slowness.factor()
        assert serving.process.communicate()[1] == ""


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """The first signal waits for a journal that is not read."""
    path = tmp_path / "journal"
    os.mkfifo(path)
    with Serving(*ARGUMENTS, "--journal", str(path)) as serving:
        with RawClient(serving.endpoint(1)) as client:
            serving.process.terminate()
            assert client.is_closed_by_broker()  # so the first one has been seen
        serving.process.terminate()

        assert serving.process.wait(LIMIT_S) in {0, -signal.SIGTERM}


# The ready file.


def run_until_ready(ready: Path) -> tuple[int, str, str]:
    """`serve` with that ready file, ended when it has told on stdout that it is ready: (status, stdout, stderr)."""
    command = [*COMMAND, "serve", *ARGUMENTS, "--ready-file", str(ready)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            process.terminate()
            rest = process.stdout.read()
            _, err = process.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
    return process.returncode, first + rest, err


def test_a_ready_file_that_is_a_pipe_without_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    os.mkfifo(path)
    status, out, _ = run_until_ready(path)

    assert (status, out.count("fakebroker ready")) == (0, 1)
    assert path.is_fifo()


def test_a_ready_file_that_is_a_pipe_has_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "ready"
    os.mkfifo(path)
    with reading(path) as cat:
        run_until_ready(path)
        facts, _ = cat.communicate(timeout=LIMIT_S)

    assert '"bootstrap_servers"' in facts


def stdout_in(folder: Path) -> Path:
    """Return the file behind /dev/stdout. Never use that itself: if this test failed as root, it would be gone."""
    link = folder / "stdout"
    link.symlink_to("/proc/self/fd/1")
    return link


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no such link there")
def test_stdout_by_its_name_stays_what_it_is(tmp_path: Path) -> None:
    link = stdout_in(tmp_path)
    status, out, err = run_until_ready(link)

    assert (status, err) == (0, "")
    assert link.is_symlink()
    assert sorted(line.split()[0] for line in out.splitlines()) == ["fakebroker", '{"bootstrap_servers":']


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    run_until_ready(link)

    assert link.is_symlink()
    assert '"bootstrap_servers"' in file.read_text()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no such link there")
def test_a_ready_file_that_is_the_file_of_stdout(tmp_path: Path) -> None:
    path, link = tmp_path / "out", stdout_in(tmp_path)
    with path.open("w") as out:
        command = [*COMMAND, "serve", *ARGUMENTS, "--ready-file", str(link)]
        with subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE) as process:
            try:
                wait_until(lambda: path.read_text().count("\n") == 2, "both lines")
            finally:
                process.terminate()
                process.communicate(timeout=LIMIT_S)

    assert link.is_symlink()
    assert [line.split()[0] for line in path.read_text().splitlines()] == ['{"bootstrap_servers":', "fakebroker"]
