"""Every block of Python in the pages is run by a test, or is an excerpt of a program that is.

Whole programs (the cookbook, the testing kit) have tests of their own. What runs here are fragments: a prelude stands
for what they leave to the user, so that each call in them is made.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from support.raw_client import RawClient
from support.requests import produce
from support.watchdog import wait_until

from fakebroker import FakeCluster, cli
from fakebroker.core.journal.events import Parked

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "timingwheel" / "README.md"]

# Where the blocks of whole pages are run, or one block: a word that it has.
RUN_BY = {
    "docs/cookbook.md": "tests/test_cookbook.py",
    "docs/testing-kit.md": "tests/testing/test_docs.py",
    "docs/pytest.md": "tests/testing/plugin/test_page.py",
    "docs/every-failure.md": "tests/testing/failures/test_failures_page.py",
    "timingwheel/README.md": "tests/timingwheel/test_wheel_readme.py",
    "docs/load-results.md": "tests/load/results/test_load_results_page.py",
    "AsyncProducer": "tests/producing/test_producer_page.py",
}
SHAPES = "docs/adding-an-api.md"  # code with gaps, of an API that a reader is about to write


class Opened(FakeCluster):
    """A cluster that a fragment makes: `last` is the newest."""

    last: FakeCluster

    def start(self) -> Any:
        Opened.last = self
        return super().start()


class Sender:
    """A stand-in for a stock producer: each record is a separate request, and `send` does not wait for the response."""

    def __init__(self, clients: ExitStack) -> None:
        self._clients = clients

    def produce(self, topic: str, value: bytes = b"", partition: int = 0, timeout_ms: int = 30_000) -> None:
        endpoints = Opened.last.endpoints
        client = self._clients.enter_context(RawClient(endpoints[partition % len(endpoints)]))  # which leads it
        client.send(produce(topic, partition, timeout_ms=timeout_ms))


@pytest.fixture
def sender() -> Iterator[Sender]:
    with ExitStack() as clients:
        yield Sender(clients)


def blocks(page: Path, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def whole(page: Path, block: str) -> bool:
    return name_of(page) in RUN_BY or any(word in block for word in RUN_BY)


FRAGMENTS = {
    f"{name_of(page)} {number}": block
    for page in PAGES
    for number, block in enumerate(blocks(page), 1)
    if not whole(page, block) and name_of(page) != SHAPES and "story." not in block
}


def waits_for_three(kafka: FakeCluster, sender: Sender) -> None:
    """Have three clients ask for partition 2 as soon as a barrier is there."""
    hold = kafka.hold

    def held(*arguments: Any, **named: Any) -> Any:
        held_ = hold(*arguments, **named)
        for _ in range(3):
            sender.produce("t", partition=2)
        return held_

    kafka.hold = held  # type: ignore[method-assign]


def fills_the_journal(kafka: FakeCluster, sender: Sender) -> None:
    """One request that times out, and three of a client that are answered at once."""
    kafka.followers.freeze("kafkatest")
    sender.produce("kafkatest", timeout_ms=500)
    wait_until(lambda: any(isinstance(event, Parked) for event in kafka.journal), "the request")
    kafka.clock.advance(500)
    with RawClient(kafka.endpoints[0]) as client:
        for _ in range(3):
            client.ask(produce("t", client_id="me"))


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_runs(name: str, sender: Sender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = FRAGMENTS[name].replace("12_000", "120")  # of the broker's time, which is the real one
    monkeypatch.chdir(tmp_path)
    (tmp_path / "frozen.yaml").write_text(blocks(ROOT / "docs" / "scenarios.md", "yaml")[0])
    names: dict[str, Any] = {
        "__name__": "fragment",
        "FakeCluster": Opened,
        "SomeClient": MagicMock(),
        "Producer": MagicMock(),
        "producer": sender,
        "print": lambda *words: None,
    }
    exec("import time\nfrom fakebroker.testing import check_history, describe", names)
    with Opened(brokers=3, clock="manual" if "kafka.journal.produce" in block else "real") as kafka:
        names["kafka"] = kafka
        for topic in ("t", "kafkatest"):
            kafka.create_topic(topic, 3)
        if "hold(" in block:
            waits_for_three(kafka, sender)
        if "kafka.journal.produce" in block:
            fills_the_journal(kafka, sender)
        exec(compile(block, name, "exec"), names)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "stories").glob("*.md")), ids=lambda page: page.stem)
def test_a_story_shows_lines_of_its_program(page: Path) -> None:
    program = ROOT / "examples" / "producing" / f"{page.stem.replace('-', '_')}.py"
    shown = {code(line) for block in blocks(page) if "story." in block for line in block.splitlines()}
    assert shown <= {code(line) for line in program.read_text().splitlines()} if shown else True


def code(line: str) -> str:
    """Return the line without its indentation and its comment."""
    return line.split("  #")[0].strip()


def test_a_fragment_of_a_whole_program_is_run_elsewhere() -> None:
    assert all((ROOT / test).exists() for test in RUN_BY.values())
    assert all(Path(page).name in (ROOT / test).read_text() or "/" not in page for page, test in RUN_BY.items())


COMMANDS = [
    (name_of(page), line)
    for page in PAGES
    for block in blocks(page, "console")
    for line in re.findall(r"^\$ (fakebroker .*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_has_the_options_that_are_shown(page: str, line: str) -> None:
    _, command, *words = shlex.split(line.split(" | ")[0], comments=True)
    if command in cli.COMMANDS:
        cli._parser(command).read(words)
    else:
        assert command in cli._parser_without_command().option_names


def test_there_are_some() -> None:
    assert len(FRAGMENTS) >= 14
    assert len(COMMANDS) >= 10
