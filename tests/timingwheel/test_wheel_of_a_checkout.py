"""A compiled package takes the timingwheel of its own build, even if a checkout's is found first.

`pytest` puts the folder of a test in front of the path, and a newcomer's first test is in the checkout.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fakebroker

OWN = Path(fakebroker.__file__).parent.parent / "timingwheel"
USES = "import sys; sys.path.insert(0, sys.argv[1])\n"
SERVES = "with FakeCluster(brokers=1) as kafka: pass\nimport timingwheel; print(timingwheel.__path__[0])"

pytestmark = pytest.mark.skipif(not fakebroker.COMPILED, reason="interpreted modules fit to those of any checkout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "timingwheel").mkdir()
    (tmp_path / "timingwheel" / "__init__.py").write_text("class SystemTimer: ...\n")
    return tmp_path


def run(code: str, checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", USES + code, str(checkout)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_one_beside_the_package_is_imported(checkout: Path) -> None:
    done = run(f"from fakebroker import FakeCluster\n{SERVES}", checkout)
    assert (done.returncode, done.stdout) == (0, f"{OWN}\n"), done.stderr


def test_another_one_that_is_there_already_is_refused_in_a_sentence(checkout: Path) -> None:
    done = run("import timingwheel, fakebroker", checkout)
    assert done.returncode == 1
    sentence = (
        f"ImportError: timingwheel was imported from {checkout / 'timingwheel'}, but fakebroker was compiled with the"
    )
    assert done.stderr.splitlines()[-1].startswith(sentence)
