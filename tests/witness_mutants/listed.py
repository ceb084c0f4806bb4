"""Which changes may stay unnoticed, and why: by the table of facts, and by listed.toml for what is no single cell.

Theory   A field that no rule judges is listed. Of a field that a rule judges, the table may say which changes the rule
         does not see: then a change may stay unnoticed, and counts as partly judged. So does one whose rule needs the
         journal where there is none. Any other change must be found.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fakebroker_load.facts.table import JOURNAL, Fact, fact_of, facts
from witness_mutants.changes import CLOCK, ROW, Kind
from witness_mutants.rows import WITNESSES

FILE = Path(__file__).with_name("listed.toml")
ANY = "*"
NOT_JUDGED, PARTLY, SURVIVOR = "not judged", "partly", "survivor"


class Listed(NamedTuple):
    """`things`, `fields` and `changes` may be ANY; `ways` is 2, 3 or 0 for both."""

    things: tuple[str, ...]
    fields: tuple[str, ...]
    changes: tuple[str, ...]
    ways: int
    why: str

    def covers(self, kind: Kind, ways: int) -> bool:
        parts = ((kind.thing, self.things), (kind.field, self.fields), (kind.change, self.changes))
        return self.ways in (0, ways) and all(one in many or ANY in many for one, many in parts)


@cache
def load_listed(path: Path = FILE) -> tuple[Listed, ...]:
    """Read the file. Raise ValueError for an entry that says no reason, or has a key that is not known."""
    found = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("listed", []):
        unknown = set(entry) - {"things", "fields", "changes", "ways", "why"}
        if unknown or not entry.get("why"):
            raise ValueError(f"{entry}: it needs `why`, and has no {', '.join(sorted(unknown)) or 'other key'}")
        things, fields, changes = (tuple(entry.get(name, (ANY,))) for name in ("things", "fields", "changes"))
        found.append(Listed(things, fields, changes, entry.get("ways", 0), entry["why"]))
    return tuple(found)


def judgement_of(kind: Kind, ways: int) -> tuple[str, str]:
    """Return NOT_JUDGED, PARTLY or SURVIVOR for a kind of change that was not found, and why."""
    for entry in load_listed():
        if entry.covers(kind, ways):
            return PARTLY, entry.why
    fact = fact_about(kind)
    if fact is None:
        return SURVIVOR, ""
    if fact.rule is None:
        return NOT_JUDGED, fact.reason
    if fact.needs == JOURNAL and ways == 2:
        return PARTLY, f"{fact.rule}: that needs the journal"
    return (PARTLY, f"{fact.rule}: {fact.reason}") if fact.reason else (SURVIVOR, "")


def fact_about(kind: Kind) -> Fact | None:
    """Return the entry of the table; None for what is no field, and no row that is dropped or doubled, or out of order.
    Raises KeyError for a field that the table does not know."""
    thing, field, change = kind
    if field == CLOCK:
        return None
    if field != ROW:
        return fact_of(WITNESSES[thing], thing, field)
    cause = change.removeprefix("before its ")
    names = {(thing, f"a row {change}"), (cause, f"before its {thing}"), (thing, f"behind its {cause}")}
    return next((fact for fact in facts() if fact.witness == "order" and (fact.thing, fact.field) in names), None)
