"""A standalone Spark cluster for tests: master and workers, each a process, and a Python that has nothing of ours."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from support.watchdog import wait_until

from fakebroker_load.java import find_java, make_java_home

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "load.md").read_text()
STARTED_WITHIN_S = 90
STOPPED_WITHIN_S = 60
AHEAD_S = 5_000  # of the clock of the second worker, where it can have one of its own


@dataclass(frozen=True)
class Standalone:
    master: str
    python: Path  # for executors
    workers: list[subprocess.Popen[bytes]]

    def executors(self) -> list[int]:
        """Return the processes of executors, in the sessions of the workers that started them."""
        sessions = {worker.pid for worker in self.workers}
        ids = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                session = int((folder / "stat").read_text().rpartition(")")[2].split()[3])
            except OSError:  # it has ended meanwhile
                continue
            if session in sessions and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                ids.append(int(folder.name))
        return ids


def python_without(folder: Path, *names: str) -> Path:
    """Return a Python with all packages of this one except ours and `names`."""
    site = folder / "site"
    site.mkdir(parents=True)
    for place in dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib")):
        for path in Path(place).iterdir():
            plain = path.name.lower()
            ours = plain.startswith(("__editable__", "fakebroker", "timingwheel")) or plain.endswith(
                (".pth", ".egg-link")
            )
            if not ours and path.name.partition(".")[0] not in names and not (site / path.name).exists():
                (site / path.name).symlink_to(path)
    script = folder / "python"
    base = getattr(sys, "_base_executable", sys.executable)
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(site))}:"$PYTHONPATH" exec {shlex.quote(base)} -S "$@"\n'
    )
    script.chmod(0o755)
    return script


def own_clock() -> list[str]:
    """Return the command that starts a process with another monotonic clock, or nothing if the system does not allow
    it."""
    words = ["unshare", "--time", "--monotonic", str(AHEAD_S)]
    try:
        return words if subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0 else []
    except OSError:
        return []


def documented(what: str, home: Path, given: Mapping[str, str]) -> list[str]:
    """Return the command that docs/load.md has for a master or a worker, with these values of its options."""
    command = re.search(rf"^\$SPARK_HOME(/bin/spark-class org\.apache\.spark\.deploy\.{what}\..*)$", PAGE, re.MULTILINE)
    assert command is not None, what
    words = [f"{home}{command[1].split()[0]}", *command[1].split()[1:]]
    return [given.get(before, word) for before, word in zip(["", *words], words, strict=False)]


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """Run a master and workers of one slot each, on loopback, during the block."""
    python = python_without(folder / "python")
    home = Path(pyspark.__file__).parent
    java = make_java_home(find_java(), folder / "java")
    kept = ("PATH", "HOME", "TMPDIR", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"JAVA_HOME": str(java), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), os.defpath])
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str, before: Iterable[str] = ()) -> Path:
        log = folder / f"{name}.log"
        command = [*before, *words]
        with log.open("wb") as sink:
            started.append(
                subprocess.Popen(command, env=environment, cwd=folder, stdout=sink, stderr=sink, start_new_session=True)
            )
        return log

    try:
        given = {"--host": "127.0.0.1", "--port": "0", "--webui-port": "0", "--cores": "1", "--memory": "1g"}
        master = await_line(
            start("master", *documented("master", home, given)), r"Starting Spark master at (spark://\S+)"
        )
        logs = []
        for number in range(workers):
            given["--work-dir"] = str(folder / f"work-{number}")
            words = [*documented("worker", home, given)[:-1], master]
            logs.append(start(f"worker-{number}", *words, before=own_clock() if number else []))
        for log in logs:
            await_line(log, "(Successfully registered)")
        yield Standalone(master, python, started[1:])
    finally:
        for process in reversed(started):
            stop(process)


def await_line(log: Path, pattern: str) -> str:
    def found() -> re.Match[str] | None:
        return re.search(pattern, log.read_text(errors="replace"))

    try:
        wait_until(found, f"{pattern!r} in {log.name}", STARTED_WITHIN_S)
    except AssertionError as error:
        error.add_note(log.read_text(errors="replace")[-2_000:])
        raise
    line = found()
    assert line is not None
    return line[1]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the process and all of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(STOPPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            continue
        break
    process.wait()
