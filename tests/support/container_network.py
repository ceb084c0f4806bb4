"""Network namespaces that stand for Docker: a host with a bridge, and containers on it that find each other by name.

Theory   A namespace lives as long as a process in it. Here that is `cat`, which reads a pipe of this process. So all
         namespaces go when this process does, also if it is killed, and their interfaces go with them. Nothing has a
         name outside of them.
         A port is mapped as `docker-proxy` does it: a program on the host accepts connections and forwards the bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from conformance.targets.kafka_box import dying_with_us
from support.watchdog import LIMIT_S, wait_until

HOST = "host"
_TOOLS = ("ip", "unshare", "nsenter", "setpriv")
_NETWORK = "10.213.7"
_FORWARD = """
import asyncio, sys

port, target, target_port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def forward(reader, writer):
    there = await asyncio.open_connection(target, target_port)
    await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

async def main():
    server = await asyncio.start_server(forward, None, port)
    print("forwards", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def skip_without_namespaces() -> None:
    """Skip the test where no network namespaces can be made."""
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        pytest.skip(f"there is no {', '.join(missing)}: network namespaces need Linux with iproute2 and util-linux")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"this system makes no network namespaces: {tried.stderr.strip()}")


class ContainerNetwork:
    """A host and its containers, by name. Commands run in `folder`, which also has the
    file of their names."""

    def __init__(self, containers: list[str], folder: Path) -> None:
        self._names = containers
        self._hosts = folder / "hosts"
        self._stack = ExitStack()
        self._keepers: dict[str, int] = {}
        self.addresses = {name: f"{_NETWORK}.{number}" for number, name in enumerate(containers, 2)}

    def __enter__(self) -> Self:
        lines = [f"{address} {name}\n" for name, address in self.addresses.items()]
        self._hosts.write_text("127.0.0.1 localhost\n::1 localhost\n" + "".join(lines))
        try:
            for name in (HOST, *self._names):
                self._make(name)
            self._ip(HOST, "link add name bridge type bridge")
            self._ip(HOST, f"address add {_NETWORK}.1/24 dev bridge")
            self._ip(HOST, "link set bridge up")
            for number, name in enumerate(self._names):
                self._join(name, f"veth{number}")
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _make(self, name: str) -> None:
        keeper = self._started([*dying_with_us(), "unshare", "--net", "--mount", "cat"])
        own = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != own, f"the namespace of {name}")
        wait_until(lambda: Path(f"/proc/{keeper.pid}/comm").read_text() == "cat\n", f"the keeper of {name}")
        self._keepers[name] = keeper.pid
        self._ip(name, "link set lo up")
        if name != HOST:
            self.run(name, ["mount", "--bind", str(self._hosts), "/etc/hosts"])

    def _join(self, name: str, interface: str) -> None:
        self._ip(HOST, f"link add {interface} type veth peer name eth0 netns {self._keepers[name]}")
        self._ip(HOST, f"link set {interface} master bridge up")
        self._ip(name, f"address add {self.addresses[name]}/24 dev eth0")
        self._ip(name, "link set eth0 up")

    def _ip(self, name: str, command: str) -> None:
        self.run(name, ["ip", *command.split()])

    def _inside(self, name: str, command: list[str]) -> list[str]:
        where = f"--wd={self._hosts.parent}"
        return [*dying_with_us(), "nsenter", "--net", "--mount", where, "--target", str(self._keepers[name]), *command]

    def run(self, name: str, command: list[str]) -> str:
        """Run a command to its end, and return its output."""
        done = subprocess.run(self._inside(name, command), capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, name: str, command: list[str]) -> None:
        """Start a command that runs until the network ends. Return when it has written its first line."""
        process = self._started(self._inside(name, command))
        assert process.stdout is not None
        assert process.stdout.readline(), (command, process.communicate())

    def map_port(self, name: str, port: int) -> None:
        """Map a port of the host to the same port of a container, as `docker run -p PORT:PORT` does."""
        self.start(HOST, [sys.executable, "-c", _FORWARD, str(port), self.addresses[name], str(port)])

    def _started(self, command: list[str]) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
        self._stack.callback(_end, process)
        return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
