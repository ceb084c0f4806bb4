"""The examples of docs/testing-kit.md run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.forked import Forks

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "testing-kit.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
# Each command, and the verdict that the page shows of it; "" if it shows none.
COMMANDS = re.findall(r"^\$ fakebroker (replay [^|\n]*)(?:\n(every rule held.*))?", PAGE.read_text(), re.MULTILINE)


STORAGE = Path(__file__).resolve().parents[2] / ".hypothesis"  # there Hypothesis knows all of Unicode


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(example: str, tmp_path: Path, forks: Forks) -> None:
    script = tmp_path / "example.py"
    script.write_text(example)
    env = {"PYTHONPATH": ":".join(sys.path), "HYPOTHESIS_STORAGE_DIRECTORY": str(STORAGE)}
    done = forks.run(script, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "verdict"), COMMANDS)
def test_command(
    command: str, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    from fakebroker.cli import main

    monkeypatch.setattr("sys.argv", ["fakebroker", *shlex.split(command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert (verdict or "every rule held") in capsys.readouterr().err


def test_there_are_some() -> None:
    assert len(EXAMPLES) == 10
    assert len(COMMANDS) == 4
