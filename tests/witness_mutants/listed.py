"""Changes that may stay unnoticed, and why: by the table of facts, and by listed.toml for changes of more than a cell.

Theory   A field that no rule judges is listed. So is a field with a rule that needs the journal, if there is none. For
         a field that a rule judges, the table says which kinds of change the rule does not see, and of which rows
         (`unseen`): such a change is excused. Any other change must be found.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fakebroker_load.facts.table import ALWAYS, JOURNAL, Fact, fact_of, facts
from witness_mutants.changes import CLOCK, ROW, Kind
from witness_mutants.rows import WITNESSES, Row
from witness_mutants.wire.altering import A_FRAME
from witness_mutants.wire.batches import A_BYTE, ATTRIBUTES, BATCH, RECORD

FILE = Path(__file__).with_name("listed.toml")
ANY = "*"
Meets = Callable[[str, Row, Row | None], bool]
NOT_JUDGED, EXCUSED, SURVIVOR = "not judged", "excused", "survivor"


class Listed(NamedTuple):
    """`things`, `fields` and `changes` may be patterns; `ways` is 2, 3 or 0 for both. `where` is a condition of
    conditions.py, of a message on the wire one of wire/conditions.py."""

    things: tuple[str, ...]
    fields: tuple[str, ...]
    changes: tuple[str, ...]
    ways: int
    where: str
    why: str

    def covers(self, kind: Kind, ways: int) -> bool:
        parts = ((kind.thing, self.things), (kind.field, self.fields), (kind.change, self.changes))
        return self.ways in (0, ways) and all(any(fnmatchcase(one, pattern) for pattern in many) for one, many in parts)


@cache
def load_listed(path: Path = FILE) -> tuple[Listed, ...]:
    """Read the file. Raise ValueError for an entry that says no reason, or has a key that is not known."""
    entries = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("listed", []):
        unknown = set(entry) - {"things", "fields", "changes", "ways", "where", "why"}
        if unknown or not entry.get("why"):
            raise ValueError(f"{entry}: it needs `why`, and has no {', '.join(sorted(unknown)) or 'other key'}")
        things, fields, changes = (tuple(entry.get(name, (ANY,))) for name in ("things", "fields", "changes"))
        entries.append(Listed(things, fields, changes, entry.get("ways", 0), entry.get("where", ALWAYS), entry["why"]))
    return tuple(entries)


def judgement_of(kind: Kind, ways: int, changed: Sequence[tuple[Row, Row | None]], meets: Meets) -> tuple[str, str]:
    """Return NOT_JUDGED, EXCUSED or SURVIVOR for a kind of change that was not found, and why. `changed` has each row
    as it was and as it is; `meets` says whether such a row meets a condition. An excuse must hold for each of them."""
    fact = fact_about(kind)
    if fact is not None:
        if fact.rule is None:
            return NOT_JUDGED, fact.reason
        if fact.needs == JOURNAL and ways == 2:
            return NOT_JUDGED, f"{fact.rule}: that needs the journal"
        excuses = [
            condition
            for condition, changes in fact.unseen.items()
            if any(fnmatchcase(kind.change, pattern) for pattern in changes)
        ]
        if excuses and all(any(meets(condition, *rows) for condition in excuses) for rows in changed):
            return EXCUSED, f"{fact.rule}: {fact.reason}"
    for entry in load_listed():
        if entry.covers(kind, ways) and all(meets(entry.where, *rows) for rows in changed):
            return EXCUSED, entry.why
    return SURVIVOR, ""


def fact_about(kind: Kind) -> Fact | None:
    """Return the entry of the table; None for what is no field, and no row that is dropped or doubled, or out of order.
    Raises KeyError for a field that the table does not know."""
    thing, field, change = kind
    if field in (CLOCK, A_FRAME, A_BYTE) or (field == ROW and thing not in WITNESSES):
        return None
    if field != ROW:
        on_the_wire = "batch" if thing in (BATCH, ATTRIBUTES, RECORD) else "wire"
        return fact_of(WITNESSES.get(thing, on_the_wire), thing, field)
    cause = change.removeprefix("before its ")
    names = {(thing, f"a row {change}"), (cause, f"before its {thing}"), (thing, f"behind its {cause}")}
    return next((fact for fact in facts() if fact.witness == "order" and (fact.thing, fact.field) in names), None)
