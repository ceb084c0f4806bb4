"""Suites: a package that brings its tests, how each test is run, and its outcome.

Theory   Each test is a process of its own with a time limit, so that one that hangs costs no other its result. A suite
         is told where the brokers are in the way that it has for that: an environment variable, a file.
Units    seconds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fakebroker.server.tls.certificates import ClientCertificate

PASSED, FAILED, SKIPPED, LATE = "passed", "failed", "skipped", "timed out"
_SHOWN = 400  # characters of what a tool said


class NotRun(Exception):
    """The suite cannot be had or built here; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test: one of the words above, how long it took, and its output."""

    what: str
    took_s: float
    output: str = field(repr=False)


@dataclass(frozen=True)
class Security:
    """Listeners beside the one in plain text, and the users of those with SASL.

    ports   the port of the first broker by listener, each named as its protocol; None takes free ports
    users   passwords by name, for PLAIN and both mechanisms of SCRAM
    """

    ports: Mapping[str, int | None]
    users: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """Running brokers: their name and addresses, and the API of the toxiproxy before them, if there is one.

    secured   the addresses of the listeners of `Security`, by listener, as in `servers`
    ca        the certificate that clients of these trust, and `client` one for clients
    """

    name: str
    version: str
    bootstrap: Sequence[tuple[str, int]]
    toxiproxy: str = ""
    secured: Mapping[str, str] = field(default_factory=dict)
    ca: Path | None = None
    client: ClientCertificate | None = None

    @property
    def servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.bootstrap)


class Suite(ABC):
    """One package of tests.

    limit_s           the most time of one test
    broker_ids        the brokers that it needs, as the fixtures of its repository start them; also broker_settings
    racks             the racks of these brokers
    port              the port of the first broker, for a suite that takes no address
    security          its listeners with TLS or SASL
    is_proxied        True if it needs toxiproxy before them, with proxies kafka1 and so on there
    """

    limit_s = 120.0
    broker_ids: Sequence[int] = (1, 2, 3)
    broker_settings: Mapping[str, str] = {}
    port: int | None = None
    racks: Mapping[int, str] = {}
    security: Security | None = None
    is_proxied = False

    def __init__(self, name: str, version: str, package: str) -> None:
        self.name = name
        self.version = version
        self.package = package

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Fetch and build it in this folder, once. Raises NotRun."""

    @abstractmethod
    def tests(self, folder: Path) -> list[str]:
        """The names of its tests, in order. Raises NotRun."""

    @abstractmethod
    def command(self, folder: Path, test: str) -> Sequence[str]:
        """Return the command that runs one test alone."""

    @abstractmethod
    def settings(self, side: Side) -> Mapping[str, str]:
        """The variables of the environment that tell it where the brokers are, and how much to do."""

    def where(self, folder: Path) -> Path:
        """The folder in which its tests run."""
        return folder

    @abstractmethod
    def judge(self, status: int, output: str) -> str:
        """PASSED, FAILED or SKIPPED, by what the test's process said."""

    def run(self, folder: Path, test: str, side: Side) -> Outcome:
        """Run one test."""
        started = time.monotonic()
        status, output = run_bounded(
            self.command(folder, test), self.where(folder), os.environ | dict(self.settings(side)), self.limit_s
        )
        took_s = time.monotonic() - started
        return Outcome(LATE if status is None else self.judge(status, output), took_s, output)


def end_in_order() -> None:
    """Let SIGTERM raise SystemExit, so that what runs is ended as well."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def run_bounded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit_s: float
) -> tuple[int | None, str]:
    """Run it and all that it starts, in a group of their own, and end them when the time is over: status None then."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return status, output.read()


def tool(
    command: Sequence[str], folder: Path, limit_s: float = 1200.0, variables: Mapping[str, str] | None = None
) -> str:
    """Run a tool that fetches or builds, and return its output. Raises NotRun."""
    try:
        status, output = run_bounded(command, folder, os.environ | dict(variables or {}), limit_s)
    except OSError as error:
        raise NotRun(f"`{command[0]}`: {error.strerror}") from error
    if status != 0:
        said = " ".join(output.split())[-_SHOWN:]
        raise NotRun(f"`{' '.join(command)}` " + (f"took more than {limit_s:.0f} s" if status is None else said))
    return output
