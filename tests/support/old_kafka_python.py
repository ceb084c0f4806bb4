"""kafka-python 2.0.2, unmodified, in a separate process, with a clock that the test moves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.targets.kafka_box import cache_folder, take_home
from fakebroker import FakeCluster
from support.watchdog import LIMIT_S

PROGRAM = Path(__file__).parent / "python" / "old_kafka_python_sends.py"
VERSION = "2.0.2"
_PACKAGES = (f"kafka-python=={VERSION}", "six==1.17.0")


class OldKafkaPython:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, key: str, size: int = 10, partition: int = 0) -> None:
        """Send without a wait."""
        self._ask(f"orders {partition} {key} {size}")

    def advance(self, ms: int) -> list[str]:
        """Let time pass for it. What it tells until it has looked: a key, and an offset, or an error."""
        self._ask(f"clock {ms}")
        return self._until("clock")

    def await_retry(self, partition: int) -> None:
        """Wait until the batch of the partition is in the queue again."""
        self._ask(f"retried orders {partition}")
        assert self._until("retried") == []

    def told(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _until(self, last: str) -> list[str]:
        lines = []
        while (line := self.told()) != last:
            assert line, "the program has ended"
            lines.append(line)
        return lines


@contextmanager
def old_kafka_python(kafka: FakeCluster, **settings: object) -> Iterator[OldKafkaPython]:
    """Run a producer that has sent its first record. Skips where kafka-python 2.0.2 cannot be had."""
    folder = _fetch()
    given = json.dumps({"bootstrap_servers": kafka.bootstrap_servers, "api_version_auto_timeout_ms": 10_000} | settings)
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": str(folder)},
    ) as process:
        try:
            program = OldKafkaPython(process)
            program.send("first")
            lines = program.advance(1_000)  # whatever it lingers
            assert (lines or [program.told()]) == ["first offset 0"]
            yield program
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()


def _fetch() -> Path:
    folder = cache_folder() / f"kafka-python-{VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            made = Path(scratch) / "packages"
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(made), *_PACKAGES]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"pip could not fetch kafka-python {VERSION}: {done.stderr.strip().splitlines()[-1:]}")
            take_home(made, folder)
    return folder
