"""The judgements of survivors.toml: why a random mutant that lives may live, or which test is missing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mutants.draw import Identity

FILE = Path(__file__).with_name("survivors.toml")
EQUIVALENT, MISSING = "equivalent", "missing"


class Judgement(NamedTuple):
    """`verdict` is `equivalent` (no caller can see the change) or `missing` (a test is to be written)."""

    verdict: str
    why: str


def load_judgements(path: Path = FILE) -> dict[Identity, Judgement]:
    """Read the file. Raise ValueError for an entry that has not exactly one verdict, or that stands there twice."""
    judgements: dict[Identity, Judgement] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", []):
        verdicts = [Judgement(name, entry[name]) for name in (EQUIVALENT, MISSING) if entry.get(name)]
        identity = Identity(entry["path"], entry["within"], entry["old"], entry["new"])
        if len(verdicts) != 1:
            raise ValueError(f"{identity} needs one of {EQUIVALENT!r} and {MISSING!r}, not {len(verdicts)}")
        if identity in judgements:
            raise ValueError(f"{identity} is judged twice")
        judgements[identity] = verdicts[0]
    return judgements


def unjudged_entries(identities: Iterable[Identity]) -> str:
    """Return the entries to append to the file for survivors that have no judgement."""
    return "\n".join(
        "\n[[survivor]]\n"
        + "".join(f"{name} = {_toml(value)}\n" for name, value in identity._asdict().items())
        + f'{MISSING} = ""\n'
        for identity in identities
    )


def _toml(text: str) -> str:
    return f"'{text}'" if "'" not in text and "\n" not in text else f"'''\n{text}'''"
