"""Draw alterations of messages, play a run with each, judge the runs in stacks, and say what came of each."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from fakebroker_load.judging.requests import LATE, LATE_BY_LOAD, UNDECIDED
from fakebroker_load.results.folder import PARQUET
from witness_mutants.campaign import FOUND, STACK, NotMeasured, Tried
from witness_mutants.changes import Kind
from witness_mutants.listed import SURVIVOR, judgement_of
from witness_mutants.recording import WAYS, Recording, load_recording
from witness_mutants.stack import Copy, Found, judge_copies
from witness_mutants.wire.altering import A_FRAME, Alteration, alter, changes_of_message
from witness_mutants.wire.batches import NothingToChange
from witness_mutants.wire.conditions import is_met, row_of
from witness_mutants.wire.messages import Message
from witness_mutants.wire.runs import LATE_LIMIT_MS, Played, messages_of, play
from witness_mutants.wire.tap import Done

TIMES = ("timeout", "throttle_time")  # of these another value is found by lateness
OF_LATENESS = {LATE, LATE_BY_LOAD, UNDECIDED}


class Catalogue(NamedTuple):
    """The messages of an honest run of a scenario, by their name, and its recording."""

    scenario: str
    messages: Mapping[str, Sequence[Message]]
    recording: Recording


def catalogue_of(name: str, folder: Path) -> Catalogue:
    """Run the scenario as it is, in the folder."""
    messages: dict[str, list[Message]] = {}
    for message in messages_of(name, folder):
        messages.setdefault(message.name, []).append(message)
    return Catalogue(name, messages, load_recording(folder))


def alteration_of(catalogue: Catalogue, seed: int, number: int) -> Alteration:
    """Return the alteration that this seed draws under this number: each field of each message is as likely."""
    draw = random.Random(f"{seed}/{catalogue.scenario}/{number}")
    while True:
        name = draw.choice(sorted(catalogue.messages))
        messages = catalogue.messages[name]
        fields = fields_of(messages)
        (thing, field) = draw.choice(sorted(fields))
        kind = Kind(thing, field, draw.choice(fields[thing, field]))
        ordinal = draw.randrange(len(messages))
        alteration = Alteration(name, kind, ordinal, f"{seed}/{number}")
        before = messages[ordinal - 1] if ordinal else None
        try:
            alter(messages[ordinal].frame(), messages[ordinal], before, alteration)
        except NothingToChange:
            continue
        return alteration


def fields_of(messages: Sequence[Message]) -> dict[tuple[str, str], list[str]]:
    """Return the changes of each field of messages of one name."""
    changes: dict[tuple[str, str], list[str]] = {}
    richest = next((message for message in messages if message.has_records), messages[0])
    for thing, field, change in changes_of_message(richest):
        changes.setdefault((thing, field), []).append(change)
    return changes


class Run(NamedTuple):
    """A run in which one message was altered; `recording` is None if the load did not come to its end."""

    catalogue: Catalogue
    number: int
    alteration: Alteration
    played: Played
    recording: Recording | None


def tried_on_the_wire(
    spark: SparkSession,
    pool: Executor,
    catalogues: Sequence[Catalogue],
    seed: int,
    count: int,
    folder: Path,
    on_played: Callable[[], None] = lambda: None,
) -> Iterator[list[Tried]]:
    """Play and judge so many alterations, evenly, and yield the results of each stack. Raises NotMeasured."""
    whole = [(catalogue, number) for number in range(-(-count // len(catalogues))) for catalogue in catalogues][:count]
    for start in range(0, count, STACK // len(WAYS)):
        drawn = whole[start : start + STACK // len(WAYS)]
        alterations = [alteration_of(catalogue, seed, number) for catalogue, number in drawn]
        folders = [folder / "runs" / catalogue.scenario / str(number) for catalogue, number in drawn]
        runs: list[Run] = []
        played = pool.map(play, [catalogue.scenario for catalogue, _ in drawn], alterations, folders)
        for draw, alteration, own, came in zip(drawn, alterations, folders, played, strict=True):
            runs.append(Run(*draw, alteration, came, load_recording(own) if came.is_whole else None))
            on_played()
        yield judged(spark, catalogues, [run for run in runs if run.played.done is not None], folder / "judged")
        shutil.rmtree(folder)


def judged(spark: SparkSession, catalogues: Sequence[Catalogue], runs: Sequence[Run], folder: Path) -> list[Tried]:
    """Judge the runs at once, and return the result of each, in each way. Raises NotMeasured."""
    copies = [
        Copy(f"{at}/{ways}", run.recording, ways, None)
        for at, run in enumerate(runs)
        if run.recording is not None
        for ways in run.recording.ways
    ]
    controls = [
        Copy(f"{catalogue.scenario}/unchanged/{ways}", catalogue.recording, ways, None)
        for catalogue in catalogues
        for ways in catalogue.recording.ways
    ]
    verdicts = judged_apart(spark, folder, [*copies, *controls])
    for control in controls:
        said = verdicts[control.name]
        if isinstance(said, str) or said.problems() - OF_LATENESS:
            raise NotMeasured(f"{control.name} is not confirmed: {said if isinstance(said, str) else said.told()}")
    return [
        one
        for at, run in enumerate(runs)
        for one in came_of(run, {ways: verdicts[f"{at}/{ways}"] for ways in WAYS if f"{at}/{ways}" in verdicts})
    ]


def judged_apart(spark: SparkSession, folder: Path, copies: Sequence[Copy]) -> dict[str, Found | str]:
    """Judge the copies at once; if that fails, halves of them. A verdict that fails even alone has the reason."""
    try:
        return dict(judge_copies(spark, folder, copies, LATE_LIMIT_MS))
    except Exception as problem:
        if len(copies) == 1:
            return {copies[0].name: f"the verdict fails: {str(problem).splitlines()[0]}"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    half = len(copies) // 2
    return judged_apart(spark, folder, copies[:half]) | judged_apart(spark, folder, copies[half:])


def came_of(run: Run, found_by_ways: Mapping[int, Found | str]) -> Iterator[Tried]:
    """Yield what came of a run, in each way that it was judged in."""
    _, kind, ordinal, _ = alteration = run.alteration
    assert run.played.done is not None
    description = f"{alteration} ({run.catalogue.scenario}, message {ordinal}: {run.played.done.altered.told})"
    named = kind if kind.thing == alteration.message else Kind(f"{alteration.message}: {kind.thing}", *kind[1:])
    one = Tried(alteration.message, WAYS[0], run.number, named, description, FOUND, True, "")
    if run.recording is None:
        outcome = FOUND if run.played.refused else SURVIVOR
        yield one._replace(outcome=outcome, said=run.played.refused or run.played.crash or "")
        return
    for ways, verdict in found_by_ways.items():
        if isinstance(verdict, str):
            yield one._replace(ways=ways, outcome=SURVIVOR, said=verdict)
            continue
        outcome, why = FOUND, ""
        if not is_named(verdict, kind, run.played.done, run.recording):
            row = row_of(alteration, run.played.done, run.recording)
            outcome, why = judgement_of(kind, ways, [(row, row)], is_met)
        yield one._replace(ways=ways, outcome=outcome, is_red=verdict.is_red, said=verdict.told(), why=why)


def is_named(found: Found, kind: Kind, done: Done, recording: Recording) -> bool:
    """Return True if the verdict names the connection of the message, or a partition that it is about; anything, if it
    is about none. Lateness counts only where time was changed: the machine may be late."""
    takes_time = kind.field == A_FRAME or kind.field in TIMES
    mismatches = [mismatch for mismatch in found.mismatches if takes_time or mismatch["problem"] not in OF_LATENESS]
    rows = recording.tables[PARQUET].select(["connection", "group", "local"]).to_pylist()
    own = [row for row in rows if row["local"] == done.peer]
    if any(row["group"] in found.of_groups for row in own):
        return True
    connections = {row["connection"] for row in own}
    if not connections and not done.altered.parts:
        return bool(mismatches or found.of_groups)
    return any(
        mismatch["connection"] in connections
        or (mismatch["topic"], mismatch["partition"]) in done.altered.parts
        or (mismatch["topic"], None) in done.altered.parts
        for mismatch in mismatches
    )
