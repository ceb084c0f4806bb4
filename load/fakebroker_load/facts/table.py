"""The table of facts: each field that a witness of a run states, with the rule that judges it, or why none does.

Shape    TOML files beside this module, one for each witness:
         - `wire`: the messages, by name and version
         - `batch`: batches and records that are read back
         - `client`, `log`, `journal`: the columns of requests.parquet, log.parquet, partitions.parquet and
           journal.parquet
         - `event`: the journal's JSON
         - `order`: the order of rows, within a witness and between witnesses
         An entry has fields that are judged alike: `thing` and its `fields`, or `of` with the fields of each thing, or
         `rest_of`: the fields of that other thing that no entry has for this one. It
         has either `rule` or `reason`. With `rule` it may have `needs` (default: answers), and `but`: the changes that
         the rule does not see. Beside `but`, an entry for rows of a Parquet file may have `unseen`: patterns of these
         changes ("one *", "*less", "*"), by a condition that each changed row meets (ALWAYS: any row).
Theory   A field is judged if another value of it makes the verdict fail, where `needs` is met; `but` is a limit of
         that. The tests in tests/load/facts compare the table with the definitions of messages, events and columns.
         They compare each rule with the verdict. Those in tests/witness_mutants compare `unseen` with changed rows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fakebroker_load.log import LOG_COLUMNS, PART_COLUMNS
from fakebroker_load.results.column import Column
from fakebroker_load.traffic.rows import RESULT_COLUMNS

WITNESSES = ("wire", "batch", "client", "log", "journal", "event", "order")
ANSWERS, LOG, JOURNAL = NEEDS = ("answers", "log", "journal")
_COLUMNS: Mapping[str, Mapping[str, Sequence[Column]]] = {
    "client": {"requests": RESULT_COLUMNS},
    "log": {"records": LOG_COLUMNS, "partitions": PART_COLUMNS},
}
ALWAYS = "always"
REFUSED = "exit status 3"  # instead of a rule: the load ends without a verdict


class Fact(NamedTuple):
    """A field of a witness. `rule` is the problem that is found, or the start of a sentence about a group; None if it
    is not judged. `reason` says why, or which changes the rule does not see; empty if it sees all. `needs` is one of
    NEEDS. `unseen` has the kinds of change that the rule does not see, by condition."""

    witness: str
    thing: str
    field: str
    rule: str | None
    needs: str
    reason: str
    unseen: Mapping[str, Sequence[str]]


@cache
def facts() -> tuple[Fact, ...]:
    """Return all facts, in the order of the files."""
    return tuple(fact for witness in WITNESSES for fact in _read(witness))


def fact_of(witness: str, thing: str, field: str) -> Fact:
    """Return the fact. Raises KeyError if there is none."""
    return _by_place()[witness, thing, field]


def rules(needs: str) -> tuple[str, ...]:
    """Return the rules that apply only with this witness."""
    at = NEEDS.index(needs)
    judged = {fact.rule for fact in facts() if fact.rule is not None and fact.needs == needs}
    return tuple(sorted(judged - {fact.rule for fact in facts() if fact.needs in NEEDS[:at]}))


@cache
def _by_place() -> Mapping[tuple[str, str, str], Fact]:
    return {(fact.witness, fact.thing, fact.field): fact for fact in facts()}


def _read(witness: str) -> Iterator[Fact]:
    collected = [
        Fact(witness, thing, column.name, None, ANSWERS, column.unjudged, {})
        for thing, columns in _COLUMNS.get(witness, {}).items()
        for column in columns
        if column.unjudged
    ]
    text = files(__package__).joinpath(f"{witness}.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text)["facts"]:
        reason = entry.get("but" if "rule" in entry else "reason", "")
        for thing, fields in (entry.get("of") or {entry["thing"]: entry.get("fields")}).items():
            for field in fields or _rest(collected, entry["rest_of"], thing):
                needs, unseen = entry.get("needs", ANSWERS), entry.get("unseen", {})
                collected.append(Fact(witness, thing, field, entry.get("rule"), needs, reason, unseen))
    yield from collected


def _rest(collected: list[Fact], of: str, thing: str) -> list[str]:
    known = {fact.field for fact in collected if fact.thing == thing}
    return [fact.field for fact in collected if fact.thing == of and fact.field not in known]
