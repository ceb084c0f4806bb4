"""A JVM that is asked line by line, in JSON: a line in, a line out."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import Any

from conformance.targets.kafka_box import dying_with_us

_OPTIONS = ("-Xmx512m", "-Xshare:auto", "-XX:-UsePerfData", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SHOWN = 500  # characters of what it said in the end


class Broken(Exception):
    """The JVM does not answer."""


class TalkingJvm:
    """`name` is for messages: "the judge"; `arguments` are those of `java`. It dies with this process."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self._name = name
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*dying_with_us(), "java", *_OPTIONS, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def ask(self, request: dict[str, Any], limit_s: float, when: str = "") -> Any:
        """The answer. Raises Broken if the JVM ends, or takes longer than the limit; `when` says in the message what
        it was about."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(limit_s, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError as error:
            raise Broken(f"{self._name} ended{when}: {error}") from error
        finally:
            watchdog.cancel()
        if not line:
            self._said.seek(0)
            raise Broken(f"{self._name} ended{when}: {self._said.read().strip()[-_SHOWN:]}")
        return json.loads(line)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._said.close()
