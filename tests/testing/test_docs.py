"""The examples of docs/testing-kit.md run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "testing-kit.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
COMMANDS = re.findall(r"^\$ fakebroker (replay [^|\n]*)", PAGE.read_text(), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(example: str, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(example)
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    from fakebroker.cli import main

    monkeypatch.setattr("sys.argv", ["fakebroker", *shlex.split(command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "every rule held" in capsys.readouterr().err


def test_there_are_some() -> None:
    assert len(EXAMPLES) == 10
    assert len(COMMANDS) == 4
