"""The catalogue of mutants fits the code: `make mutants` would not stumble."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutants.catalogue import MUTANTS, SIMULATION, TESTS, Mutant

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{Path(mutant.path).stem}: {mutant.why}")
def test_its_text_stands_there_once(mutant: Mutant) -> None:
    source = (ROOT / mutant.path).read_text()
    assert source.count(mutant.old) == 1
    ast.parse(source.replace(mutant.old, mutant.new))


def test_there_are_enough_and_each_has_tests() -> None:
    assert len(MUTANTS) >= 30
    assert {mutant.path for mutant in MUTANTS} == TESTS.keys()
    for suite in (*TESTS.values(), SIMULATION):
        assert all((ROOT / name).exists() for name in suite)
