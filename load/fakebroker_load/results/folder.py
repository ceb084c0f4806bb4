"""The files of a result folder: their names, and the reading and writing of run.json.

Shape    job.py writes a folder, and the verdict adds to it. RECORDED has the Parquet folders that a run writes, with
         their columns. run.json tells which of them exist (`recorded_of`).
Errors   ResultsError
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from fakebroker_load.journal.lines import JOURNAL_SCHEMA
from fakebroker_load.judging.ways import has_journal
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.traffic.rows import RESULT_SCHEMA

PARQUET = "requests.parquet"
LOG_PARQUET = "log.parquet"
PARTS_PARQUET = "partitions.parquet"
JOURNAL_PARQUET = "journal.parquet"
JUDGED_PARQUET = "judged.parquet"
MISMATCH_PARQUET = "mismatches.parquet"
LOG_FOLDERS = {LOG_PARQUET: LOG_SCHEMA, PARTS_PARQUET: PART_SCHEMA}
RECORDED: Final[Mapping[str, pa.Schema]] = {PARQUET: RESULT_SCHEMA, **LOG_FOLDERS, JOURNAL_PARQUET: JOURNAL_SCHEMA}
JUDGED = (JUDGED_PARQUET, MISMATCH_PARQUET)  # written by a verdict
RUN_FILE = "run.json"
VERDICT_FILE = "verdict.json"
REPORT_FILE = "report.html"
MANIFEST_FILE = "manifest.json"
OTHER_FILES = ("verdict.md", "junit.xml")  # written by reports/


class ResultsError(Exception):
    """A folder does not hold results, or cannot take them; the message is for the user."""


def clear(out: Path) -> None:
    """Make the folder, and remove the files of earlier runs from it; other files stay."""
    out.mkdir(parents=True, exist_ok=True)
    for folder in (*RECORDED, *JUDGED):
        shutil.rmtree(out / folder, ignore_errors=True)
    for name in (MANIFEST_FILE, RUN_FILE, VERDICT_FILE, REPORT_FILE, *OTHER_FILES):
        (out / name).unlink(missing_ok=True)


def recorded_of(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the Parquet folders that these entries of run.json claim."""
    runs = list(runs)
    claimed = [PARQUET]
    if any(run.get("log") for run in runs):
        claimed += LOG_FOLDERS
    if any(map(has_journal, runs)):
        claimed.append(JOURNAL_PARQUET)
    return claimed


def read_runs(out: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((out / RUN_FILE).read_text())
    return runs


def planned_rows(out: Path) -> int:
    """Return how many requests the runs of a folder were to send; 0 if unknown."""
    try:
        return sum(sum(run.get("planned", {}).values()) for run in read_runs(out))
    except (OSError, ValueError, AttributeError, TypeError):
        return 0
