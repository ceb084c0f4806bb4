"""The JVM in which all commands run (Driver.java), and where its jars come from."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.targets.kafka_box import dying_with_us, fetch_jars, version_of

FOLDER = Path(__file__).parent
POM = FOLDER / "pom.xml"
DRIVER = FOLDER / "Driver.java"
_OWN = ("kafka-tools-", "kafka_2.13-")  # loaded anew for each command: they keep what they do in static fields
_OPTIONS = ("-Xmx512m", "-Xshare:auto", "-XX:-UsePerfData", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_LIMIT_S = 60.0
_SHOWN = 500  # characters of what it said in the end


@dataclass(frozen=True)
class Result:
    """What a command did; the status is None while it runs, and -1 if it had to be stopped at its limit."""

    status: int | None
    out: str
    err: str


class Broken(Exception):
    """The JVM does not answer."""


def tools_version() -> str:
    return version_of(POM)


def fetch_tools() -> Path:
    """The folder with the jars, fetched if it is not there yet. Raises Unavailable."""
    return fetch_jars(POM, f"kafka-tools-{tools_version()}", "Kafka's command line tools")


class Jvm:
    """Begins commands, waits for them, stops them. Use as a context."""

    def __init__(self) -> None:
        jars = sorted(fetch_tools().glob("*.jar"))
        own = [str(jar) for jar in jars if jar.name.startswith(_OWN)]
        shared = os.pathsep.join(str(jar) for jar in jars if str(jar) not in own)
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                *dying_with_us(), "java", *_OPTIONS, f"-Dlog4j2.configurationFile={FOLDER / 'log4j2.properties'}",
                "-cp", shared, str(DRIVER), *own,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )  # fmt: skip

    def __enter__(self) -> Jvm:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._said.close()

    def begin(self, name: str, main: str, arguments: Sequence[str], stdin: str, *, more: bool = False) -> None:
        """Start a command; with `more` its stdin does not end."""
        self._ask(0, {"do": "begin", "id": name, "main": main, "args": list(arguments), "stdin": stdin, "more": more})

    def peek(self, name: str) -> Result:
        return self._ask(0, {"do": "peek", "id": name})

    def wait(self, name: str, limit_s: float) -> Result:
        """The result at its end, or at the limit."""
        return self._ask(limit_s, {"do": "wait", "id": name, "limit_ms": int(limit_s * 1000)})

    def stop(self, name: str) -> Result:
        """The result after SIGTERM."""
        return self._ask(20, {"do": "stop", "id": name})

    def _ask(self, takes_s: float, request: dict[str, Any]) -> Result:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(takes_s + _START_LIMIT_S, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as error:
            raise Broken(f"the JVM of the tools ended: {error}") from error
        finally:
            watchdog.cancel()
        if not line:
            self._said.seek(0)
            said = self._said.read().strip()[-_SHOWN:]
            raise Broken(f"the JVM of the tools ended when it was asked to {request['do']} {request['id']!r}: {said}")
        return Result(**json.loads(line))
