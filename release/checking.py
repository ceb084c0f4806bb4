"""Check a wheel in an empty environment: install it, and have its producer write a record to its broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_LIMIT_S = 120.0
# A batch of a codec that has a dependency of its own in each Python.
_PRODUCE = """
import asyncio, sys
from fakebroker import AsyncProducer

async def main():
    config = {"bootstrap.servers": sys.argv[1], "acks": "all", "compression.type": "zstd"}
    async with AsyncProducer(config, generation="4.3") as producer:
        future = await producer.send("t", b"one")
        print("offset", (await asyncio.wait_for(future, 60)).offset)

asyncio.run(main())
"""


class Failed(Exception):
    """A wheel was not built, or does not work. The message is for the user."""


def pip(python: str, *arguments: str) -> list[str]:
    """The command of this process's pip for another interpreter, which needs none."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *arguments]


def run(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None, limit_s: float | None = None
) -> str:
    """Return what the command has printed. Raises Failed with its last lines."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(command[:4])} ... took longer than {limit_s:.0f} s") from None
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-15:])
        raise Failed(f"{' '.join(command[:4])} ... ended with status {done.returncode}:\n{last}")
    return done.stdout


def check(wheel: Path, python: str, is_compiled: bool) -> str:
    """Return the version line of the wheel. Raises Failed if the wheel does not work, or is not compiled as said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FAKEBROKER"))}
    with TemporaryDirectory(prefix="fakebroker-wheel-") as name:
        folder = Path(name)
        run([python, "-m", "venv", "--without-pip", "env"], environment, folder, _LIMIT_S)
        binaries = folder / "env" / "bin"
        run(pip(str(binaries / "python"), "install", "--quiet", str(wheel.resolve())), environment, folder)
        version = run([str(binaries / "fakebroker"), "--version"], environment, folder, _LIMIT_S).strip()
        how = "compiled" if is_compiled else "interpreted"
        if not version.endswith(f", {how})"):
            raise Failed(f"the wheel should be {how}, and says: {version}")
        with _broker(binaries, environment, folder) as address:
            output = run([str(binaries / "python"), "-c", _PRODUCE, address], environment, folder, _LIMIT_S).strip()
        if output != "offset 0":
            raise Failed(f"the first record of a topic has offset 0, and the producer says: {output}")
        return version


@contextmanager
def _broker(binaries: Path, environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The address of a broker of the environment. Raises Failed if it does not start or end as it should."""
    command = [str(binaries / "fakebroker"), "serve", "--brokers", "1", "--port", "0", "--topic", "t", "--no-control"]
    errors = folder / "stderr"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as broker,
    ):
        try:
            assert broker.stdout is not None
            line = broker.stdout.readline()  # empty if the process has ended
            if not line.startswith("fakebroker ready: bootstrap_servers="):
                raise Failed(f"serve did not start: {line}{errors.read_text()}")
            yield line.partition("bootstrap_servers=")[2].split()[0]
            broker.send_signal(signal.SIGTERM)
            status = broker.wait(_LIMIT_S)
            if status != 0:
                raise Failed(f"serve ended with status {status}: {errors.read_text()}")
        except subprocess.TimeoutExpired:
            raise Failed(f"serve did not end within {_LIMIT_S:.0f} s of SIGTERM") from None
        finally:
            broker.kill()
