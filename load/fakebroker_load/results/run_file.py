"""The types of run.json, and a check of a run.json that another process has written."""

from __future__ import annotations

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError


class Task(Struct):
    task: int
    host: str
    offset_us: int
    error_us: int


class RunFileClocks(Struct):
    error_us: int | None
    hosts: list[str]
    tasks: list[Task]


class RunFileJournal(Struct, rename={"source": "from"}):
    source: str | None = None
    rows: int = 0
    why_not: str | None = None
    clock_us: tuple[int, int] | None = None


class RunFileAction(Struct):
    what: str
    at_ms: int
    begun_ms: int
    ended_ms: int


class Machine(Struct):
    cores: str | int
    usable_cores: str | int
    system: str
    python: str
    java: str
    spark: str
    fakebroker: str
    uvloop: str
    master: str = ""


class RunFileEntry(Struct):
    """One run. A run may lack the fields with a default."""

    scenario: LoadScenario
    planned: dict[str, int]
    run_id: str
    log: bool
    seed: int
    bootstrap: list[str]
    slots: int
    planned_s: float
    started_at: str
    took_s: float
    machine: Machine
    actions: list[RunFileAction]
    machine_late_ms: int | None = None
    clocks: RunFileClocks | None = None
    command: str = ""
    leaders: dict[str, dict[str, list[int]]] | None = None
    journal: RunFileJournal | None = None


def complaint_of(text: bytes) -> str | None:
    """Return the problem of a run.json, or None."""
    try:
        entries, plain = decode(text, type=list[RunFileEntry]), decode(text)
    except (MsgspecError, LoadScenarioError, ValueError, RecursionError) as error:
        return " ".join(str(error).split())
    for entry, plain_entry in zip(entries, plain, strict=True):
        if decode(encode(entry.scenario)) != plain_entry["scenario"]:
            return f"the scenario {entry.scenario.name!r} has other fields"
        if entry.planned.keys() != {group.name for group in entry.scenario.groups}:
            return f"`planned` of {entry.scenario.name!r} names other groups than its scenario"
    names = [entry.scenario.name for entry in entries]
    if not names or len(set(names)) < len(names):
        return f"it tells of {len(names)} runs, of {len(set(names))} scenarios"
    return None
