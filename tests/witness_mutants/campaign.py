"""Draw the mutants of a run, judge them in stacks, and say what came of each."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from witness_mutants.changes import Kind, Mutant, draw_mutant, kinds
from witness_mutants.conditions import is_met
from witness_mutants.listed import EXCUSED, NOT_JUDGED, SURVIVOR, judgement_of
from witness_mutants.recording import WAYS, load_recording
from witness_mutants.rows import Rows
from witness_mutants.stack import Copy, Found, is_named, judge_copies

FOUND = "found"
OUTCOMES = (FOUND, NOT_JUDGED, EXCUSED, SURVIVOR)
STACK = 1_500  # copies that are judged at once


class NotMeasured(Exception):
    """The tool itself is at fault, or a run was not honest; the message says which."""


class Tried(NamedTuple):
    """The result of a mutant: one of OUTCOMES. `said` is the verdict's finding, `why` the reason why it may stay
    unnoticed."""

    scenario: str
    ways: int
    number: int
    kind: Kind
    told: str
    outcome: str
    is_red: bool
    said: str
    why: str = ""


def mutant_of(rows: Rows, seed: int, ways: int, number: int) -> Mutant:
    """Return the mutant that this seed draws under this number."""
    draw = random.Random(f"{seed}/{rows.recording.name}/{ways}/{number}")
    of_run = kinds(rows, ways)
    while True:
        mutant = draw_mutant(rows, draw.choice(of_run), draw)
        if mutant is not None:
            return mutant


def tried(spark: SparkSession, runs: Sequence[Rows], seed: int, count: int, folder: Path) -> Iterator[list[Tried]]:
    """Judge so many mutants of these runs, evenly and in both ways, and yield the results of each stack. Raises
    NotMeasured."""
    whole = [(rows, WAYS[number % 2], number // 2) for number in range(-(-count // len(runs))) for rows in runs]
    for start in range(0, count, STACK):
        drawn = whole[start : min(start + STACK, count)]
        copies = {
            _name(*draw): Copy(_name(*draw), draw[0].recording, draw[1], mutant_of(draw[0], seed, *draw[1:]))
            for draw in drawn
        }
        controls = [Copy(_name(rows, ways, "unchanged"), rows.recording, ways, None) for rows in runs for ways in WAYS]
        verdicts = judge_copies(spark, folder, [*copies.values(), *controls])
        shutil.rmtree(folder)
        for control in controls:
            if verdicts[control.name].is_red:
                raise NotMeasured(f"{control.name} is not confirmed: {verdicts[control.name].told()}")
        yield [
            came_of(rows, number, copies[name], verdicts[name])
            for rows, ways, number in drawn
            for name in [_name(rows, ways, number)]
        ]


def _name(rows: Rows, ways: int, number: int | str) -> str:
    return f"{rows.recording.name}/{ways}/{number}"


def came_of(rows: Rows, number: int, copy: Copy, found: Found) -> Tried:
    assert copy.mutant is not None
    kind, outcome, why = copy.mutant.kind, FOUND, ""
    if not (found.is_red and is_named(found, copy.mutant, rows)):
        outcome, why = judgement_of(kind, copy.ways, copy.mutant.changed, partial(is_met, rows))
    name = rows.recording.name
    return Tried(name, copy.ways, number, kind, copy.mutant.told(), outcome, found.is_red, found.told(), why)


def judged_again(
    spark: SparkSession, results: Sequence[Tried], seed: int, count: int, runs: Path, folder: Path
) -> None:
    """Judge some mutants alone. Raises NotMeasured if the verdict is another one than it was in the stack."""
    draw = random.Random(seed)
    for before in draw.sample(list(results), min(count, len(results))):
        rows = Rows(load_recording(runs / before.scenario))
        mutant = mutant_of(rows, seed, before.ways, before.number)
        verdicts = judge_copies(spark, folder, [Copy(before.scenario, rows.recording, before.ways, mutant)])
        shutil.rmtree(folder)
        if verdicts[before.scenario].told() != before.said:
            alone = verdicts[before.scenario].told()
            raise NotMeasured(f"{before.told}: alone it is {alone!r}, and among others {before.said!r}")
