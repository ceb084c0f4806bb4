"""Tests of Spark go to one process, and those of some files, with and without xdist's knowledge of markers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import doses
from support.scheduling import ROOT, has_marker


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("tests/load/test_load_verdict.py", True),
        ("tests/plants/test_lies.py", True),
        ("tests/spark/test_spark_reads_and_writes.py", True),
        ("tests/test_cli.py", False),
        ("tests/no/such/file.py", False),
    ],
)
def test_files_of_spark_are_known_by_their_marker(file: str, expected: bool) -> None:
    assert has_marker(file, "spark") is expected


def test_they_go_to_one_process_and_others_to_all(tmp_path: Path) -> None:
    for name, marker in (("a", "spark"), ("b", "spark"), ("c", "slow"), ("d", "one_process"), ("e", "one_process")):
        (tmp_path / f"test_{name}.py").write_text(
            f"import os, pathlib, pytest\npytestmark = pytest.mark.{marker}\n"
            "@pytest.mark.parametrize('n', range(8))\n"
            "def test_it(n): pathlib.Path(f'{os.getpid()}-' + __name__).touch()\n"
        )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n spark: s\n slow: s\n one_process: o\n")
    (tmp_path / "conftest.py").write_text(
        "from support import scheduling\nscheduling.ROOT = __import__('pathlib').Path(__file__).parent\n"
        "def pytest_xdist_make_scheduler(config, log): return scheduling.OneProcessForSpark(config, log)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadscope", "-p", "no:cacheprovider"]
    command += ["-p", "xdist"]
    environment = {"PYTHONPATH": str(ROOT / "tests"), "PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "40 passed" in done.stdout, done.stdout + done.stderr
    ran = [path.name.split("-") for path in tmp_path.glob("[0-9]*-test_*")]
    for files in (("test_a", "test_b"), ("test_d",), ("test_e",)):
        assert len({process for process, file in ran if file in files}) == 1
    assert len({process for process, _ in ran}) == 2


def test_a_drawn_order_sets_up_a_module_of_spark_once(tmp_path: Path) -> None:
    for name, marker in (("a", "pytest.mark.spark"), ("b", "pytest.mark.spark"), ("c", "[]")):
        (tmp_path / f"test_{name}.py").write_text(
            f"import pytest\npytestmark = {marker}\n"
            "@pytest.fixture(scope='module')\ndef judged(): print('\\nSET UP', __name__)\n"
            "@pytest.mark.parametrize('n', range(20))\ndef test_it(judged, n): print('\\nRAN', __name__, n)\n"
        )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n spark: s\n")
    (tmp_path / "conftest.py").write_text(
        "import os\nfrom support.scheduling import draw_order\n"
        "def pytest_collection_modifyitems(items): draw_order(items, os.environ['SEED'])\n"
    )
    orders = set()
    seeds = "1234"[: doses.count(2, 4)]
    for seed in seeds:
        environment = {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SEED": seed}
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
        done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "60 passed" in done.stdout, done.stdout + done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith(("SET UP", "RAN"))]
        assert sorted(line for line in lines if "SET UP" in line) == [f"SET UP test_{name}" for name in "abc"]
        assert all("test_c" in line for line in lines[-20:])  # what needs no Spark comes last
        orders.add(tuple(lines))
    assert len(orders) == len(seeds)
