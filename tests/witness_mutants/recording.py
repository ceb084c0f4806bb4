"""An honest run of a scenario, without Spark, in the files that a run of Spark writes: three witnesses in Parquet."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.controlled import Controlled

from fakebroker_load import worker
from fakebroker_load.control import ask_control, resume_followers
from fakebroker_load.job import leaders_of
from fakebroker_load.journal.file_window import FileWindow
from fakebroker_load.journal.lines import JOURNAL_SCHEMA
from fakebroker_load.journal.taps import FileTap
from fakebroker_load.judging.ways import has_journal
from fakebroker_load.log import (
    LOG_SCHEMA,
    PART_SCHEMA,
    await_readable,
    log_ends,
    part_rows,
    shown_watermarks,
    standing_still,
)
from fakebroker_load.plan import plan_connections
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.results.folder import JOURNAL_PARQUET, LOG_PARQUET, PARQUET, PARTS_PARQUET, read_runs
from fakebroker_load.results.manifest import write_runs
from fakebroker_load.scenario.actions import ScenarioActor
from fakebroker_load.scenario.model import LoadScenario
from fakebroker_load.scenario.setup import prepared
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from witness_mutants.small import small

SCHEMAS: Mapping[str, pa.Schema] = {
    PARQUET: RESULT_SCHEMA,
    LOG_PARQUET: LOG_SCHEMA,
    PARTS_PARQUET: PART_SCHEMA,
    JOURNAL_PARQUET: JOURNAL_SCHEMA,
}
WAYS = (3, 2)


@dataclass(frozen=True)
class Recording:
    """A run: its entry in run.json, and its rows by the name of their folder."""

    name: str
    entry: dict[str, Any]
    tables: dict[str, pa.Table]

    @property
    def ways(self) -> tuple[int, ...]:
        """Return the numbers of ways in which the run can be judged."""
        return WAYS if has_journal(self.entry) else WAYS[1:]


class Start:
    """The common start of the one task, which ScenarioActor waits for."""

    def __init__(self) -> None:
        self._known = threading.Event()
        self._ns = 0

    def agree(self, ready_ns: int) -> int:
        self._ns = ready_ns
        self._known.set()
        return ready_ns

    def wait(self, timeout_s: float) -> int | None:
        return self._ns if self._known.wait(timeout_s) else None


def record(scenario: LoadScenario, folder: Path, seed: int, config: Mapping[str, Any] | None = None) -> None:
    """Run the scenario against brokers in this process, with these settings, and keep the records in the folder: all
    three, unless the journal is not whole."""
    folder.mkdir(parents=True)
    journal, name, run_id = folder / "journal.jsonl", scenario.name, f"id{seed}"
    with ExitStack() as stack:
        cluster = stack.enter_context(Controlled(journal=0, journal_file=journal, config=config))
        url = cluster.control.url
        bootstrap = [(broker.host, broker.port) for broker in cluster.kafka.endpoints]
        ask = partial(ask_control, url, None)
        plan = stack.enter_context(prepared(ask, scenario, run_id))
        metadata = leaders_of(bootstrap, plan)
        before = log_ends(metadata)
        starts = {place: end.offset for place, end in before.items()}
        connections = plan_connections(plan, metadata.leaders, seed, starts, bootstrap)
        path, broker = folder / JOURNAL_PARQUET / f"{run_id}.parquet", next(iter(metadata.leaders.values()))
        window = FileWindow(FileTap(journal, "the journal"), broker, name, path)
        actor, start = ScenarioActor(ask, plan), Start()
        late_ms: list[int | None] = []
        with window.open():
            with actor.acting(start.wait):
                batches = iter(connections.to_batches())
                sent = worker.run(batches, run_id=run_id, agree=start.agree, tell_late_ms=late_ms.append)
                keep(folder, PARQUET, list(sent))
            shown = shown_watermarks(log_ends(leaders_of(bootstrap, plan)))
            still = standing_still(plan.frozen, leaders_of(bootstrap, plan))
            resume_followers(url, plan.replicated)
            ends = log_ends(leaders_of(bootstrap, plan))
            rows = part_rows((name, run_id), before, ends, await_readable(ends), shown, plan.transactional, still)
            parts = pa.RecordBatch.from_pylist(rows, schema=PART_SCHEMA)
            keep(folder, LOG_PARQUET, list(read_parts(iter([parts]))))
            keep(folder, PARTS_PARQUET, [parts])
    journal.unlink()
    window_rows = window.found
    entry: dict[str, Any] = {
        "scenario": asdict(plan),
        "run_id": run_id,
        "planned": {group.name: group.records for group in plan.groups},
        "log": True,
        "machine_late_ms": late_ms[0],
        "actions": [action._asdict() for action in actor.done],
        "journal": {"from": "a journal", "rows": window_rows.rows}
        if window_rows.why_not is None
        else {"why_not": window_rows.why_not},
    }
    write_runs(folder, [entry])


def record_small(name: str, folder: Path) -> str:
    """Run the bundled scenario of that name with few requests, and return the name."""
    record(small(name), folder, 1)
    if not load_recording(folder).ways == WAYS:
        raise RuntimeError(f"{name} has no whole journal")
    return name


def keep(folder: Path, name: str, batches: list[pa.RecordBatch]) -> None:
    (folder / name).mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_batches(batches, SCHEMAS[name]), folder / name / "all.parquet")


def load_recording(folder: Path) -> Recording:
    """Read what `record` has written."""
    (entry,) = read_runs(folder)
    tables: dict[str, pa.Table] = {}
    for name, schema in SCHEMAS.items():
        files = sorted((folder / name).glob("*.parquet"))
        read = pa.concat_tables(map(pq.read_table, files)) if files else schema.empty_table()
        tables[name] = read.cast(schema).combine_chunks()
    return Recording(entry["scenario"]["name"], entry, tables)
