"""The examples of docs/pytest.md are test files, and pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "pytest.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SETTINGS = re.findall(r"^(kafka_\w+) = ", "".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.clients
def test_examples(run: Run, pytester: pytest.Pytester) -> None:
    for index, example in enumerate(EXAMPLES):
        pytester.makepyfile(**{f"test_{index}": example})
    result = run("", "-W", "error")

    outcomes = result.parseoutcomes()
    assert outcomes.keys() <= {"passed"}
    assert outcomes["passed"] >= sum(
        example.count("\ndef test_") + example.startswith("def test_") for example in EXAMPLES
    )


def test_every_setting_of_the_page_is_one(run: Run) -> None:
    result = run("", "--help")
    for name in SETTINGS:
        result.stdout.fnmatch_lines([f"  {name} (*"])
    assert len(SETTINGS) >= 5
