"""A seed gives one history, byte for byte: tape and journal, in any process."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from fakebroker.core.journal.journal import Journal, to_lines
from fakebroker.testing.plan import random_plan
from fakebroker.testing.replay import Replay

PROGRAM = """
from fakebroker.core.journal.journal import Journal, to_lines
from fakebroker.testing.plan import random_plan
from fakebroker.testing.replay import Replay
import sys
for seed in map(int, sys.argv[1:]):
    journal = Journal(1_000_000)
    run = Replay(random_plan(seed, 150), seed, journal=journal).run
    sys.stdout.buffer.write(run.simulation.tape_text())
    sys.stdout.write("".join(to_lines(journal.events())))
    sys.stdout.flush()
"""


def history(seed: int) -> tuple[bytes, str]:
    journal = Journal(1_000_000)
    run = Replay(random_plan(seed, 150), seed, journal=journal).run
    assert journal.dropped == 0
    return run.simulation.tape_text(), "".join(to_lines(journal.events()))


@pytest.mark.parametrize("seed", range(5))
def test_twice_in_one_process(seed: int) -> None:
    first = history(seed)
    assert first == history(seed)
    assert len(first[0]) > 1_000
    assert len(first[1]) > 1_000


@pytest.mark.slow
def test_in_processes_that_hash_otherwise() -> None:
    def run(hash_seed: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "1", "2", "3"],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    outputs = [run(hash_seed) for hash_seed in ("0", "4242")]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100_000


def test_another_seed_is_another_history() -> None:
    digests = {hashlib.sha256(history(seed)[0]).hexdigest() for seed in range(5)}
    assert len(digests) == 5


def test_what_is_recorded_changes_nothing() -> None:
    with_journal = history(7)[0]
    assert Replay(random_plan(7, 150), 7).run.simulation.tape_text() == with_journal
