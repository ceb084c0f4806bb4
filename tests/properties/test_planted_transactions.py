"""Each anomaly of transactions is found when a bug that leads to it is planted: in a copy of the project, by the seeds
that the suite asks as well (test_transaction_seeds.py), told by its name. The judge is alone there: with the oracle of
the logs' bytes most of them would end at the first wrong answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mutants.__main__ import copy_project
from mutants.catalogue import MUTANTS, Mutant
from support import doses

from fakebroker.testing.transactions.judge import ANOMALIES

PLANTED = [mutant for mutant in MUTANTS if mutant.finds]
IN_CLUSTER = [mutant for mutant in MUTANTS if mutant.in_cluster]
# Found soon. `make mutants` plants all of them, too, and asks the other tests.
EVERYDAY = ("what ends after an abort is aborted as well", "a marker counts before it is replicated")
SEEDS, STEPS, TIMEOUT_S = 60, 80, 240

# The seeds in their order, until one tells of the anomaly.
_SEARCH = """
import sys
from fakebroker.testing.messages import Violation
from fakebroker.testing.transactions.plan import TransactionRun, random_transaction_plan

kind, seeds, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for seed in range(seeds):
    try:
        TransactionRun(random_transaction_plan(seed, steps), seed, 10_000, judge_alone=True).run()
    except Violation as violation:
        print(seed, str(violation)[:300], file=sys.stderr)
        if f"{kind}: " in str(violation):
            sys.exit(0)
sys.exit(1)
"""

# Whole clusters, in which transactions are one thing among many.
_SEARCH_CLUSTERS = """
import sys
from fakebroker.testing import Replay, random_plan

for seed in range(int(sys.argv[1])):
    violation = Replay(random_plan(seed, int(sys.argv[2])), seed).violation
    if violation is not None:
        print(seed, str(violation)[:300], file=sys.stderr)
        sys.exit(0)
sys.exit(1)
"""


def chosen(mutants: list[Mutant]) -> list[Any]:
    return doses.nightly_but([mutant for mutant in mutants if mutant.why in EVERYDAY], mutants)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("planted") / "copy")


@pytest.mark.slow
@pytest.mark.parametrize("mutant", chosen(PLANTED), ids=lambda mutant: f"{mutant.finds}: {mutant.why}")
def test_it_is_found_by_its_name(mutant: Mutant, copy: Path) -> None:
    assert_found(mutant, copy, _SEARCH, mutant.finds, str(SEEDS), str(STEPS))


@pytest.mark.slow
@pytest.mark.parametrize("mutant", chosen(IN_CLUSTER), ids=lambda mutant: mutant.why)
def test_it_is_found_by_the_oracle_of_the_cluster(mutant: Mutant, copy: Path) -> None:
    assert_found(mutant, copy, _SEARCH_CLUSTERS, str(SEEDS), str(2 * STEPS))


def assert_found(mutant: Mutant, copy: Path, *search: str) -> None:
    path = copy / mutant.path
    original = path.read_text()
    assert original.count(mutant.old) == 1
    path.write_text(original.replace(mutant.old, mutant.new))
    try:
        done = subprocess.run(
            [sys.executable, "-c", *search],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    finally:
        path.write_text(original)
    assert done.returncode == 0, done.stderr


def test_there_is_one_for_each_anomaly() -> None:
    assert {mutant.finds for mutant in PLANTED} >= set(ANOMALIES)
