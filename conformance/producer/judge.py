"""Kafka's own classes of one release, in a JVM: built once, then asked sequence by sequence."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from conformance.producer.sequences import RELEASES, sequence
from conformance.targets.kafka_box import Unavailable, cache_folder, fetch_jars, take_home
from conformance.targets.talking_jvm import TalkingJvm

Json = dict[str, Any]

FOLDER = Path(__file__).parent
_FOLDERS = {"2.0": "g20", "4.3": "g43"}
_MAIN = "org.apache.kafka.clients.producer.internals.Judge"
_LIMIT_S = 60  # of one sequence
_SHOWN = 500  # characters of what javac said in the end


class Judge:
    """Plays sequences of one generation. Use as a context. Raises Unavailable without Java, javac or Maven."""

    def __init__(self, generation: str) -> None:
        self._generation = generation
        version = RELEASES[generation]
        jars = fetch_jars(
            FOLDER / "pom.xml", f"producer-{version}", f"Kafka's producer {version}", {"kafka.version": version}
        )
        classes = _built(_FOLDERS[generation], jars)
        path = os.pathsep.join((str(classes), f"{jars}/*"))
        self._jvm = TalkingJvm("the judge", ["-cp", path, _MAIN])

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self._jvm.end()

    def play(self, script: Json) -> list[Json]:
        """Return the results of each command. Raises Broken if the JVM ends."""
        answers: list[Json] = self._jvm.ask(script, _LIMIT_S)
        return answers

    def compressed(self, codec: int, data: bytes) -> bytes:
        """Return the data compressed by the release's codec."""
        config = sequence(self._generation, 0)["config"]
        [answer] = self.play({"config": config, "commands": [{"do": "compress", "codec": codec, "data": data.hex()}]})
        return bytes.fromhex(answer["told"][0])


def _built(folder: str, jars: Path) -> Path:
    """The folder with the classes, compiled once for each state of the sources."""
    if shutil.which("javac") is None:
        raise Unavailable("`javac` is not installed: the judge is built with it (Java 17)")
    sources = [path for name in ("shared", folder) for path in sorted((FOLDER / "java" / name).glob("*.java"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    target = cache_folder() / f"producer-judge-{folder}-{digest}"
    if target.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = ["javac", "-cp", f"{jars}/*", "-d", str(classes), *map(str, sources)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"the judge does not compile: {done.stderr.strip()[:_SHOWN]}")
        take_home(classes, target)
    return target
