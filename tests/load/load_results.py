"""Small result folders without Spark: hand-made rows in the layout of job.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker_load.results.columns import BY_JOURNAL, SCHEMAS
from fakebroker_load.results.folder import (
    JOURNAL_PARQUET,
    JUDGED_PARQUET,
    MANIFEST_FILE,
    PARQUET,
    REPORT_FILE,
    VERDICT_FILE,
)
from fakebroker_load.results.manifest import columns_of, seal, write_runs
from fakebroker_load.scenario.model import LoadScenario, RequestGroup

GROUP = RequestGroup("g", "orders", -1, "NONE", connections=2, requests_per_connection=3)
MACHINE: dict[str, str | int] = {
    **dict.fromkeys(("system", "python", "java", "spark", "uvloop"), "1.0"),
    **dict.fromkeys(("cores", "usable_cores"), 2),
    "fakebroker": "0.1 (compiled)",
}
ROWS = 3
# A row of a reader has its `read`, and a request has not.
SPECIAL: dict[str, dict[str, list[Any]]] = {
    PARQUET: {
        "read": [None, None, {"what": "done"}],
        "error_code": [0, 0, 0],
        "answered_us": [1_500, 4_321, 9_000],
    },
    JOURNAL_PARQUET: {"event": ["parked", "answer", "append"], "request": [7, 7, 7]},
}
EXAMPLES: dict[pa.DataType, Any] = {pa.string(): "x", pa.bool_(): True, pa.float64(): 1.5}


def result_folder(path: Path, run_id: str, files: int = 2) -> Path:
    """Write a folder with all that a run can record, with a value in each column, and a verdict. Two run ids make two
    folders that differ in each file."""
    for name, schema in SCHEMAS.items():
        (path / name).mkdir(parents=True)
        for number in range(files if name == PARQUET else 1):
            rows = [{field.name: _value(field.type, run_id, number, row) for field in schema} for row in range(ROWS)]
            for row, row_ in enumerate(rows):
                row_ |= {column: values[row] for column, values in SPECIAL.get(name, {}).items()}
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), path / name / f"part-{number}.parquet")
    write_runs(path, [entry_of(run_id, LoadScenario("small", (GROUP,)))])
    row_ = {"run": "small", "group": "g", "requests": 6, "confirmed": 6}
    row_ |= {f"lateness_{name}_us": None for name in ("p50", "p99", "max")}
    (path / VERDICT_FILE).write_text(json.dumps({"ok": True, "groups": [row_], "run_id": run_id}))
    (path / REPORT_FILE).write_text("<h1>report</h1>")
    seal(path)
    return path


def entry_of(run_id: str, scenario: LoadScenario) -> dict[str, Any]:
    """Return what run.json tells of a run that had it all."""
    return {
        "scenario": asdict(scenario),
        "run_id": run_id,
        "log": True,
        "seed": 1,
        "bootstrap": ["127.0.0.1:9092"],
        "slots": 2,
        "planned": {group.name: group.records for group in scenario.groups},
        "planned_s": 0.5,
        "started_at": "2026-01-01T00:00:00Z",
        "took_s": 1.5,
        "machine_late_ms": 3,
        "clocks": {"error_us": 4, "hosts": ["h"], "tasks": [{"task": 0, "host": "h", "offset_us": 5, "error_us": 4}]},
        "machine": MACHINE,
        "command": "fakebroker-load run small",
        "leaders": {"127.0.0.1:9092": {"orders": [0]}},
        "actions": [{"what": "stop 3", "at_ms": 10, "begun_ms": 11, "ended_ms": 12}],
        "journal": {"from": "a journal", "rows": 3, "clock_us": [1, 2]},
    }


def _value(type_: pa.DataType, run_id: str, number: int, row: int) -> Any:
    if pa.types.is_list(type_):
        return [_value(type_.value_type, run_id, number, row)]
    if pa.types.is_struct(type_):
        return {field.name: _value(field.type, run_id, number, row) for field in type_}
    if pa.types.is_integer(type_):
        return 10 * number + row
    return run_id if pa.types.is_string(type_) else EXAMPLES[type_]


def check_columns(out: Path, has_journal: bool) -> None:
    """Compare what Spark has written with docs/load-results.md."""
    for name, column_types in json.loads((out / MANIFEST_FILE).read_text())["columns"].items():
        known = columns_of(SCHEMAS[name])
        if name == JUDGED_PARQUET and not has_journal:
            for column in BY_JOURNAL:
                del known[column.name]
        differ = column_types.items() ^ known.items()
        assert not differ, f"{name}: its columns in fakebroker_load/results/columns.py are others: {differ}"
