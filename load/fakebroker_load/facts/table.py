"""The table of facts: each field that a witness of a run tells, with the rule that judges it, or why none does.

Shape    TOML files beside this one, one for each witness: `wire` (the messages, by name and version), `batch` (what is
         read back), `client`, `log` and `journal` (the columns of requests.parquet, log.parquet, partitions.parquet and
         journal.parquet), `event` (the journal's JSON), `order` (of rows, within a witness and between them). Each has
         entries of fields that are alike: `thing` and its `fields`, or `of` with those of each thing, and either
         `rule`, with `needs` (answers if it is not given) and `but` (which changes it does not see), or `reason`.
         What is a row of some Parquet file has `unseen` beside `but`: the kinds of change that the rule does not see,
         by a condition that each changed row meets (ALWAYS: any row does). They are patterns: "one *", "*less", "*".
Theory   A field is judged if another value of it makes the verdict red, where `needs` is met; `but` is a limit of that.
         tests/load/facts holds the table against the definitions of messages, events and columns, and each rule
         against the verdict. tests/witness_mutants holds `unseen` against changed rows: no other change stays unseen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

WITNESSES = ("wire", "batch", "client", "log", "journal", "event", "order")
ANSWERS, LOG, JOURNAL = NEEDS = ("answers", "log", "journal")
ALWAYS = "always"
REFUSED = "exit status 3"  # in the place of a rule: the load refuses to go on, and there is no verdict


class Fact(NamedTuple):
    """`rule` is the problem that is found, or how a sentence about a group begins; None: it is not judged. `reason`
    says why, or which changes the rule does not see; empty: it sees all. `needs` is one of NEEDS. `unseen` has the
    kinds of change that the rule does not see, by condition."""

    witness: str
    thing: str
    field: str
    rule: str | None
    needs: str
    reason: str
    unseen: Mapping[str, Sequence[str]]


@cache
def facts() -> tuple[Fact, ...]:
    """All of them, in the order of the files."""
    return tuple(fact for witness in WITNESSES for fact in _read(witness))


def fact_of(witness: str, thing: str, field: str) -> Fact:
    """Raises KeyError if there is none."""
    return _by_place()[witness, thing, field]


def rules(needs: str) -> tuple[str, ...]:
    """The rules that are applied only where there is such a witness."""
    at = NEEDS.index(needs)
    judged = {fact.rule for fact in facts() if fact.rule is not None and fact.needs == needs}
    return tuple(sorted(judged - {fact.rule for fact in facts() if fact.needs in NEEDS[:at]}))


@cache
def _by_place() -> Mapping[tuple[str, str, str], Fact]:
    return {(fact.witness, fact.thing, fact.field): fact for fact in facts()}


def _read(witness: str) -> Iterator[Fact]:
    text = files(__package__).joinpath(f"{witness}.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text)["facts"]:
        reason = entry.get("but" if "rule" in entry else "reason", "")
        for thing, fields in (entry.get("of") or {entry["thing"]: entry["fields"]}).items():
            for field in fields:
                needs, unseen = entry.get("needs", ANSWERS), entry.get("unseen", {})
                yield Fact(witness, thing, field, entry.get("rule"), needs, reason, unseen)
