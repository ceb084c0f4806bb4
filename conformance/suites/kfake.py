"""franz-go's kfake as a third side: whether another stand-in passes what we do not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.suites.sides import Running
from conformance.suites.suite import NotRun, Side, tool
from conformance.targets.kafka_box import cache_folder

KFAKE = "kfake"
VERSION = "v0.0.0-20260918054303-01f206a7e32c"  # the one that the benchmarks meet
# It does not compile with the oldest of franz-go that its go.mod allows.
_MODULES = (
    f"github.com/twmb/franz-go/pkg/kfake@{VERSION}",
    "github.com/twmb/franz-go@v1.22.2",
    "github.com/twmb/franz-go/pkg/kmsg@v1.15.0",
)
_SOURCE = Path(__file__).with_suffix(".go")


@contextmanager
def kfake(broker_ids: Sequence[int], settings: Mapping[str, str], port: int | None = None) -> Iterator[Running]:
    """Three brokers, 0 to 2, with the settings of franz-go's CI and on any ports: it has no others. Raises NotRun."""
    if port is not None:
        raise NotRun(f"{KFAKE} is not put on a port")
    program = _program(cache_folder() / "suites" / f"{KFAKE}-{VERSION}")
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        where: list[tuple[str, int]] = []
        for line in process.stdout:
            if not line.strip():
                break
            host, _, port_there = line.strip().rpartition(":")
            where.append((host, int(port_there)))
        if not where:
            raise NotRun("kfake did not start")
        yield Running(Side(KFAKE, VERSION, where))
    finally:
        process.kill()
        process.communicate()


def _program(folder: Path) -> Path:
    program = folder / KFAKE
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_SOURCE, folder / "main.go")
        if not (folder / "go.mod").exists():
            tool(["go", "mod", "init", "suites"], folder)
        tool(["go", "get", *_MODULES], folder)
        tool(["go", "build", "-o", KFAKE, "."], folder)
    return program
