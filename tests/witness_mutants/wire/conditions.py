"""Conditions of the table of facts that are about a message on the wire (`unseen` in fakebroker_load/facts)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakebroker_load.facts.table import ALWAYS
from fakebroker_load.results.folder import PARQUET
from witness_mutants.recording import Recording
from witness_mutants.rows import Row
from witness_mutants.wire.altering import Alteration, Altered

WIRE: Mapping[str, Callable[[Row], bool]] = {
    ALWAYS: lambda row: True,
}


def row_of(alteration: Alteration, done: tuple[str, Altered], recording: Recording) -> Row:
    """A message as the conditions see it: its name, and what sends on its connection."""
    rows = recording.tables[PARQUET].select(["local", "client", "acks"]).to_pylist()
    own: Row = next((row for row in rows if row["local"] == done[0]), {})
    return {"message": alteration.message, "client": own.get("client"), "acks": own.get("acks")}


def is_met(condition: str, row: Row, after: Row | None) -> bool:
    """Whether the message meets it. Raises KeyError for a condition that there is not."""
    return WIRE[condition](row)
