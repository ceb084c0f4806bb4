"""Options that are read without typer are read as typer reads them; what it refuses is left to it."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.cli import serve
from fakebroker.plain_options import plain_arguments

TEXTS = st.one_of(
    st.sampled_from(["", "-", "-1", "0", "7", "007", "+5", "1_0", " 1", "1.0", "1e3", "65535", "65536", "100", "101"]),
    st.sampled_from(["--", "--help", "--port", "serve", "true", "frozen", "t:2:3,min.insync.replicas=2", "a=b=c", "é"]),
    st.integers(-(10**20), 10**20).map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
)
NAMES = st.one_of(
    st.sampled_from([f"--{name}".replace("_", "-") for name in signature(serve).parameters]),
    st.sampled_from(["--no-auto-create-topics", "--brok", "--advertised_host", "-p"]),
)
WORDS = st.lists(
    st.one_of(
        st.tuples(NAMES),
        st.tuples(TEXTS),
        st.tuples(NAMES, TEXTS),
        st.tuples(NAMES, TEXTS).map(lambda t: ("=".join(t),)),
    ),
    max_size=5,
).map(lambda groups: [word for group in groups for word in group])


def by_typer(words: list[str]) -> dict[str, Any] | None:
    """What typer calls `serve` with; None if it does not."""
    calls = []

    @wraps(serve)
    def record(**arguments: Any) -> None:
        calls.append(arguments)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(record)
    try:
        app(words, standalone_mode=False)
    except typer.BadParameter.__bases__[0]:
        return None
    return calls[0] if calls else None


@given(WORDS)
def test_what_is_read_is_what_typer_reads(words: list[str]) -> None:
    plain = plain_arguments(serve, words)
    if plain is not None:
        assert plain == by_typer(words)


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
