"""The command line: what it shows, and that a mistake is told in one sentence with exit status 2."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.serving import LIMIT_S, Serving, fakebroker, wait_until

import fakebroker as package
from fakebroker.apis import registry
from fakebroker.cli import TopicSpec, main, parse_settings, parse_topic
from fakebroker.core.journal.events import ConnectionClosed, TopicCreated
from fakebroker.core.journal.journal import from_lines
from fakebroker.core.journal.view import view_produce

OPTIONS = [
    "--brokers", "--host", "--port", "--advertised-host", "--topic", "--auto-create-topics", "--followers", "--config",
    "--seed", "--ready-file", "--clock", "--journal",
]  # fmt: skip


@pytest.fixture(autouse=True)
def never_hangs() -> Iterator[None]:
    """A mistake that is not noticed would serve for ever: end it."""
    alarm = threading.Timer(LIMIT_S, os.kill, (os.getpid(), signal.SIGTERM))
    alarm.start()
    yield
    alarm.cancel()
    alarm.join()


class Result(NamedTuple):
    exit_code: object
    stdout: str
    stderr: str


def run(*arguments: str) -> Result:
    """The console script in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["fakebroker", *arguments])
        patch.setenv("COLUMNS", "200")
        patch.setenv("TERM", "dumb")
        with pytest.raises(SystemExit) as ended:
            main()
    return Result(ended.value.code or 0, out.getvalue(), err.getvalue())


def test_version_tells_version_python_and_loop() -> None:
    result = run("--version")
    how = "compiled" if package.COMPILED else "interpreted"

    assert result.exit_code == 0
    assert re.fullmatch(
        rf"fakebroker {re.escape(package.__version__)} \(Python 3\.\d+\.\d+\S*, (uvloop|asyncio), {how}\)\n",
        result.stdout,
    )


def test_apis_shows_every_api_with_the_versions_that_are_served() -> None:
    result = run("apis")

    rows = [re.split(r"\s*[│|]\s*", line)[1:4] for line in result.stdout.splitlines() if re.match(r"[│|]\s+\d", line)]
    assert result.exit_code == 0
    assert rows == [
        [str(api.key), api.name, f"{api.min_version}-{api.max_version}"] for api in registry.load().values()
    ]


def test_configs_shows_what_is_honoured_and_what_is_kept() -> None:
    result = run("configs")
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.search(r"topic.*min\.insync\.replicas.*INT.*1.*dynamic.*core/replication/partition", result.stdout)
    assert re.search(r"broker.*num\.io\.threads.*INT.*8.*cluster-wide.*kept and shown only", result.stdout)
    assert "kept and shown only" not in run("configs", "--honoured").stdout


def test_configs_as_json() -> None:
    every = json.loads(run("configs", "--json").stdout)
    topics = json.loads(run("configs", "--json", "--kind", "topic", "--honoured").stdout)
    assert {row["kind"] for row in every} == {"broker", "topic"}
    assert len(every) > 400
    assert topics == [row for row in every if row["kind"] == "topic" and row["honoured_by"] is not None]
    assert {
        "kind": "broker",
        "name": "log.retention.ms",
        "type": "LONG",
        "default": None,
        "dynamic": "cluster-wide",
        "honoured_by": "core/replication/partition",
        "doc": "records that are older go; -1 keeps them; else log.retention.minutes",
        "is_kafkas": True,
    } in every


def test_configs_of_no_kind() -> None:
    result = run("configs", "--kind", "client")
    assert (result.exit_code, result.stderr) == (2, "fakebroker: --kind is broker or topic, not 'client'\n")


def test_help_names_every_command() -> None:
    result = run("--help")

    assert result.exit_code == 0
    assert "serve" in result.stdout
    assert "apis" in result.stdout


@pytest.mark.parametrize("option", OPTIONS)
def test_help_of_serve_names_every_option(option: str) -> None:
    result = run("serve", "--help")

    assert result.exit_code == 0
    assert option in result.stdout


# Mistakes. Each: the arguments of `serve`, and what the sentence says.

MISTAKES: dict[str, tuple[list[str], str]] = {
    "a manual clock": (["--clock", "manual"], "--clock manual needs somebody who moves it"),
    "a clock that does not exist": (["--clock", "fast"], "a clock is real, manual or auto, not 'fast'"),
    "a journal in no folder": (["--journal", "/nowhere/j"], "--journal /nowhere/j: No such file or directory"),
    "a journal that is a folder": (["--journal", "/"], "--journal /: Is a directory"),
    "a topic without a name": (["--topic", ":3"], "--topic ':3' is not NAME[:PARTITIONS[:REPLICATION]]"),
    "an empty topic": (["--topic", ""], "--topic '' is not NAME"),
    "partitions that are no number": (["--topic", "t:x"], "--topic 't:x' is not NAME"),
    "negative partitions": (["--topic", "t:-1"], "--topic 't:-1' is not NAME"),
    "too many colons": (["--topic", "t:1:1:1"], "--topic 't:1:1:1' is not NAME"),
    "nothing behind a colon": (["--topic", "t:"], "--topic 't:' is not NAME"),
    "a topic setting without a value": (["--topic", "t,x"], "--topic has 'x' where a setting name=value belongs"),
    "a topic setting without a name": (["--topic", "t,=1"], "--topic has '=1' where a setting name=value belongs"),
    "a trailing comma": (["--topic", "t,"], "--topic has '' where a setting name=value belongs"),
    "an illegal topic name": (["--topic", "a b"], "--topic a b: Topic name is invalid"),
    "no partitions": (["--topic", "t:0"], "--topic t: Number of partitions"),
    "no replicas": (["--topic", "t:1:0"], "--topic t: Replication factor must be larger than 0"),
    "more replicas than brokers": (["--topic", "t:1:4"], "only 3 broker(s) are registered"),
    "far too many partitions": (["--topic", "t:99999999999999999999"], "Excessively large number of partitions"),
    "a topic twice": (["--topic", "t", "--topic", "t"], "Topic 't' already exists"),
    "an unknown topic setting": (["--topic", "t,no.such=1"], "Unknown topic config name: no.such"),
    "a bad topic setting": (["--topic", "t,min.insync.replicas=x"], "Invalid value x for configuration min.insync"),
    "a topic setting below its minimum": (["--topic", "t,min.insync.replicas=0"], "Value must be at least 1"),
    "an unknown broker setting": (["--config", "no.such=1"], "Unknown configuration 'no.such'"),
    "a broker setting without a value": (["--config", "num.partitions"], "--config has 'num.partitions' where"),
    "a broker setting that is no number": (["--config", "num.partitions=many"], "Invalid value many for"),
    "a broker setting below its minimum": (["--config", "num.partitions=0"], "Value must be at least 1"),
    "a broker setting that is neither true nor false": (
        ["--config", "auto.create.topics.enable=perhaps"],
        "Invalid value perhaps for configuration auto.create.topics.enable: Expected value to be either true or false",
    ),
    "followers that do something else": (["--followers", "asleep"], "not 'asleep'"),
    "followers that lag by nothing": (["--followers", "lagging"], "not 'lagging'"),
    "followers that lag by no number": (["--followers", "lagging:soon"], "not 'lagging:soon'"),
    "followers that lag too long": (["--followers", "lagging:9999999999"], "a lag is 0 to 2147483647 ms"),
    "no room for the ports": (["--port", "65535"], "port 65535 leaves no room for 3 brokers"),
    "a ready file nowhere": (["--ready-file", "/no/such/folder/f"], "the folder /no/such/folder does not exist"),
    "a host that cannot be": (["--host", "no such host"], "cannot listen: the host 'no such host' is not known: "),
    "a host that nobody has": (["--host", "no.such.invalid"], "cannot listen: the host 'no.such.invalid' is not"),
    "a host with an empty label": (["--host", "a..b"], "cannot listen: the host 'a..b' is no"),
    "a setting with underscores": (
        ["--config", "num_partitions=2"],
        "Unknown configuration 'num_partitions': Kafka's names have dots, as in 'num.partitions'.",
    ),
    "a topic setting with underscores": (["--topic", "t,retention_ms=2"], "as in 'retention.ms'."),
    "a host of somebody else": (["--host", "192.0.2.1"], "cannot listen"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    result = run("serve", "--port", "0", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("fakebroker: ")
    assert sentence in line


# What typer itself refuses: the words are typer's and differ between its releases, so only what is named is checked.
REFUSED: dict[str, tuple[list[str], str]] = {
    "no brokers": (["--brokers", "0"], "--brokers"),
    "too many brokers": (["--brokers", "101"], "--brokers"),
    "brokers that are no number": (["--brokers", "three"], "--brokers"),
    "a negative port": (["--port", "-1"], "--port"),
    "a port too large": (["--port", "65536"], "--port"),
    "a port that is no number": (["--port", "http"], "--port"),
    "a seed that is no number": (["--seed", "x"], "--seed"),
    "an unknown option": (["--no-such-option"], "--no-such-option"),
    "an argument nobody asked for": (["what"], "what"),
    "an option without its value": (["--topic"], "--topic"),
}


@pytest.mark.parametrize(("arguments", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_what_typer_refuses_is_one_sentence_and_status_2(arguments: list[str], named: str) -> None:
    result = run("serve", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("fakebroker: ")
    assert named in line


def test_a_port_in_use_is_one_sentence_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--brokers", "1", "--port", str(port))

    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert str(port) in line
    assert "in use" in line
    assert line.endswith("take another --port, or --port 0 for free ones")


def test_another_port_is_proposed_only_if_that_helps() -> None:
    result = run("serve", "--port", "0", "--host", "192.0.2.1")

    assert "--port" not in result.stderr


def test_a_ready_file_that_is_a_folder_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "ready").mkdir()
    result = run("serve", "--port", "0", "--ready-file", str(tmp_path / "ready"))

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line == f"fakebroker: --ready-file {tmp_path / 'ready'}: Is a directory"


def test_a_ready_file_that_cannot_be_written_leaves_no_litter(tmp_path: Path) -> None:
    (tmp_path / "ready").mkdir()
    run("serve", "--port", "0", "--ready-file", str(tmp_path / "ready"))

    assert [path.name for path in tmp_path.iterdir()] == ["ready"]


def test_the_command_itself_tells_a_mistake_without_a_traceback() -> None:
    result = fakebroker("serve", "--port", "0", "--topic", "t:x")

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


def test_an_unknown_command_is_told_with_status_2() -> None:
    result = run("sreve")

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "No such command 'sreve'" in line


def test_no_command_shows_the_help() -> None:
    assert run() == run("--help")


# What is right.


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("t", TopicSpec("t", -1, -1, {})),
        ("t:2", TopicSpec("t", 2, -1, {})),
        ("t:2:3", TopicSpec("t", 2, 3, {})),
        ("t:2:3,a.b=1,c= d ", TopicSpec("t", 2, 3, {"a.b": "1", "c": "d"})),
        ("t,a=b=c", TopicSpec("t", -1, -1, {"a": "b=c"})),
    ],
)
def test_a_topic_is_read(text: str, spec: TopicSpec) -> None:
    assert parse_topic(text) == spec


def test_the_last_of_two_values_counts() -> None:
    assert parse_settings("--config", ["a=1", "a=2"]) == {"a": "2"}


def test_advertised_host_is_what_clients_are_told() -> None:
    with Serving("--port", "0", "--brokers", "2", "--advertised-host", "kafka.example") as running:
        hosts = {broker["host"] for broker in running.facts["brokers"]}

    assert hosts == {"kafka.example"}


def test_the_journal_is_written_while_it_serves_and_complete_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    serving = Serving("--port", "0", "--topic", "t", "--journal", str(path))
    with serving as running, RawClient(running.endpoint(1)) as client:
        client.ask(produce("t"))
        wait_until(lambda: '"event":"answer"' in path.read_text(), "the answer in the journal")
        running.stop(signal.SIGTERM)
    with path.open() as lines:
        events = list(from_lines(lines))

    (entry,) = view_produce(events, 0, "t", 0, "test").expect("NONE", count=1)
    assert (entry.broker, entry.base_offset) == (1, 0)
    assert isinstance(events[0], TopicCreated)
    assert isinstance(events[-1], ConnectionClosed)


def test_an_auto_clock_skips_a_produce_timeout() -> None:
    with (
        Serving("--port", "0", "--topic", "t", "--followers", "frozen", "--clock", "auto") as running,
        RawClient(running.endpoint(1)) as client,
    ):
        answer = Produced(client.ask(produce("t", timeout_ms=25_000)))  # the client itself gives up before

    assert answer.partitions == {0: (7, 0)}


def test_brokers_listen_on_ports_in_a_row() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Serving("--port", str(port), "--brokers", "1") as running:
        assert [broker["port"] for broker in running.facts["brokers"]] == [port]
