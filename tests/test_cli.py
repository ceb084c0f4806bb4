"""The command line: what it shows, and that a mistake is told in one sentence with exit status 2."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support import doses
from support.command_line import run
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.serving import COMMAND, Serving, fakebroker
from support.watchdog import LIMIT_S, wait_until

import fakebroker as package
from fakebroker import cli
from fakebroker.apis import registry
from fakebroker.cli import COMMANDS
from fakebroker.commands.command_line import Parser, Slip
from fakebroker.commands.extra_command import NotInstalled
from fakebroker.core.journal.events import ConnectionClosed, TopicCreated
from fakebroker.core.journal.journal import from_lines
from fakebroker.core.journal.view import view_produce
from fakebroker.server.made.option_texts import TopicSpec

OPTIONS = {
    "serve": [
        "--brokers", "--broker-ids", "--rack", "--feature", "--host", "--port", "--advertised-host",
        "--advertised-port", "--listener", "--certificates", "--user", "--acl",
        "--topic", "--auto-create-topics", "--no-auto-create-topics", "--followers", "--config",
        "--properties", "--defaults", "--quota", "--seed", "--life", "--schedule", "--ready-file", "--exit-with-parent",
        "--clock", "--scenario", "--fault", "--journal",
        "--control-port", "--no-control", "--control-host", "--control-token", "--toxiproxy-port",
    ],
    "apis": ["--markdown"],
    "configs": ["--kind", "--honoured", "--json"],
    "demo": ["--out", "--seed"],
    "replay": ["--steps", "--plan", "--journal", "--shrink", "--streams", "--group", "--transactions", "--swarm"],
    "timeline": ["--record", "--key", "--offset", "--correlation-id", "--producer", "--json", "--svg", "--wall"],
    "client-settings": [
        "--mechanism", "--user", "--password", "--common-name", "--token", "--control", "--control-token",
    ],
}  # fmt: skip


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

    rows = [line.split() for line in result.stdout.splitlines()[1:]]
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
    assert {row["kind"] for row in every} == {"broker", "topic", "group", "client-metrics"}
    assert len(every) > 400
    assert topics == [row for row in every if row["kind"] == "topic" and row["honoured_by"] is not None]
    assert {
        "kind": "broker",
        "name": "log.retention.ms",
        "type": "LONG",
        "default": None,
        "dynamic": "cluster-wide",
        "honoured_by": "cluster/housekeeping",
        "doc": "age above which records are deleted; -1 keeps them (default: log.retention.minutes)",
        "is_kafkas": True,
    } in every


def test_configs_of_no_kind() -> None:
    result = run("configs", "--kind", "client")
    assert (result.exit_code, result.stderr) == (
        2,
        "fakebroker: --kind is broker, topic, group, client-metrics, not 'client'\n",
    )


def test_help_names_every_command_and_what_it_is_for() -> None:
    result = run("--help", columns=80)

    assert result.exit_code == 0
    assert "--version" in result.stdout
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", result.stdout, re.MULTILINE)


def test_every_command_has_its_options_here() -> None:
    assert list(COMMANDS) == list(OPTIONS)


@pytest.mark.parametrize("columns", [20, 80, 300])
@pytest.mark.parametrize(("command", "options"), OPTIONS.items())
def test_help_of_a_command_lists_its_options(command: str, options: list[str], columns: int) -> None:
    result = run(command, "--help", columns=columns)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"Usage: fakebroker {command} ")
    listed = re.findall(r"^  (-.*)", result.stdout, re.MULTILINE)
    assert sorted(re.findall(r"--[a-z-]+", " ".join(listed))) == sorted([*options, "--help"])


def test_help_says_what_is_taken_where_nothing_is_given() -> None:
    text = " ".join(run("serve", "--help").stdout.split())

    for default in ("3", "127.0.0.1", "9092", "--host", "instant", "0", "real"):
        assert f"(default: {default})." in text
    assert "when a client requests it (default)." in text
    assert "(default: fakebroker-demo)." in run("demo", "--help").stdout
    assert "(default: 200)." in run("replay", "--help").stdout


def test_help_fits_into_80_columns() -> None:
    for command in COMMANDS:
        assert max(map(len, run(command, "--help", columns=80).stdout.splitlines())) <= 80


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["--help", "--no-such"], ["--brokers", "0", "--help", "what"]])
def test_help_is_shown_whatever_else_is_wrong(words: list[str]) -> None:
    assert run("serve", *words) == run("serve", "--help")


# Mistakes. Each: the arguments of `serve`, and what the sentence says.

MISTAKES: dict[str, tuple[list[str], str]] = {
    "a manual clock": (["--clock", "manual", "--no-control"], "a manual clock needs the HTTP control"),
    "a control for others": (["--control-host", "0.0.0.0"], "--control-host 0.0.0.0 is open to other machines"),
    "no control, and one": (["--no-control", "--control-port", "0"], "--no-control excludes the options"),
    "a token that is none": (["--control-token", "a b"], "a token has printable ASCII characters and no spaces"),
    "a clock that does not exist": (["--clock", "fast"], "a clock is real, manual or auto, not 'fast'"),
    "a scenario in no folder": (["--scenario", "/nowhere/s"], "--scenario /nowhere/s: No such file or directory"),
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
    "a ready file without a name": (["--ready-file", ""], "--ready-file '' is not a file name"),
    "a ready file that is the root": (["--ready-file", "/"], "--ready-file /: Is a directory"),
    "a ready file that is a folder": (["--ready-file", "."], "--ready-file .: Is a directory"),
    "a journal without a name": (["--journal="], "--journal '' is not a file name"),
    "a ready file nowhere": (["--ready-file", "/no/such/folder/f"], "the folder /no/such/folder does not exist"),
    "a host that cannot be": (["--host", "no such host"], "cannot listen: the host 'no such host' is not known: "),
    "a host without an address": (["--host", "no.such.invalid"], "cannot listen: the host 'no.such.invalid' is not"),
    "a host with an empty label": (["--host", "a..b"], "cannot listen: 'a..b' is not a host name"),
    "a setting with underscores": (
        ["--config", "num_partitions=2"],
        "Unknown configuration 'num_partitions': Kafka's names have dots, as in 'num.partitions'.",
    ),
    "a topic setting with underscores": (["--topic", "t,retention_ms=2"], "as in 'retention.ms'."),
    "a fault that is no YAML": (["--fault", "{when: {"], "--fault '{when: {': this is not valid YAML: "),
    "a fault that is a word": (["--fault", "disconnect"], "--fault 'disconnect' is not a mapping, as in '{when: "),
    "a fault that does nothing": (["--fault", "{when: {api: Produce}}"], "a fault needs its 'do'"),
    "a fault of no API": (["--fault", "{when: {api: Prodcue}, do: drop}"], "no API 'Prodcue' here: 'Produce' may be"),
    "a fault that says something twice": (["--fault", "{do: drop, do: hold}"], "'do' is here twice"),
    "a fault that cannot match": (["--fault", "{when: {api: ApiVersions, topic: t}, do: drop}"], "topic"),
    "a fault where Kafka has no such error": (
        ["--fault", '{"when": {"api": "Produce", "at": "after_append"}, "do": "NOT_ENOUGH_REPLICAS"}'],
        "NOT_ENOUGH_REPLICAS",
    ),
    "a fault that is not the first": (["--fault", "{do: drop}", "--fault", "{do: dorp}"], "--fault '{do: dorp}': "),
    "a preset that there is not": (["--fault", "{preset: gc_puase}"], "'gc_puase': 'gc_pause' may be meant"),
    "a preset without its broker": (["--fault", "{preset: full_disk}"], "the preset 'full_disk' needs 'broker'"),
    "a preset of no broker": (
        ["--fault", "{preset: full_disk, broker: 4}"], """--fault {"preset": "full_disk", "broker": 4}: """,
    ),
    "a fault that acts on no broker": (
        ["--fault", "{when: {api: Produce}, do: {kill: 9}}"], "'kill' can never act: there is no broker 9",
    ),
    "an address of another host": (["--host", "192.0.2.1"], "cannot listen"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence_and_status_2(arguments: list[str], sentence: str) -> None:
    result = run("serve", "--port", "0", *arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("fakebroker: ")
    assert sentence in line


# What is wrong with the words themselves: all that stands on stderr, behind "fakebroker: ".
BROKERS, PORT = "a whole number from 1 to 100", "a whole number from 0 to 65535"
THERE_ARE = "there are serve, apis, configs, demo, replay, timeline, client-settings"
REFUSED: dict[str, tuple[str, str]] = {
    "no brokers": ("serve --brokers 0", f"--brokers '0' is not {BROKERS}"),
    "negative brokers": ("serve --brokers -1", f"--brokers '-1' is not {BROKERS}"),
    "too many brokers": ("serve --brokers=101", f"--brokers '101' is not {BROKERS}"),
    "brokers that are no number": ("serve --brokers three", f"--brokers 'three' is not {BROKERS}"),
    "brokers of nothing": ("serve --brokers=", f"--brokers '' is not {BROKERS}"),
    "brokers right, then wrong": ("serve --brokers 1 --brokers x", f"--brokers 'x' is not {BROKERS}"),
    "half a broker": ("serve --brokers 1.5", f"--brokers '1.5' is not {BROKERS}"),
    "a negative port": ("serve --port -1", f"--port '-1' is not {PORT}"),
    "a port too large": ("serve --port 65536", f"--port '65536' is not {PORT}"),
    "a port that is no number": ("serve --port http", f"--port 'http' is not {PORT}"),
    "a seed that is no number": ("serve --seed x", "--seed 'x' is not a whole number"),
    "a seed of the demo that is no number": ("demo --seed 1.5", "--seed '1.5' is not a whole number"),
    "a demo in no folder": ("demo --out=", "--out '' is not a file name"),
    "a seed of a replay that is no number": ("replay x", "SEED 'x' is not a whole number"),
    "a time line of nothing": (
        "timeline a b",
        "choose what to show by --record or --key or --offset or --correlation-id",
    ),
    "a time line without journals": (
        "timeline --record 1",
        "the following arguments are required: PRODUCER_JOURNAL, BROKER_JOURNAL; "
        "fakebroker timeline --help shows what there is",
    ),
    "a dash for a seed": ("replay -", "SEED '-' is not a whole number"),
    "no steps": ("replay 1 --steps 0", "--steps '0' is not a whole number from 1 to 1000000"),
    "too many steps": ("replay 1 --steps 1000001", "--steps '1000001' is not a whole number from 1 to 1000000"),
    "a replay of nothing": (
        "replay", "the following arguments are required: SEED; fakebroker replay --help shows what there is",
    ),
    "an option misspelt": ("serve --topc t", "there is no option --topc; did you mean --topic?"),
    "an option cut short": ("serve --fol=h", "there is no option --fol; did you mean --followers?"),
    "an option cut too short": (
        "serve --adv",
        "there is no option --adv; did you mean --advertised-host or --advertised-port?",
    ),
    "an option like no other": (
        "serve --bogus", "there is no option --bogus; fakebroker serve --help shows what there is",
    ),
    "an option without a name": ("serve --=1", "there is no option --; fakebroker serve --help shows what there is"),
    "an option with underscores": (
        "serve --ready_file f", "there is no option --ready_file; did you mean --ready-file?",
    ),
    "an option with one dash": ("serve -port 0", "there is no option -port; did you mean --port?"),
    "an unknown option": (
        "serve --such-is-it", "there is no option --such-is-it; fakebroker serve --help shows what there is",
    ),
    "an unknown option behind a mistake": ("replay x --srhink", "there is no option --srhink; did you mean --shrink?"),
    "an option that cannot be turned off": (
        "replay 1 --no-shrink", "there is no option --no-shrink; did you mean --shrink?",
    ),
    "an unexpected argument": (
        "serve what", "unexpected argument 'what'; fakebroker serve --help shows what there is",
    ),
    "an argument behind two dashes": (
        "serve -- --port", "unexpected argument '--port'; fakebroker serve --help shows what there is",
    ),
    "a second argument": ("replay 1 2", "unexpected argument '2'; fakebroker replay --help shows what there is"),
    "a flag with a value": (
        "serve --no-auto-create-topics=1", "--no-auto-create-topics takes no value, not '1'",
    ),
    "a flag with a value behind it": (
        "serve --auto-create-topics 1", "unexpected argument '1'; fakebroker serve --help shows what there is",
    ),
    "an option before any command": ("--port=0", "--port belongs after its command: fakebroker serve --port"),
    "an option of two commands": (
        "--seed 1", "--seed belongs after its command: fakebroker serve --seed or fakebroker demo --seed",
    ),
    "an unknown option before any command": (
        "--prot 0", "there is no option --prot; fakebroker --help shows what there is",
    ),
    "a version with a value": ("--version=2", "--version takes no value, not '2'"),
    "a command misspelt": (
        "sreve",
        "there is no command 'sreve'; did you mean serve? "
        f"({THERE_ARE})",
    ),
    "an unknown command": (
        "kafka --port 0", f"there is no command 'kafka'; {THERE_ARE}"
    ),
    "an empty command": ("''", f"there is no command ''; {THERE_ARE}"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_is_one_sentence_and_status_2(line: str, sentence: str) -> None:
    assert run(*shlex.split(line)) == (2, "", f"fakebroker: {sentence}\n")


FLAGS = {
    "--auto-create-topics",
    "--no-auto-create-topics",
    "--shrink",
    "--streams",
    "--group",
    "--transactions",
    "--swarm",
    "--exit-with-parent",
    "--honoured",
    "--json",
    "--markdown",
    "--no-control",
    "--wall",
}
WITH_VALUES = [(command, option) for command, options in OPTIONS.items() for option in options if option not in FLAGS]


@pytest.mark.parametrize(("command", "option"), WITH_VALUES)
@pytest.mark.parametrize("following", [[], ["--help"]])
def test_an_option_without_its_value_says_what_that_is(command: str, option: str, following: list[str]) -> None:
    result = run(command, option, *following)

    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(rf"fakebroker: {option} needs a value: {option} [A-Z][^\n]*\n", result.stderr)


def test_a_slip_with_a_line_break_is_still_one_line() -> None:
    result = run("serve", "--a\nb")

    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


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


def test_no_command_shows_the_help() -> None:
    assert run() == run("--help")


def test_the_version_is_told_whatever_follows() -> None:
    assert run("--version", "sreve") == run("--version", "--no-such") == run("--version")


def test_an_interrupt_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(options: Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fakebroker.commands.apis.run", interrupted)

    assert run("apis") == (130, "", "")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["apis"], ["serve", "--help"], ["--version"], ["replay", "1", "--journal", "-"]]
)
def test_output_that_is_not_read_is_no_traceback(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [*COMMAND, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},  # as users have it
        )
    finally:
        os.close(writing)

    assert _complaints(result.stderr) == []
    assert result.returncode == 0


def _complaints(stderr: str) -> list[str]:
    """Return the lines of stderr without the verdict of `replay`."""
    return [line for line in stderr.splitlines() if not line.startswith("every rule held")]


WRITES = [
    ["--help"], ["apis"], ["serve", "--help"], ["--version"], ["configs"], ["configs", "--json"],
    ["replay", "1", "--journal", "-"],
]  # fmt: skip


FULL, CLOSED = (">/dev/full", "No space left on device"), (">&-", "it is closed")
TAKES_NOTHING = [
    (*where, arguments, buffered) for where in (FULL, CLOSED) for arguments in WRITES for buffered in (True, False)
]
# Every day: each command once, the one buffered and full, the next one unbuffered and closed.
EVERYDAY = [(*(CLOSED if index % 2 else FULL), words, index % 2 == 0) for index, words in enumerate(WRITES)]


@pytest.mark.parametrize(("stdout", "why", "arguments", "buffered"), doses.nightly_but(EVERYDAY, TAKES_NOTHING))
def test_a_stdout_that_takes_nothing_is_one_sentence_and_status_1(
    stdout: str, why: str, arguments: list[str], buffered: bool
) -> None:
    if stdout == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("nothing is full there")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    result = subprocess.run(
        f"{shlex.join([*COMMAND, *arguments])} {stdout}",
        shell=True,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environment if buffered else environment | {"PYTHONUNBUFFERED": "1"},
    )

    assert (result.returncode, _complaints(result.stderr)) == (1, [f"fakebroker: stdout: {why}"])


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_a_mistake_that_cannot_be_told_has_its_status(stderr: str) -> None:
    command = f"{shlex.join([*COMMAND, 'serve', '--port', 'x'])} {stderr}"
    result = subprocess.run(command, shell=True, stdout=subprocess.PIPE, timeout=LIMIT_S, check=False)

    assert (result.returncode, result.stdout) == (2, b"")


# The demo is another package's: tests/test_extra_command.py.


def test_the_demo_is_run_with_its_options_and_its_status_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def run_demo(out: Path, *, seed: int) -> int:
        calls.append((out, seed))
        return 1

    monkeypatch.setattr("fakebroker.commands.extra_command.find_command", {"demo": run_demo}.__getitem__)

    assert run("demo", "--out", "folder/d", "--seed=-7") == (1, "", "")
    assert run("demo").exit_code == 1
    assert calls == [(Path("folder/d"), -7), (Path("fakebroker-demo"), 1)]


def test_a_demo_that_is_not_installed_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_command(name: str) -> Callable[..., int]:
        raise NotInstalled(f"the command {name} is not installed")

    monkeypatch.setattr("fakebroker.commands.extra_command.find_command", find_command)

    assert run("demo") == (2, "", "fakebroker: the command demo is not installed\n")


# How options are read.


def read(line: str) -> dict[str, Any]:
    """Return the arguments with which a command would run."""
    command, *words = shlex.split(line)
    return vars(cli._parser(command).read(words))


DEFAULTS: dict[str, dict[str, Any]] = {
    "serve": {
        "brokers": None, "broker_ids": None, "rack": [], "feature": [], "host": None, "port": None,
        "advertised_host": None, "advertised_port": None, "listener": [], "certificates": None, "user": [], "acl": [],
        "topic": [], "auto_create_topics": None,
        "followers": None, "config": [],
        "properties": None, "defaults": None, "quota": [], "seed": None, "life": None, "schedule": None, "clock": None,
        "scenario": None, "fault": [],
        "journal": None, "control_port": None, "no_control": False, "control_host": None, "control_token": None,
        "toxiproxy_port": None,
        "ready_file": None, "exit_with_parent": False,
    },
    "apis": {"markdown": False},
    "configs": {"kind": None, "honoured": False, "json": False},
    "demo": {"out": Path("fakebroker-demo"), "seed": 1},
    "replay 5": {
        "seed": 5, "steps": 200, "plan": None, "journal": None, "shrink": False, "streams": False, "group": False,
        "transactions": False, "swarm": False,
    },
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), DEFAULTS.items())
def test_what_is_not_given_has_its_default(line: str, expected: dict[str, Any]) -> None:
    assert read(line) == expected


READ: dict[str, dict[str, Any]] = {
    "serve --brokers 1": {"brokers": 1},
    "serve --brokers=100": {"brokers": 100},
    "serve --brokers 007": {"brokers": 7},
    "serve --brokers +5": {"brokers": 5},
    "serve --brokers ' 5'": {"brokers": 5},
    "serve --brokers 1 --brokers=2": {"brokers": 2},  # the last one counts
    "serve --host ::1": {"host": "::1"},
    "serve --host=": {"host": ""},
    "serve --host ''": {"host": ""},
    "serve --host=--port": {"host": "--port"},
    "serve --host a --host b": {"host": "b"},
    "serve --port 0": {"port": 0},
    "serve --port=65535": {"port": 65535},
    "serve --advertised-host kafka": {"advertised_host": "kafka"},
    "serve --advertised-host=kafka=x": {"advertised_host": "kafka=x"},
    "serve --topic t --topic=u:2": {"topic": [TopicSpec("t", -1, -1, {}), TopicSpec("u", 2, -1, {})]},  # both count
    "serve --topic -t:2,a=b": {"topic": [TopicSpec("-t", 2, -1, {"a": "b"})]},
    "serve --topic=-t --topic --t": {"topic": [TopicSpec("-t", -1, -1, {}), TopicSpec("--t", -1, -1, {})]},
    "serve --auto-create-topics": {"auto_create_topics": True},
    "serve --no-auto-create-topics": {"auto_create_topics": False},
    "serve --no-auto-create-topics --auto-create-topics": {"auto_create_topics": True},
    "serve --auto-create-topics --no-auto-create-topics": {"auto_create_topics": False},
    "serve --followers lagging:5": {"followers": "lagging:5"},
    "serve --followers=frozen --followers external": {"followers": "external"},
    "serve --config a=1 --config=b=2": {"config": [("a", "1"), ("b", "2")]},
    "serve --config retention.ms=-1": {"config": [("retention.ms", "-1")]},
    "serve --config -a=1": {"config": [("-a", "1")]},
    "serve --seed -1": {"seed": -1},
    "serve --seed=-5": {"seed": -5},
    "serve --seed 99999999999999999999": {"seed": 99999999999999999999},
    "serve --fault '{do: drop}' --fault={}": {"fault": ["{do: drop}", "{}"]},
    "serve --clock auto": {"clock": "auto"},
    "serve --clock=fast": {"clock": "fast"},  # the code that makes clocks refuses it
    "serve --journal j --ready-file=folder/r": {"journal": Path("j"), "ready_file": Path("folder/r")},
    "serve --ready-file -r": {"ready_file": Path("-r")},
    "serve --": {},
    "demo --out 'a b' --seed 2": {"out": Path("a b"), "seed": 2},
    "replay 5 --steps 1": {"steps": 1},
    "replay --steps=1000000 5": {"steps": 1_000_000},
    "replay 5 --plan 'cluster 3 1000; jump'": {"plan": "cluster 3 1000; jump"},
    "replay 5 --plan -": {"plan": "-"},
    "replay 5 --journal - --shrink": {"journal": Path("-"), "shrink": True},
    "replay -5": {"seed": -5},
    "replay --shrink -- -5": {"seed": -5, "shrink": True},
    "replay 5 --group": {"group": True},
    "replay 5 --streams --swarm": {"streams": True, "swarm": True},
    "replay 5 --swarm": {"swarm": True},
}


@pytest.mark.parametrize(("line", "given"), READ.items())
def test_an_option_is_read(line: str, given: dict[str, Any]) -> None:
    command = line.split()[0]
    defaults = next(values for words, values in DEFAULTS.items() if words.split()[0] == command)

    assert read(line) == defaults | given


def test_what_is_read_once_is_not_there_the_next_time() -> None:
    assert read("serve --topic t") != read("serve")
    assert read("serve")["topic"] == []


def outcome(step: Callable[[], object]) -> object:
    """Return the result or the exception, if it is one that a user may see."""
    try:
        with redirect_stdout(StringIO()):  # of --help
            return step()
    except (Slip, SystemExit) as ended:
        return ended


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*OPTIONS["serve"], *OPTIONS["replay"], "-h", "--help", "--", "-", "-1", "=", "--=", "1"]),
            st.text(max_size=5),
            st.tuples(st.sampled_from(OPTIONS["serve"]), st.text(max_size=5)).map("=".join),
        ),
        max_size=6,
    ),
    st.sampled_from(sorted(COMMANDS)),
)
def test_any_words_are_read_or_refused(words: list[str], command: str) -> None:
    result = outcome(lambda: cli._parser(command).read(words))
    event(type(result).__name__)
    assert isinstance(result, Namespace) or str(result)


def test_an_option_may_stand_in_a_group_of_its_own() -> None:
    parser = Parser("fakebroker x", "X.")
    group = parser.add_argument_group("how").add_mutually_exclusive_group()
    group.add_argument("--fast", action="store_true")
    group.add_argument("--slow", metavar="N")

    assert parser.read(["--slow", "-1"]).slow == "-1"
    with pytest.raises(Slip, match=r"^--slow not allowed with argument --fast$"):
        parser.read(["--fast", "--slow=1"])


# What is right.


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
    port = free_ports(1)
    with Serving("--port", str(port), "--brokers", "1") as running:
        assert [broker["port"] for broker in running.facts["brokers"]] == [port]
