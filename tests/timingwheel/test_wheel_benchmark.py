"""The benchmark measures what it says: every library does the work, and the report finds its rows."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ["timingwheel", "timingwheel-call-later", "asyncio", "uvloop", "heapq"]


@pytest.fixture(autouse=True)
def _find_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("library", LIBRARIES)
def test_everything_expires(library: str) -> None:
    from benchmarks.timers.worker import measure

    result = measure(library, "expire", 200, 400)
    assert result["expired"] == 400
    assert result["ns_per_op"] > 0
    assert result["max_pause_ms"] > 0


@pytest.mark.parametrize("workload", ["cancel", "cancel-random"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_nearly_everything_is_cancelled(library: str, workload: str) -> None:
    from benchmarks.timers.worker import measure

    result = measure(library, workload, 1_000, 2_000)
    assert result["ns_per_op"] > 0
    assert result["expired"] <= 20, "one in a hundred has a short timeout"


def test_which_request_is_answered_next() -> None:
    from benchmarks.timers.worker import victims

    assert list(victims("cancel", 4, 10)) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    order = list(victims("cancel-random", 100, 5_000))
    assert set(order) == set(range(100))
    assert order[:100] != sorted(order[:100])


def test_the_report_is_one_line_of_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import wheel

    row = {"workload": "cancel", "library": "timingwheel", "pending": 1_000_000}
    measured = {"ns_per_op": 1.0, "max_pause_ms": 2.0, "bytes_per_timer": 3.0}
    missing = dict.fromkeys(measured) | {"note": "MISSING: no java on this machine"}
    rows = [row | measured, row | {"library": "kafka"} | missing]
    monkeypatch.setattr(wheel.Bench, "rows", lambda self: iter(rows))
    assert wheel.main(["--quick", "--json"]) == 0
    said = capsys.readouterr()
    (line,) = said.out.splitlines()
    assert json.loads(line) == {
        "name": "wheel",
        "rows": rows,
        "missing": {"kafka": ["1 row: MISSING: no java on this machine"]},
    }
    assert said.err == "wheel: kafka: 1 row: MISSING: no java on this machine\n"
    assert wheel.main(["--quick"]) == 0
    assert "no java on this machine" in capsys.readouterr().out


def test_a_copy_of_ours_that_cannot_be_built_is_told_in_every_way_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import wheel

    def broken(folder: Path, timeout_s: float) -> Path:
        raise RuntimeError("Expected class to be compiled")

    def call(self: wheel.Bench, library: str, *_: Any) -> wheel.Row:
        known = call_of_the_library(self, library, *_) if library in wheel.BUILDERS else None
        return known or {"ns_per_op": 1.0, "max_pause_ms": 2.0, "bytes_per_timer": 3.0}

    call_of_the_library = wheel.Bench.call
    monkeypatch.setattr(wheel.Bench, "call", call)
    monkeypatch.setattr(wheel, "BUILDERS", {"timingwheel-compiled": broken})
    monkeypatch.setattr(wheel, "LIBRARIES", ("timingwheel", "timingwheel-compiled"))
    assert wheel.main([]) == 1
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if "FAILED: Expected class to be compiled" in line]
    assert len(lines) == 9 + 1, "each row of the table, and the end"
    assert lines[-1] == "wheel: timingwheel-compiled: 9 rows: FAILED: Expected class to be compiled"
    assert "cancel, timingwheel-compiled: NOT MEASURED at 1,000,000" in out
    assert wheel.main(["--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["missing"] == {"timingwheel-compiled": ["9 rows: FAILED: Expected class to be compiled"]}


def test_a_measurement_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks import wheel

    bench = wheel.Bench(tmp_path, quick=True)
    assert bench.call("asyncio", "cancel", 0, 10)["note"].startswith("FAILED: ZeroDivisionError")
    memory = {"note": "FAILED: no memory"}
    pause = {"max_pause_ms": 1.0}
    monkeypatch.setattr(
        bench, "call", lambda library, workload, *_: memory if workload == "memory" else {"ns_per_op": 1.0} | pause
    )
    row = bench.row("cancel", 1_000, "asyncio")
    assert (row["ns_per_op"], row["bytes_per_timer"], row["note"]) == (1.0, None, "FAILED: no memory (bytes per timer)")


def test_plain_python_is_never_measured_as_the_compiled_copy(tmp_path: Path) -> None:
    from benchmarks import wheel

    bench = wheel.Bench(tmp_path, quick=True)
    bench.builds["timingwheel-compiled"] = threading.Thread()
    bench.builds["timingwheel-compiled"].start()
    bench.places["timingwheel-compiled"] = ROOT
    note = bench.call("timingwheel-compiled", "cancel", 10, 10)["note"]
    assert note.startswith("FAILED: timingwheel-compiled: ")
    assert note.endswith("wheel.py is plain Python")


def test_a_library_that_is_still_being_built_does_not_delay_the_others(tmp_path: Path) -> None:
    from benchmarks import wheel

    bench = wheel.Bench(tmp_path, quick=True)
    built = threading.Event()
    bench.builds["kafka"] = threading.Thread(target=built.wait)
    bench.builds["kafka"].start()
    jobs = [("cancel", 1_000, library) for library in ("asyncio", "kafka", "uvloop", "heapq")]
    libraries = []
    for _, _, library in bench.as_they_are_built(list(jobs)):
        libraries.append(library)
        if library == "uvloop":
            built.set()
            bench.builds["kafka"].join()
    assert libraries == ["asyncio", "uvloop", "kafka", "heapq"]


def test_the_compiled_copy_is_the_packages_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks import modules
    from benchmarks.machine.programs import Missing
    from benchmarks.timers import compiled

    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "timingwheel", copy / "timingwheel", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    assert not compiled.is_compiled(copy)
    (copy / "timingwheel" / "wheel.cpython-311-any.so").touch()
    assert compiled.is_compiled(copy)
    assert compiled.is_of_this_source(copy)
    (copy / "timingwheel" / "task.py").write_text("# as it was yesterday\n")
    assert not compiled.is_of_this_source(copy)

    # Without one it is built as pip builds it, with no other module compiled.
    left: list[list[str]] = []

    def build(folder: Path, interpreted: list[str], limit_s: float, isolated: bool, wish: str) -> Path:
        left.append(modules.compiled_modules(modules.without((ROOT / modules.LIST).read_text(), interpreted)))
        return copy

    monkeypatch.setattr(compiled, "is_of_this_source", lambda copy: False)
    monkeypatch.setattr(modules, "build", build)
    monkeypatch.setattr(shutil, "which", lambda program: "/usr/bin/cc")
    assert compiled.compiled_wheel(tmp_path / "built", 10) == copy
    assert set(left[0]) >= {"timingwheel/wheel.py", "timingwheel/task.py"}
    assert all(module.startswith("timingwheel/") for module in left[0])
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(Missing, match="no C compiler"):
        compiled.compiled_wheel(tmp_path / "none", 10)


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
    from benchmarks.machine.programs import Missing
    from benchmarks.timers import kafka_timer

    monkeypatch.setattr(shutil, "which", lambda program: None if program == "mvn" else "/bin/true")
    with pytest.raises(Missing, match="no mvn on this machine"):
        kafka_timer.build_kafka(tmp_path / "kafka", 10)


def test_the_dispatcher_finds_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import __main__, wheel

    seen: list[list[str]] = []

    def main(argv: list[str]) -> int:
        seen.append(argv)
        return 0

    monkeypatch.setattr(wheel, "main", main)
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
