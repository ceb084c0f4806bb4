"""clients/: one file for each language, run against `serve`. A test of a missing language is skipped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.client_programs import PROGRAMS, built
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.serving import Serving
from support.watchdog import wait_until

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "clients"
STORIES = Path(__file__).parent / "programs"
pytestmark = pytest.mark.languages

LIMIT_S = 120  # the compilers of a busy machine


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not there")


def environment() -> dict[str, str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "load")))
    return os.environ | {"FAKEBROKER": f"{sys.executable} -m fakebroker", "PYTHONPATH": path, "GOFLAGS": "-mod=mod"}


def run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, env=environment(), timeout=LIMIT_S, check=True)


def tell_the_story(command: Sequence[str], folder: Path) -> None:
    with Serving("--port", "0", "--clock", "manual") as serving:
        process = subprocess.Popen(
            [*command, serving.facts["control_url"]],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first == "frozen\n", first + process.stdout.read()
            with RawClient(serving.endpoint(1)) as client:
                assert Produced(client.ask(produce("t", timeout_ms=30_000))).partitions == {0: (7, 0)}
            assert process.stdout.readline() == "held\n"
            with RawClient(serving.endpoint(2)) as client:  # which leads by then
                client.send(produce("t"))
                assert client.is_closed_by_broker()  # appended, and the acknowledgement lost
                rest, _ = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, rest) == (0, "done\n"), rest


def forget_to_stop(command: Sequence[str], folder: Path) -> None:
    """A program that does not stop its broker ends by itself and leaves no broker, even if it is killed."""
    script, pid_file = folder / "broker.py", folder / "pid"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        f"Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        "from fakebroker.cli import main\n"
        "main()\n"
    )
    variables = environment() | {"FAKEBROKER": f"{sys.executable} {script}"}
    for how in ("end", "wait"):
        with subprocess.Popen([*command, how], cwd=folder, env=variables, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "started\n"
            pid = int(pid_file.read_text())
            if how == "wait":
                assert runs(pid)
                program.kill()
            assert program.wait(LIMIT_S) == (0 if how == "end" else -signal.SIGKILL)
        wait_until(lambda: not runs(pid), "the end of the broker")  # noqa: B023


def runs(pid: int) -> bool:
    """Return True unless the process is gone, or is a zombie below init."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_javascript_that_forgets_to_stop(tmp_path: Path) -> None:
    needs("node", "ps")
    shutil.copy(CLIENTS / "fakebroker.mjs", tmp_path)
    shutil.copy(STORIES / "forgetful.mjs", tmp_path)
    forget_to_stop(["node", "forgetful.mjs"], tmp_path)


def test_go_that_forgets_to_stop(tmp_path: Path) -> None:
    needs("go", "ps")
    forget_to_stop([built_in_go("forgetful", tmp_path)], tmp_path)


def test_java_that_forgets_to_stop(tmp_path: Path) -> None:
    needs("javac", "java", "ps")
    forget_to_stop(["java", "-cp", str(tmp_path), compiled_java("Forgetful", tmp_path)], tmp_path)


def test_javascript(tmp_path: Path) -> None:
    needs("node")
    shutil.copy(CLIENTS / "fakebroker.mjs", tmp_path)
    shutil.copy(STORIES / "story.mjs", tmp_path)
    tell_the_story(["node", "story.mjs"], tmp_path)


def test_javascript_with_kafkajs(tmp_path: Path) -> None:
    package = built(PROGRAMS["kafkajs"].folder) / "package.json"
    shutil.copy(CLIENTS / "fakebroker.mjs", tmp_path)
    shutil.copy(STORIES / "kafkajs.mjs", tmp_path)
    result = subprocess.run(
        ["node", "kafkajs.mjs", str(package)],
        cwd=tmp_path,
        env=environment() | {"KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def built_in_go(program: str, folder: Path) -> str:
    (folder / "fakebroker").mkdir()
    shutil.copy(CLIENTS / "fakebroker.go", folder / "fakebroker")
    shutil.copy(STORIES / program / "main.go", folder)
    (folder / "go.mod").write_text("module story\n\ngo 1.21\n")
    run(["go", "build", "-o", "program", "."], folder)
    return str(folder / "program")


def compiled_java(name: str, folder: Path) -> str:
    sources = [str(CLIENTS / "Fakebroker.java"), str(STORIES / f"{name}.java")]
    run(["javac", "-Xlint:all,-serial", "-Werror", "-d", str(folder), *sources], folder)
    return name


def test_go(tmp_path: Path) -> None:
    needs("go")
    tell_the_story([built_in_go("story", tmp_path)], tmp_path)


def test_java(tmp_path: Path) -> None:
    needs("javac", "java")
    tell_the_story(["java", "-cp", str(tmp_path), compiled_java("Story", tmp_path)], tmp_path)
