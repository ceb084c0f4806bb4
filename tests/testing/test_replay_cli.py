"""`fakebroker replay`: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakebroker.cli import main
from fakebroker.core.replication.partition import Partition
from fakebroker.testing import GroupHistory


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["fakebroker", "replay", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_seed_that_holds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "3", "--steps", "40") == 0
    assert "every rule held" in capsys.readouterr().err


def test_the_journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert run(monkeypatch, "3", "--steps", "40", "--journal", str(path)) == 0
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert {"topic_created", "request", "answer"} <= {event["event"] for event in events}


def test_a_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert run(monkeypatch, "3", "--group", "--steps", "20", "--journal", str(path)) == 0
    assert "every rule held: 20 steps, settled " in capsys.readouterr().err
    assert '"JoinGroup"' in path.read_text() or '"ConsumerGroupHeartbeat"' in path.read_text()


def test_transactions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert run(monkeypatch, "3", "--transactions", "--steps", "20", "--journal", str(path)) == 0
    assert "every rule held: 20 steps, settled " in capsys.readouterr().err
    assert '"InitProducerId"' in path.read_text()


def test_transactions_that_fail_are_shrunk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("fakebroker.testing.transactions.world.SETTLES_MS", 1_000)
    plan = "transactions 1 1 2 1; reader 0; producer 0 2 3; transact 0 1 1 1; advance 2500; crashes 0"
    assert run(monkeypatch, "3", "--transactions", "--plan", plan, "--shrink") == 1
    shorter = capsys.readouterr().err.splitlines()[-1].split("'")[1]
    assert shorter.startswith("transactions 1 1 2 1; producer 0 2 3; ")
    assert run(monkeypatch, "3", "--transactions", "--plan", shorter) == 1


@pytest.mark.interpreted  # patches what is compiled
def test_a_group_that_fails_is_shrunk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(GroupHistory, "committed", lambda self, member, place, offset, generation: self.unsettled("x"))
    plan = "group 1 1 0; joins; pauses 1; wakes 1; produce 0 1; advance 11000; move 0 0"
    assert run(monkeypatch, "3", "--group", "--plan", plan, "--shrink") == 1
    shorter = capsys.readouterr().err.splitlines()[-1].split("'")[1]
    assert shorter.startswith("group 1 1 0; ")
    assert len(shorter) < len(plan)
    assert run(monkeypatch, "3", "--group", "--plan", shorter) == 1


@pytest.mark.interpreted  # patches what is compiled
def test_a_seed_that_fails_is_shrunk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Partition, "check_enough_replicas_reach_offset", lambda self, offset: (True, 0))
    assert run(monkeypatch, "6", "--steps", "200", "--shrink") == 1
    broken, shorter = capsys.readouterr().err.splitlines()
    assert broken.startswith("broken: step ")
    assert shorter.startswith("shorter: fakebroker replay 6 --plan 'cluster ")
    plan = shorter.split("'")[1]
    assert plan.count(";") <= 6
    assert run(monkeypatch, "6", "--plan", plan) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "fakebroker: "),
        (["1", "--plan", "dance"], "fakebroker: there is no action 'dance'; "),
        (["1", "--group", "--plan", "dance"], "fakebroker: 'dance' is no action of a group: "),
        (["1", "--transactions", "--plan", "dance"], "fakebroker: 'dance' is no action of transactions: "),
        (["1", "--transactions", "--plan", "deliver 1"], "fakebroker: a plan begins with its transactions\n"),
        (
            ["1", "--transactions", "--group"],
            "fakebroker: --group and --transactions are two simulations: choose one\n",
        ),
        (
            ["1", "--swarm", "--plan", "jump"],
            "fakebroker: --swarm changes random steps, and --plan has no random steps: choose one\n",
        ),
        (["1", "--plan", "jump"], "fakebroker: a plan begins with its cluster, and has one\n"),
        (["1", "--plan", "cluster 3 1000; cluster 3 1000"], "fakebroker: a plan begins with its cluster"),
        (["1", "--steps", "5", "--journal", "/nowhere/at/all"], "fakebroker: --journal /nowhere/at/all: "),
    ],
)
def test_a_slip_is_one_sentence(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1
