"""The JVM in which all commands run (Driver.java), and where its jars come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.targets.kafka_box import fetch_jars, version_of
from conformance.targets.talking_jvm import TalkingJvm

FOLDER = Path(__file__).parent
POM = FOLDER / "pom.xml"
DRIVER = FOLDER / "Driver.java"
_OWN = ("kafka-tools-", "kafka_2.13-")  # loaded anew for each command: they keep what they do in static fields
_START_LIMIT_S = 60.0


@dataclass(frozen=True)
class Result:
    """The result of a command; the status is None while it runs, and -1 if it had to be stopped at its limit."""

    status: int | None
    out: str
    err: str


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
        settings = f"-Dlog4j2.configurationFile={FOLDER / 'log4j2.properties'}"
        self._jvm = TalkingJvm("the JVM of the tools", [settings, "-cp", shared, str(DRIVER), *own])

    def __enter__(self) -> Jvm:
        return self

    def __exit__(self, *_: object) -> None:
        self._jvm.end()

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
        when = f" when it was asked to {request['do']} {request['id']!r}"
        return Result(**self._jvm.ask(request, takes_s + _START_LIMIT_S, when))
