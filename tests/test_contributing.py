"""CONTRIBUTING.md and docs/adding-an-api.md name what there is: files, targets, commands, what a handler has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.__main__ import app
from fakebroker.apis.context import RequestContext
from fakebroker.apis.new import stubs
from fakebroker.apis.registry import api
from fakebroker.testing.simulation import Simulation

ROOT = Path(__file__).resolve().parent.parent
HOW_TO_ADD = ROOT / "docs" / "adding-an-api.md"
PAGES = [ROOT / "CONTRIBUTING.md", HOW_TO_ADD]
DESCRIBE_CLUSTER = 60
# What the page tells to make.
MADE = {*stubs(DESCRIBE_CLUSTER, 0, 2), "tests/golden/describe-cluster.txt"}
# Files are named from the root, or by their own name in these.
ROOMS = [str(path.parent) for path in (ROOT / "fakebroker" / "apis").glob("*/__init__.py")]
PLACES = ["", "fakebroker/apis", *ROOMS, "conformance/generated", "fakebroker/core/config/broker_configs"]


def code(page: Path) -> list[str]:
    """Return the texts between backticks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_is_there(page: Path) -> None:
    named = [name for name in code(page) if re.fullmatch(r"[\w./-]+(\.(py|md|toml|txt)|/)", name) and "..." not in name]
    assert len(named) > 3
    assert [name for name in named if name not in MADE and not any((ROOT / p / name).exists() for p in PLACES)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_target_and_command_is_there(page: Path) -> None:
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:`|\$ )make ([\w-]+)", page.read_text())) <= set(targets)
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert set(re.findall(r"-m conformance (\w+)", page.read_text())) <= commands


def test_what_a_handler_works_with_is_there() -> None:
    text = HOW_TO_ADD.read_text()
    named = set(re.findall(r"\bctx\.(\w+)", text))
    internal = {"answered"}  # of the dispatcher
    public = {*RequestContext.__slots__, *vars(RequestContext)} - internal
    assert {name for name in public if not name.startswith("_")} == named
    options = {name for name in api.__annotations__ if name not in ("key", "min_version", "max_version", "return")}
    assert options == {
        "errors",
        "authorization",
        "error_response",
        "advertised_min_version",
        "throttled",
        "decode",
        "decode_by_hand",
        "decode_in_slices",
        "is_advertised",
    }
    assert all(f"`{option}`" in text for option in options)


def test_what_the_simulation_can_is_there() -> None:
    sentence = re.search(r"`simulation\.topic\(.*?make the rest of the world", HOW_TO_ADD.read_text(), re.DOTALL)
    assert sentence is not None
    methods = re.findall(r"\.(\w+)\(", sentence[0])
    assert methods == ["topic", "stop", "start", "move_leader", "connect", "advance"]
    assert all(hasattr(Simulation, method) for method in methods)


def test_contributing_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 106
