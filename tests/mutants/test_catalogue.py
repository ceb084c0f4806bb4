"""No mutant is forgotten by a change of what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .catalogue import MUTANTS, TESTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.path}: {mutant.why}")
def test_what_a_mutant_changes_is_there_once(mutant: Mutant) -> None:
    assert (ROOT / mutant.path).read_text().count(mutant.old) == 1
    assert mutant.new != mutant.old
    assert mutant.path in TESTS
