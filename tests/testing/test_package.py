"""The names of `fakebroker.testing`, and its error without Hypothesis."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fakebroker.testing as kit

WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None  # as if it were not installed
import fakebroker
import fakebroker.testing as kit
assert kit.Replay(kit.random_plan(1, 30), 1).violation is None
try:
    kit.ClientMachine
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("name", kit.__all__)
def test_everything_is_there(name: str) -> None:
    assert getattr(kit, name) is not None


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Kit'"):
        kit.Kit  # noqa: B018


def test_hypothesis_is_optional() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_HYPOTHESIS], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "fakebroker.testing.ClientMachine needs Hypothesis, which is not installed: pip install hypothesis\n"
    )
