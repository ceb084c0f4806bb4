"""The guard: what it reads of callgrind, and when it fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import guard
from benchmarks.instructions import callgrind
from benchmarks.instructions.work import BESIDE, WORKS
from benchmarks.machine.programs import Missing

GOOD = {callgrind.CALIBRATION: 1_000, "produce": 10_000, "fetch": 5_000}


def dumps(per_work: int) -> list[str]:
    """Return dumps in callgrind's form: before the first mark, at and between the marks, and at the end."""
    parts = []
    for number in range(1, 2 * len(WORKS) + 2):
        total = per_work if number % 2 == 0 else 777
        parts.append(
            f"# callgrind format\nversion: 1\npart: {number}\n\nevents: Ir\nsummary: {total}\ntotals: {total}\n"
        )
    return parts


def test_instructions_per_operation() -> None:
    per_operation = callgrind.per_operation(dumps(6_400_000))
    assert per_operation == {name: round(6_400_000 / operations) for name, (_, operations) in WORKS.items()}


def test_markers_that_were_not_seen_are_told() -> None:
    with pytest.raises(Missing, match=f"0 of {2 * len(WORKS)} marks"):
        callgrind.per_operation(dumps(1)[:1])


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.1])
def test_as_good_or_a_tenth_worse_passes(factor: float) -> None:
    assert guard.verdict(GOOD, GOOD | {"produce": round(10_000 * factor)}) == ([], "")


def test_more_than_a_tenth_worse_fails_with_the_numbers() -> None:
    worse, reason = guard.verdict(GOOD, GOOD | {"produce": 11_001, "fetch": 5_499})
    assert worse == ["produce: 11,001 instructions instead of 10,000, +10.0%"]
    assert reason == ""


def test_work_that_is_new_or_gone_is_no_failure() -> None:
    counts = {callgrind.CALIBRATION: 1_000, "brand new": 10**9}
    assert guard.verdict(GOOD, counts) == ([], "")


@pytest.mark.parametrize("calibration", [979, 1_021])
def test_another_build_of_python_is_not_compared(calibration: int) -> None:
    worse, reason = guard.verdict(GOOD, GOOD | {callgrind.CALIBRATION: calibration, "produce": 99_999})
    assert worse == []
    assert "another build of Python" in reason


def test_a_python_without_a_record_is_not_compared() -> None:
    worse, reason = guard.verdict(None, GOOD)
    assert worse == []
    assert "--record" in reason


def test_the_exit_status_and_what_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guard, "RECORDS", tmp_path / "guard.json")
    monkeypatch.setattr(guard, "count", lambda: dict(GOOD))
    assert guard.main([]) == 0
    assert "not compared: no record" in capsys.readouterr().out
    assert guard.main(["--record"]) == 0
    assert json.loads((tmp_path / "guard.json").read_text()) == {guard.key(): GOOD}
    assert guard.main([]) == 0
    monkeypatch.setattr(guard, "count", lambda: GOOD | {"produce": 20_000})
    capsys.readouterr()
    assert guard.main([]) == 1
    assert "produce: 20,000 instructions instead of 10,000, +100.0%" in capsys.readouterr().err
    assert guard.main(["--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "guard"
    assert document["worse"] == ["produce: 20,000 instructions instead of 10,000, +100.0%"]
    # Another record does not go.
    (tmp_path / "guard.json").write_text(json.dumps({"2.7 interpreted": {"produce": 1}}))
    assert guard.main(["--record"]) == 0
    assert set(json.loads((tmp_path / "guard.json").read_text())) == {"2.7 interpreted", guard.key()}


def test_a_machine_without_valgrind_passes_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "guard.json").write_text(json.dumps({guard.key(): GOOD}))
    monkeypatch.setattr(guard, "RECORDS", tmp_path / "guard.json")
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert guard.main([]) == 0
    assert "not compared: no `valgrind` on this machine" in capsys.readouterr().out
    assert guard.main(["--record"]) == 1, "nothing was recorded"


def test_the_records_are_of_the_work() -> None:
    records = guard.read()
    assert records, "nothing is recorded"
    for counts in records.values():
        assert set(counts) - set(BESIDE) == set(WORKS) - set(BESIDE)  # which are judged by others in the same run


@pytest.mark.parametrize("name", WORKS)
def test_the_work_runs(name: str) -> None:
    prepare, _ = WORKS[name]
    prepare()(64)  # preparing raises if the broker's answers are not what they should be


def test_what_costs_too_much_beside_something_else_in_the_same_run() -> None:
    [(name, (other, limit))] = BESIDE.items()
    assert guard.beside({other: 10_000, name: round(10_000 * limit)}) == []
    [line] = guard.beside({other: 10_000, name: 10_600})
    assert line == f"{name}: 10,600 instructions, +6.0% beside those of {other}"
