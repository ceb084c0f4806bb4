"""docs/http.md: its examples are run as they stand there, its table is that of the OpenAPI."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.serving import Serving
from support.watchdog import LIMIT_S

from fakebroker.control.endpoints import table

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text()


def examples() -> list[tuple[str, str]]:
    """Return each command of the page with its documented output."""
    examples_: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S):
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, answer = example.partition("\n")
            if command.startswith("curl"):
                examples_.append((command, answer.strip()))
    return examples_


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_the_examples() -> None:
    commands = examples()
    assert len(commands) > 8
    with Serving("--port", "0", "--clock", "manual", "--topic", "orders:1:3") as serving:
        address = serving.facts["control_url"].removeprefix("http://")
        for command, expected in commands:
            local_command = command.replace("127.0.0.1:9644", address)
            result = subprocess.run(
                ["bash", "-c", local_command], capture_output=True, text=True, timeout=LIMIT_S, check=True
            )
            pattern = ".*".join(map(re.escape, expected.split("...")))
            assert re.fullmatch(pattern, result.stdout.strip(), re.S), (command, result.stdout)


def test_the_table() -> None:
    assert PAGE.endswith(table()), "python -m fakebroker.control.endpoints"
