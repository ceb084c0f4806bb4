"""The programs in this folder: what each needs, how it is built, how it is started.

A folder is copied into the cache and built there, once for each state of its files; the source tree stays clean.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
_BUILD_LIMIT_S = 900
_SHOWN = 300  # characters of what a tool said
_BUILT = ".built"  # holds the digest of what was built


class NotRun(Exception):
    """The client cannot be run here; the message says why."""


@dataclass(frozen=True)
class Folder:
    """Programs that are built together: the tools they need on the PATH, and the commands that build them."""

    name: str
    tools: tuple[str, ...]
    build: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Client:
    """A client library: its folder, and the command that starts its program there.

    plays   its program can be a member of groups and an administrator too (plays.py); the clients written in Python are
            that in the tests (tests/clients)
    rereads   plays in which it reads records again by chance, with Kafka too
    processor   the command of its program that does things exactly once (exactly_once), if that is another one
    """

    name: str
    folder: Folder
    command: tuple[str, ...]
    plays: bool = False
    rereads: tuple[str, ...] = ()
    processor: tuple[str, ...] = ()


_JAVA = Folder("java", ("java", "mvn"), (("mvn", "-q", "-B", "-Dstyle.color=never", "package"),))
_GO = Folder("go", ("go",), (("go", "build", "-mod=readonly", "-o", "bin/", "./franz", "./sarama", "./secured/..."),))
_NODE = Folder("kafkajs", ("node", "npm"), (("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"),))
_PYTHON = Folder(
    "python",
    (),
    (
        (sys.executable, "-m", "venv", ".venv"),
        (".venv/bin/python", "-m", "pip", "-q", "--disable-pip-version-check", "install", "-r", "requirements.txt"),
    ),
)
_RUST = Folder("rust", ("cargo", "cc"), (("cargo", "build", "--quiet", "--locked"),))
_JVM = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_JARS = f"target/client.jar{os.pathsep}target/lib/*"


def _python(module: str) -> tuple[str, ...]:
    return ".venv/bin/python", "-m", f"conformance.clients.python.{module}"


CLIENTS = (
    Client("kafka-clients", _JAVA, (*_JVM, "-cp", _JARS, "Client"), plays=True),
    Client("franz-go", _GO, ("bin/franz",), plays=True),
    Client("sarama", _GO, ("bin/sarama",), plays=True),
    Client("kafkajs", _NODE, ("node", "client.mjs"), plays=True),
    Client(
        "librdkafka", _PYTHON, _python("confluent_kafka_client"), plays=True, processor=_python("confluent_processor")
    ),
    Client("kafka-python", _PYTHON, _python("kafka_python_client"), processor=_python("kafka_python_processor")),
    Client("aiokafka", _PYTHON, _python("aiokafka_client"), processor=_python("aiokafka_processor")),
    Client("krafka", _RUST, ("target/debug/krafka-client",), plays=True, rereads=("one-dies-cooperative",)),
)

# Programs for TLS and SASL: they read plays and print results, line by line.
SECURED = (
    Client("java", _JAVA, (*_JVM, "-cp", _JARS, "Secured")),
    Client("franz-go", _GO, ("bin/secured-franz",)),
    Client("sarama", _GO, ("bin/secured-sarama",)),
    Client("kafka-go", _GO, ("bin/secured-kafka-go",)),
    Client("kafkajs", _NODE, ("node", "secured.mjs")),
)


def build(folder: Folder, cache: Path) -> Path:
    """The folder in which the programs can be started, built if need be. Raises NotRun."""
    for tool in folder.tools:
        if shutil.which(tool) is None:
            raise NotRun(f"`{tool}` is not installed")
    source, target = SOURCES / folder.name, cache / "clients" / folder.name
    digest = _digest(source, folder)
    stamp = target / _BUILT
    if stamp.is_file() and stamp.read_text() == digest:
        return target
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for command in folder.build:
        _run(command, target)
    stamp.write_text(digest)
    return target


def started(client: Client, folder: Path) -> list[str]:
    """The client's command with its program as an absolute path where it is in the folder."""
    program, *arguments = client.command
    return [str(folder / program) if "/" in program else program, *arguments]


def _run(command: tuple[str, ...], folder: Path) -> None:
    program, *arguments = command
    absolute = [str(folder / program) if program.startswith(".venv") else program, *arguments]
    try:
        done = subprocess.run(
            absolute,
            cwd=folder,
            capture_output=True,
            check=False,
            text=True,
            timeout=_BUILD_LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotRun(f"`{program}` failed: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower()][:1] or lines[-1:] or [f"status {done.returncode}"]
        raise NotRun(f"`{' '.join([Path(program).name, *arguments])}` failed: {telling[0].strip()[:_SHOWN]}")


def _digest(source: Path, folder: Folder) -> str:
    digest = hashlib.sha256(repr(folder).encode())
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(source)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
