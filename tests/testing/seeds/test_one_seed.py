"""One seed of each kind: what it tells, and that its line runs the same simulation again."""

from __future__ import annotations

import shlex
import sys

import pytest

from fakebroker.cli import main
from fakebroker.core.replication.partition import Partition
from fakebroker.testing.seeds import KINDS, run_seed

STEPS = 40


def replay(monkeypatch: pytest.MonkeyPatch, line: str) -> int:
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_tells_what_it_did(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_seed(kind, 3, STEPS, swarm=True)
    assert (result.kind, result.seed, result.violation, result.shorter) == (kind, 3, "", "")
    assert result.steps >= STEPS
    assert result.requests >= result.produced > 0
    assert result.virtual_ms > 0
    assert result._replace(took_us=0) == run_seed(kind, 3, STEPS, swarm=True)._replace(took_us=0)
    assert replay(monkeypatch, result.again) == 0


def test_the_line_names_the_swarm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_seed("groups", 3, STEPS, swarm=True).again == "fakebroker replay 3 --group --steps 40 --swarm"
    assert run_seed("streams", 3, STEPS).again == "fakebroker replay 3 --streams --steps 40"
    assert run_seed("cluster", 3, STEPS).again == "fakebroker replay 3 --steps 40"


@pytest.mark.interpreted  # patches what is compiled
def test_a_seed_that_breaks_a_rule_brings_a_shorter_plan(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that acknowledges at once."""
    monkeypatch.setattr(Partition, "check_enough_replicas_reach_offset", lambda self, offset: (True, 0))
    broken = [result for seed in range(4) if (result := run_seed("cluster", seed, 200)).violation]
    assert broken
    assert all("step" in result.violation for result in broken)
    shortest = min(broken, key=lambda result: len(result.shorter))
    assert len(shortest.shorter) < len(shortest.again) + 400
    assert replay(monkeypatch, shortest.again) == 1
    assert replay(monkeypatch, shortest.shorter) == 1
    monkeypatch.undo()
    assert replay(monkeypatch, shortest.shorter) == 0
    assert "every rule held" in capsys.readouterr().err
