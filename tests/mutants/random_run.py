"""Try random mutants: `python -m tests.mutants --random N --seed S`."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from costs.table import CostOfTest, CostTable

from mutants.checkout import changed, copy_checkout
from mutants.covering import Covering
from mutants.draw import RandomMutant, draw
from mutants.judgements import EQUIVALENT, Judgement, load_judgements, unjudged_entries
from mutants.trial import Outcome, TrialError, run_tests

GOAL = 0.9
FIRST_STAGE_S = 8.0  # of recorded CPU time; most mutants are killed in it, by few files
FIRST_STAGE_FILES = 6


@dataclass(frozen=True)
class Plan:
    """The arguments of a run. `budget_s` bounds the recorded CPU time of the tests that a mutant meets. `alone` looks
    for a second killing test file, to find mutants that only one file kills."""

    count: int
    seed: int
    rooms: Sequence[str]
    jobs: int
    budget_s: float
    alone: bool = False


@dataclass
class Result:
    """The result of one mutant. `tests` counts the tests that execute it, `met` those within the budget."""

    mutant: RandomMutant
    outcome: Outcome
    tests: int
    met: int
    seconds: float
    judgement: Judgement | None = None
    killed_alone: bool | None = None

    @property
    def lives(self) -> bool:
        return self.outcome.killer is None

    @property
    def is_equivalent(self) -> bool:
        return self.lives and self.judgement is not None and self.judgement.verdict == EQUIVALENT

    def line(self) -> str:
        mutant, outcome = self.mutant, self.outcome
        if outcome.killer is not None:
            came = f"killed by {outcome.killer}" + (f" ({outcome.how})" if outcome.how != "test" else "")
        elif outcome.how:
            came = f"LIVES: {outcome.how}"
        elif not self.tests:
            came = "LIVES: no test executes it"
        else:
            came = f"LIVES after {self.met} tests" + (f" of {self.tests}" if self.met < self.tests else "")
        if self.lives and self.judgement:
            came += f"; {self.judgement.verdict}: {self.judgement.why}"
        return (
            f"{mutant.room:11} {mutant.path}:{mutant.line}: {mutant.edit.kind}: {mutant.told}: {came} "
            f"({self.seconds:.0f} s)"
        )


class Copies:
    """Copies of the checkout, one for each job."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._folder = folder
        self._free: SimpleQueue[Path] = SimpleQueue()
        first = copy_checkout(folder / "0")
        for job in range(1, jobs):
            self._free.put(Path(shutil.copytree(first, folder / str(job))))
        self._free.put(first)

    def run(self, mutant: RandomMutant | None, tests: Sequence[CostOfTest]) -> Outcome:
        """Run the tests against the mutant, or against the code as it is."""
        copy = self._free.get()
        try:
            nodes, cpu_s = [test.node for test in tests], sum(test.cpu_s for test in tests)
            scratch = self._folder / f"chosen-{copy.name}"
            if mutant is None:
                return run_tests(copy, nodes, cpu_s, scratch)
            path = copy / mutant.path
            with changed(path, mutant.applied(path.read_bytes())):
                return run_tests(copy, nodes, cpu_s, scratch)
        finally:
            self._free.put(copy)


def run(plan: Plan, results_file: Path | None = None) -> int:
    """Try the mutants, print what came of each, and return the exit status."""
    drawn = draw(plan.count, plan.seed, plan.rooms)
    random.Random(plan.seed).shuffle(drawn)  # an interrupted run has tried some of each room
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(plan.jobs) as pool:
        covering = Covering(CostTable())
        met = {mutant: covering.tests(mutant) for mutant in drawn}
        copies = Copies(Path(folder), plan.jobs)
        running = [pool.submit(tried, copies, mutant, met[mutant], plan) for mutant in drawn]
        try:
            for future in as_completed(running):
                results.append(future.result())
                print(results[-1].line(), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print(f"interrupted: {len(results)} of {len(drawn)} mutants were tried", flush=True)
        else:
            confirm(copies, results, met, plan, pool)
    results.sort(
        key=lambda result: (list(plan.rooms).index(result.mutant.room), result.mutant.path, result.mutant.line)
    )
    print_summary(results)
    if results_file is not None:
        document = {"seed": plan.seed, "share": share(results), "mutants": [as_json(result) for result in results]}
        results_file.write_text(json.dumps(document, indent=1))
    return int(share(results) < GOAL)


def tried(
    copies: Copies, mutant: RandomMutant, tests: Sequence[CostOfTest], plan: Plan, barred: frozenset[str] = frozenset()
) -> Result:
    """Run the tests that execute the mutant, the first stage and then the rest, without those that are barred."""
    started = time.monotonic()
    allowed = [test for test in tests if test.node not in barred and test.file not in barred]
    within = list(within_budget(allowed, plan.budget_s))
    try:
        outcome = _in_stages(copies, mutant, within)
    except TrialError as error:
        outcome = Outcome(None, f"pytest could not run: {error}")
    killed_alone = None
    if plan.alone and outcome.killer is not None:
        file = outcome.killer.partition("::")[0]
        killed_alone = _in_stages(copies, mutant, [test for test in within if test.file != file]).killer is None
    judgement = load_judgements().get(mutant.identity)
    return Result(mutant, outcome, len(allowed), len(within), time.monotonic() - started, judgement, killed_alone)


def _in_stages(copies: Copies, mutant: RandomMutant, tests: Sequence[CostOfTest]) -> Outcome:
    ran = 0
    for stage in stages(tests):
        outcome = copies.run(mutant, stage)
        ran += outcome.ran
        if outcome.killer is not None:
            return outcome._replace(ran=ran)
    return Outcome(None, "", ran)


def within_budget(tests: Sequence[CostOfTest], budget_s: float) -> Iterator[CostOfTest]:
    """Yield tests in their order as long as their recorded CPU time fits, at least one."""
    total = 0.0
    for test in tests:
        if total and total + test.cpu_s > budget_s:
            continue
        total += test.cpu_s
        yield test


def stages(tests: Sequence[CostOfTest]) -> list[list[CostOfTest]]:
    """Split tests into a first stage of few files, which are collected quickly, and the rest."""
    first: list[CostOfTest] = []
    files: set[str] = set()
    total = 0.0
    for test in tests:
        if total + test.cpu_s <= FIRST_STAGE_S and len(files | {test.file}) <= FIRST_STAGE_FILES:
            files.add(test.file)
            total += test.cpu_s
            first.append(test)
    chosen = set(first)
    return [stage for stage in (first, [test for test in tests if test not in chosen]) if stage]


def confirm(
    copies: Copies,
    results: list[Result],
    met: dict[RandomMutant, list[CostOfTest]],
    plan: Plan,
    pool: ThreadPoolExecutor,
) -> None:
    """Run every killing test on the code as it is. One that fails there judges nothing: the mutants that it seemed to
    have killed are tried again without it."""
    barred: frozenset[str] = frozenset()
    while failed := _failing(copies, results, met) - barred:
        barred |= failed
        print(f"fail without a mutant too, so not used: {', '.join(sorted(failed))}", flush=True)
        again = [at for at, result in enumerate(results) if result.outcome.killer in barred]
        mutants = [results[at].mutant for at in again]
        retry = partial(tried, copies, plan=plan, barred=barred)
        tried_again = pool.map(retry, mutants, [met[mutant] for mutant in mutants])
        for at, result in zip(again, tried_again, strict=True):
            results[at] = result
            print(f"again: {result.line()}", flush=True)


def _failing(copies: Copies, results: Sequence[Result], met: dict[RandomMutant, list[CostOfTest]]) -> frozenset[str]:
    """Return the killing tests that fail on the code as it is."""
    killers = {result.outcome.killer for result in results}
    costs: dict[str, CostOfTest] = {}  # by killer; one test stands for a file that could not be collected
    for test in (test for result in results for test in met[result.mutant]):
        costs.update({killer: test for killer in (test.node, test.file) if killer in killers})
    failed: set[str] = set()
    while left := [test for killer, test in sorted(costs.items()) if killer not in failed]:
        outcome = copies.run(None, left)
        if outcome.killer is None:
            break
        failed.add(outcome.killer)
    return frozenset(failed)


def share(results: Sequence[Result]) -> float:
    """Return the share killed of the mutants that are not judged equivalent."""
    judged = [result for result in results if not result.is_equivalent]
    return sum(not result.lives for result in judged) / len(judged) if judged else 1.0


def print_summary(results: Sequence[Result]) -> None:
    """Print the survivors and the share killed, by room and in total."""
    survivors = [result for result in results if result.lives]
    print(f"\n{len(survivors)} survivors:" if survivors else "\nno survivors")
    for survivor in survivors:
        print(f"  {survivor.line()}")
    unjudged = [survivor.mutant.identity for survivor in survivors if survivor.judgement is None]
    if unjudged:
        print(f"\nto judge in tests/mutants/survivors.toml:\n{unjudged_entries(unjudged)}")
    drawn = Counter(result.mutant.room for result in results)
    print("\nthe share is that of the mutants not judged equivalent")
    print(f"{'room':12} {'drawn':>6} {'killed':>7} {'equivalent':>11} {'live':>5} {'share':>8}")
    for room in [*drawn, "all"]:
        of_room = [result for result in results if room in (result.mutant.room, "all")]
        equivalent, lives = sum(result.is_equivalent for result in of_room), sum(result.lives for result in of_room)
        counts = f"{len(of_room):6} {len(of_room) - lives:7} {equivalent:11} {lives - equivalent:5}"
        print(f"{room:12} {counts} {share(of_room):8.1%}")


def as_json(result: Result) -> dict[str, object]:
    mutant, outcome, judgement = result.mutant, result.outcome, result.judgement
    return {
        "room": mutant.room,
        "line": mutant.line,
        "kind": mutant.edit.kind,
        **mutant.identity._asdict(),
        "told": mutant.told,
        "killer": outcome.killer,
        "how": outcome.how,
        "ran": outcome.ran,
        "met": result.met,
        "tests": result.tests,
        "killed_alone": result.killed_alone,
        "seconds": round(result.seconds, 1),
        "verdict": judgement.verdict if judgement else None,
        "why": judgement.why if judgement else None,
    }
