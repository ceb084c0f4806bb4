"""Options that are read without typer are read as typer reads them; what it refuses is left to it."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import event, given
from hypothesis import strategies as st

from fakebroker.cli import serve
from fakebroker.plain_options import plain_arguments

OPTIONS = [f"--{name}".replace("_", "-") for name in signature(serve).parameters]
NO_OPTIONS = ["--no-auto-create-topics", "--brok", "--advertised_host", "-p", "--no-seed"]
VALUES = [
    "", "-", "-1", "0", "1", "7", "007", "+5", "1_0", " 1", "1.0", "1e3", "65535", "65536", "100", "101", "9" * 20,
    "--", "--help", "--port", "serve", "true", "frozen", "t:2:3,min.insync.replicas=2", "a=b=c", "é", "٣", "a b",
]  # fmt: skip
CALLS: list[dict[str, Any]] = []


@wraps(serve)
def record(**arguments: Any) -> None:
    CALLS.append(arguments)


app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.command()(record)
COMMAND = typer.main.get_command(app)


def by_typer(words: list[str]) -> dict[str, Any] | None:
    """What typer calls `serve` with; None if it does not."""
    CALLS.clear()
    try:
        COMMAND.main(words, standalone_mode=False)
    except typer.BadParameter.__bases__[0]:
        return None
    return CALLS[0] if CALLS else None


def is_read_alike(words: list[str]) -> bool:
    """Whether it is plain; fails if typer reads it in another way."""
    plain = plain_arguments(serve, words)
    if plain is not None:
        assert plain == by_typer(words), words
    return plain is not None


@pytest.mark.parametrize("name", OPTIONS + NO_OPTIONS)
def test_an_option_is_read_as_typer_reads_it(name: str) -> None:
    for value in VALUES:
        is_read_alike([name, value])
        is_read_alike([f"{name}={value}"])
        is_read_alike([f"{name}=", value])
        is_read_alike([name, value, f"{name}={value}"])


FEW = st.one_of(
    st.tuples(st.sampled_from(["--brokers", "--port", "--seed"]), st.sampled_from(["1", "100", "101", "9000", "x"])),
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from(["t", "t:2", "a=b", "./x"])),
    st.sampled_from([("--auto-create-topics",), ("--no-auto-create-topics",), ("t",), ("--topic=t",), ("--seed=1",)]),
)


@given(st.lists(FEW, max_size=4).map(lambda groups: [word for group in groups for word in group]))
def test_options_are_read_as_typer_reads_them(words: list[str]) -> None:
    event("plain" if is_read_alike(words) else "left to typer")


PLAIN: dict[str, tuple[list[str], dict[str, Any]]] = {
    "nothing": ([], {}),
    "every option": (
        ["--brokers", "1", "--host", "::1", "--port=0", "--advertised-host", "kafka", "--topic", "t", "--topic=u:2,a=b",
         "--no-auto-create-topics", "--followers", "lagging:5", "--config", "a=1", "--seed", "7", "--clock", "auto",
         "--journal", "j", "--ready-file", "folder/r"],
        {"brokers": 1, "host": "::1", "port": 0, "advertised_host": "kafka", "topic": ["t", "u:2,a=b"],
         "auto_create_topics": False, "followers": "lagging:5", "config": ["a=1"], "seed": 7, "clock": "auto",
         "journal": Path("j"), "ready_file": Path("folder/r")},
    ),
    "a mistake of which typer does not know": (["--clock", "fast"], {"clock": "fast"}),
}  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), PLAIN.values(), ids=PLAIN.keys())
def test_what_is_plain_is_not_left_to_typer(words: list[str], expected: dict[str, Any]) -> None:
    plain = plain_arguments(serve, words)

    assert plain is not None
    assert plain == by_typer(words)
    assert plain | expected == plain


@pytest.mark.parametrize(
    "words",
    ["--help", "--brokers=0", "--brokers=101", "--no-such=1", "t", "--port", "--seed=-1", "--seed=+1", "--seed=1_0",
     "--host=", "--auto-create-topics=1", "--seed 1 --seed 2", "--host --port"],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_typer(words: str) -> None:
    assert plain_arguments(serve, words.split()) is None
