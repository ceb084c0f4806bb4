"""The example of docs/every-failure.md runs, and its options are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "every-failure.md").read_text()


@pytest.mark.slow
def test_the_example() -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 points of failure: 5 survived, 1 failed\n")


def test_the_options() -> None:
    from fakebroker.testing.plugin import trials

    options = set(re.findall(r"`(--kafka-[\w-]+)", PAGE)) | {"--kafka-every-failure"}
    source = Path(trials.__file__).read_text()
    assert options == set(re.findall(r'"(--kafka-[\w-]+)"', source))
