"""The order of the tests, drawn by a seed (support/scheduling.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import doses


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
        environment = {"PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SEED": seed}
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
        done = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "60 passed" in done.stdout, done.stdout + done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith(("SET UP", "RAN"))]
        assert sorted(line for line in lines if "SET UP" in line) == [f"SET UP test_{name}" for name in "abc"]
        assert all("test_c" in line for line in lines[-20:])  # what needs no Spark comes last
        orders.add(tuple(lines))
    assert len(orders) == len(seeds)
