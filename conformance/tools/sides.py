"""The two clusters: three brokers of Apache Kafka, and `fakebroker serve` with as many, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.targets.boxes import Box
from conformance.targets.kafka_box import dying_with_us
from conformance.targets.target import KafkaTarget

BROKERS = 3
_START_LIMIT_S = 60.0

# Kafka's own defaults, but for what would only take time; and no topic by accident, as in all boxes.
CONFIG = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "3",
}
# What a box sets is taken back.
KAFKA_ONLY = {"log.roll.ms": "", "log.cleaner.enable": "", "broker.session.timeout.ms": ""}
KAFKA_CONFIG = CONFIG | KAFKA_ONLY


class KafkaSide:
    """Apache Kafka."""

    def __init__(self) -> None:
        self._target = KafkaTarget(Box(BROKERS, CONFIG, KAFKA_ONLY))
        self.bootstrap_servers = self._target.bootstrap_servers

    def __enter__(self) -> KafkaSide:
        self._target.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._target.stop()


class ServeSide:
    """`fakebroker serve`."""

    bootstrap_servers: str

    def __init__(
        self, brokers: int = BROKERS, config: Mapping[str, str] = CONFIG, listeners: Sequence[str] = ("--port", "0")
    ) -> None:
        """`listeners` are the options that say where it listens."""
        self._options = ["--brokers", str(brokers), *listeners]
        self._options += [f"--config={name}={value}" for name, value in config.items()]

    def __enter__(self) -> ServeSide:
        self._folder = tempfile.TemporaryDirectory(prefix="fakebroker-serve-")
        ready, log = Path(self._folder.name) / "ready.json", Path(self._folder.name) / "log"
        with log.open("wb") as sink:
            self._process = subprocess.Popen(
                [
                    *dying_with_us(), sys.executable, "-c", "from fakebroker.cli import main; main()",
                    "serve", "--defaults", "kafka", "--ready-file", str(ready), *self._options,
                ],
                stdout=sink,
                stderr=sink,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        limit = time.monotonic() + _START_LIMIT_S
        while not ready.exists():
            if self._process.poll() is not None or time.monotonic() > limit:
                said = log.read_text(errors="replace").strip()
                self.__exit__()
                raise RuntimeError(f"`fakebroker serve` did not start: {said}")
            time.sleep(0.02)
        self.bootstrap_servers = json.loads(ready.read_text())["bootstrap_servers"]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
