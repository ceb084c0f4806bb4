"""Programs that share their imports (support/forked.py)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forked
from support.forked import Forks
from support.watchdog import LIMIT_S


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text("import signal\nsignal.alarm(0)\nwhile True:\n    signal.pause()")
    limit_s = 1  # it never ends by itself
    with Forks("", limit_s) as forks:
        assert forks.run(program, cwd=tmp_path).returncode == -signal.SIGKILL


@pytest.fixture(params=[True, False], ids=["forked", "new"])
def forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    monkeypatch.setattr(forked, "ARE_FORKED", request.param and forked.ARE_FORKED)
    with Forks("") as forks:
        yield forks


def test_each_program_has_its_arguments_output_and_status(forks: Forks, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sys.argv[1])\nsys.exit(int(sys.argv[2]))")
    for word, status in (("one", 3), ("two", 0)):
        ended = forks.run(program, word, str(status), cwd=tmp_path)
        assert (ended.returncode, ended.stdout, ended.stderr) == (status, f"{word}\n", "")


def test_a_program_may_be_a_module_or_code(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("import sys, os\nprint(sys.argv[1:], os.environ['IT'], before)")
    prelude = "import builtins; builtins.before = 7"
    ended = forks.run("-m", "module", "a", cwd=tmp_path, env={"IT": "is"}, prelude=prelude)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "['a'] is 7\n", "")
    ended = forks.run("-c", "import sys\nprint(sys.argv)\nraise ValueError('no')", "a")
    assert (ended.returncode, ended.stdout) == (1, "['-c', 'a']\n")
    assert ended.stderr.endswith("ValueError: no\n")


def test_a_program_is_a_child_with_pipes_that_takes_signals(forks: Forks) -> None:
    code = "import sys, time\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
    pipe = subprocess.PIPE
    with forks.start("-c", code, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("word\n")
        process.stdin.flush()
        assert process.stdout.readline() == "WORD\n"
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == -signal.SIGTERM
    with pytest.raises(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
