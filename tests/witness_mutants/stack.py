"""Many mutants in one judgement. Each copy of a run has a name of its own, and every rule works run by run.

Theory   A judgement of Spark takes seconds whatever it is about, so copies of one run are judged together, as runs of
         one folder. Copies without a change are among them, and must be confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from fakebroker_load.job import judge_folder
from fakebroker_load.results.folder import JOURNAL_PARQUET, MISMATCH_PARQUET
from fakebroker_load.results.manifest import write_runs
from witness_mutants.changes import ROW, Mutant
from witness_mutants.recording import Recording
from witness_mutants.rows import Rows
from witness_mutants.small import LATE_MS

# What all rows of a group have alike, by the scenario: the verdict says of the group that they do not.
OF_GROUPS = ("group", "topic", "acks", "expected_error", "must_wait", "also", "client", "client_id", "written")


class Copy(NamedTuple):
    """A run under a name of its own, judged in so many ways; `mutant` is None if nothing was changed."""

    name: str
    recording: Recording
    ways: int
    mutant: Mutant | None


@dataclass
class Found:
    """The verdict about one copy: rows of mismatches, and findings about whole groups, by group."""

    mismatches: list[dict[str, Any]] = field(default_factory=list)
    of_groups: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_red(self) -> bool:
        return bool(self.mismatches or self.of_groups)

    def problems(self) -> set[str]:
        return {str(row["problem"]) for row in self.mismatches}

    def told(self) -> str:
        groups = [f"{group}: {said}" for group, all_said in self.of_groups.items() for said in all_said]
        return "; ".join([*sorted(self.problems()), *groups]) or "confirmed"


def judge_copies(spark: SparkSession, folder: Path, copies: Sequence[Copy], late_ms: int = LATE_MS) -> dict[str, Found]:
    """Judge the copies at once, in this new folder, and return what was found of each. Later than `late_ms` is late."""
    folder.mkdir(parents=True)
    tables: dict[str, list[pa.Table]] = {}
    for copy in copies:
        for name, table in copy.recording.tables.items():
            if copy.ways == 2 and name == JOURNAL_PARQUET:
                continue
            changed = copy.mutant.table if copy.mutant is not None and copy.mutant.folder == name else table
            tables.setdefault(name, []).append(_named(changed, copy.name))
    for name, pieces in tables.items():
        (folder / name).mkdir()
        pq.write_table(pa.concat_tables(pieces).combine_chunks(), folder / name / "all.parquet")
    write_runs(folder, [_entry(copy) for copy in copies])
    _, verdict = judge_folder(spark, folder, late_ms)
    verdicts = {copy.name: Found() for copy in copies}
    for group in verdict.groups:
        if not group.ok:
            said = [*group.amiss, *(["the load was sent late"] if group.sent_late else [])]
            if group.rows != group.requests:
                said.append(f"{group.rows} rows of {group.requests} requests")
            if said:
                verdicts[group.run].of_groups[group.group] = said
    if not verdict.ok:
        for row in spark.read.parquet(str(folder / MISMATCH_PARQUET)).collect():
            verdicts[row["run"]].mismatches.append(row.asDict())
    return verdicts


def _named(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(0, table.schema.field("run"), pa.repeat(pa.scalar(name), table.num_rows))


def _entry(copy: Copy) -> dict[str, Any]:
    entry = copy.recording.entry
    kept = {key: value for key, value in entry.items() if copy.ways == 3 or key != "journal"}
    return kept | {"scenario": entry["scenario"] | {"name": copy.name}}


def is_named(found: Found, mutant: Mutant, rows: Rows) -> bool:
    """Return True if the verdict names a row that was changed, by its connection or its partition. If a setting of a
    group or its number of rows was changed, the group must be named. A change of a whole column or a clock has no row
    to name."""
    if len(mutant.before) > 2:
        return found.is_red
    changed = (*mutant.before, *mutant.after)
    if mutant.kind.field in (ROW, *OF_GROUPS) and any(row.get("group") in found.of_groups for row in changed):
        return True
    connections, places = set(), set()
    for row in changed:
        connection, place = rows.whose(row)
        connections.add(connection)
        places.add(place)
    return any(
        (mismatch["connection"] is not None and mismatch["connection"] in connections)
        or (mismatch["topic"] is not None and (mismatch["topic"], mismatch["partition"]) in places)
        for mismatch in found.mismatches
    )
