"""The benchmark measures what it says: every library does the work, and the report finds its rows."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ["timingwheel", "timingwheel-call-later", "asyncio", "uvloop", "heapq"]


@pytest.fixture(autouse=True)
def _find_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("library", LIBRARIES)
def test_everything_expires(library: str) -> None:
    from benchmarks._wheel_worker import measure

    result = measure(library, "expire", 200, 400)
    assert result["expired"] == 400
    assert result["ns_per_op"] > 0
    assert result["max_pause_ms"] > 0


@pytest.mark.parametrize("workload", ["cancel", "cancel-random"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_nearly_everything_is_cancelled(library: str, workload: str) -> None:
    from benchmarks._wheel_worker import measure

    result = measure(library, workload, 1_000, 2_000)
    assert result["ns_per_op"] > 0
    assert result["expired"] <= 20, "one in a hundred has a short timeout"


def test_which_request_is_answered_next() -> None:
    from benchmarks._wheel_worker import victims

    assert list(victims("cancel", 4, 10)) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    order = list(victims("cancel-random", 100, 5_000))
    assert set(order) == set(range(100))
    assert order[:100] != sorted(order[:100])


def test_the_report_is_one_line_of_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import wheel

    row = {"workload": "cancel", "library": "timingwheel", "pending": 1_000_000}
    measured = {"ns_per_op": 1.0, "max_pause_ms": 2.0, "bytes_per_timer": 3.0}
    missing = dict.fromkeys(measured) | {"note": "no java on this machine"}
    rows = [row | measured, row | {"library": "kafka"} | missing]
    monkeypatch.setattr(wheel.Bench, "rows", lambda self: iter(rows))
    assert wheel.main(["--quick", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {"name": "wheel", "rows": rows}
    assert wheel.main(["--quick"]) == 0
    assert "no java on this machine" in capsys.readouterr().out


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(100.0, 400.0, "met"), (101.0, 400.0, "MISSED")])
def test_targets_are_judged(ours: float, theirs: float, verdict: str) -> None:
    from benchmarks import wheel

    shape = {"workload": "cancel", "pending": 1_000_000, "max_pause_ms": 1.0, "bytes_per_timer": 100.0}
    rows = [
        shape | {"library": "timingwheel", "ns_per_op": ours},
        shape | {"library": "uvloop", "ns_per_op": theirs},
    ]
    (line,) = [line for line in wheel.verdicts(rows) if "uvloop" in line]
    assert line.endswith(verdict)


def test_a_machine_without_java_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks import _wheel_peers

    monkeypatch.setattr(_wheel_peers.shutil, "which", lambda program: None if program == "mvn" else "/bin/true")
    assert _wheel_peers.build_kafka(tmp_path / "kafka", 10) == "no mvn on this machine"


def test_the_dispatcher_finds_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import __main__, wheel

    seen: list[list[str]] = []
    monkeypatch.setattr(wheel, "main", lambda argv: seen.append(argv) or 0)
    assert "wheel" in __main__.names()
    assert not [name for name in __main__.names() if name.startswith("_")]
    assert __main__.main(["wheel", "--quick", "--json"]) == 0
    assert seen == [["--quick", "--json"]]
    assert __main__.main(["weel"]) == 2
    assert "wheel" in capsys.readouterr().err


def test_only_the_drivers_look_at_the_world() -> None:
    looking = {
        path.stem
        for path in (ROOT / "timingwheel").glob("*.py")
        if re.search(r"^(import|from) (asyncio|threading|time|socket|select|random)\b", path.read_text(), re.MULTILINE)
    }
    assert looking == {"asyncio_driver", "reaper"}


@pytest.mark.interpreted
def test_the_package_needs_the_standard_library_only(tmp_path: Path) -> None:
    """Copied away, alone, in an interpreter that sees no other package."""
    import shutil
    import subprocess

    shutil.copytree(ROOT / "timingwheel", tmp_path / "timingwheel")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import timingwheel.asyncio_driver, timingwheel.reaper, timingwheel.snapshot\n"
        "from timingwheel import SystemTimer, TimerTask\n"
        "timer = SystemTimer(0); timer.add(TimerTask(5), 0); print(timer.snapshot().size)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
