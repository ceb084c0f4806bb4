"""Apache Kafka in a box: fetched by Maven once, formatted, started, stopped and cleaned up in every case.

A box is N broker processes on loopback with free ports; the first is the controller too, and is never frozen, or the
controller is a process of its own, and every broker may die. All files are in a temporary folder. The processes die
with this one, however it ends (Linux); a folder that was left behind by a harness that was killed is removed by the
next.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from conformance.targets.controller_proxy import ControllerProxy
from conformance.targets.tls import BoxCertificates

POM = Path(__file__).with_name("pom.xml")
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
CLUSTER_ID = "ZmFrZWJyb2tlci1jb25mb3Jt"
START_LIMIT_S = 60.0
_PREFIX = "fakebroker-kafka-"
_SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_CONTROLLER_APART = 3000  # its node id
JAVA_OPTIONS = ("-Xmx512m", "-Xshare:auto", "-XX:-UsePerfData", "-Dlog4j2.level=WARN")


class Unavailable(Exception):
    """Kafka cannot be had here; the message says why."""


def cache_folder() -> Path:
    """Return the folder of fetched files: $FAKEBROKER_CACHE, or the user's cache folder."""
    base = os.environ.get("FAKEBROKER_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "fakebroker"
    )
    return Path(base) / "conformance"


def kafka_version() -> str:
    """The version that `pom.xml` asks for."""
    return version_of(POM)


def version_of(pom: Path) -> str:
    match = re.search(r"<kafka.version>(.+)</kafka.version>", pom.read_text())
    assert match is not None, f"{pom} names no kafka.version"
    return match[1]


def fetch_kafka() -> Path:
    """The folder with Kafka's jars, fetched from Maven Central if it is not there yet. Raises Unavailable."""
    return fetch_jars(POM, f"kafka-{kafka_version()}", f"Apache Kafka {kafka_version()}")


def fetch_jars(pom: Path, name: str, what: str, versions: Mapping[str, str] | None = None) -> Path:
    """The folder of that name in the cache with what `pom` asks for, given its `versions`. Raises Unavailable."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"`{tool}` is not installed: {what} is fetched by Maven and needs Java 17")
    folder = cache_folder() / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        jars = Path(scratch) / "jars"
        command = ["mvn", "-q", "-B", "-f", str(pom), COPY_GOAL, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        command += [f"-D{key}={version}" for key, version in (versions or {}).items()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
            reason = lines[0].removeprefix("[ERROR] ") if lines else done.stderr.strip()
            raise Unavailable(f"Maven could not fetch {what}: {reason}")
        take_home(jars, folder)
    return folder


def take_home(made: Path, folder: Path) -> None:
    """Move what was made to its place. If another process has just made the same, that stays."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def remove_leftovers() -> None:
    """Remove the folders of harnesses that do not run any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)


class KafkaBox:
    """A running cluster of Apache Kafka. `endpoints` are (host, port) by broker id, 1 to N.

    An empty value in `config` takes back what a box sets by itself.
    """

    def __init__(
        self,
        brokers: int | Sequence[int],
        config: Mapping[str, str],
        features: Mapping[str, int] | None = None,
        racks: Mapping[int, str] | None = None,
        port: int | None = None,
        *,
        advertised_port: int | None = None,
        controller_apart: bool = False,
        has_cuts: bool = False,
        listeners: Sequence[str] | Mapping[str, int | None] = (),
        users: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        """`listeners` are those beside PLAINTEXT, each named as its protocol, with the port of the first broker or
        None if it matters; `others` has their endpoints. `users` have passwords for SCRAM.
        `brokers` are their ids, or how many there are: 1 to so many. The first is the controller too.
        `features` has levels that are other than Kafka's own, `racks` where brokers stand, by id; `port` is the first
        broker's, and the others have those above it, `advertised_port` the same for what clients are told, on
        localhost. `controller_apart`: no broker is the controller. `has_cuts`: brokers can be cut off from it."""
        self._jars = fetch_kafka()
        self._config = dict(config)
        self._java_options = tuple(java_options)
        self._features = [f"{name}={level}" for name, level in (features or {}).items()]
        self._users = dict(users or {})
        self._racks = dict(racks or {})
        remove_leftovers()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._certificates = BoxCertificates(self._folder / "tls", list(listeners))
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        # Linux takes the thread for the parent that a process is to die with: so this one starts them all.
        self._starter = ThreadPoolExecutor(1)
        ids = range(1, brokers + 1) if isinstance(brokers, int) else brokers
        self._controller = _CONTROLLER_APART if controller_apart else ids[0]
        ports = _free_ports(len(ids) + 2)
        self._controller_port, self._told_port = ports.pop(), ports.pop()
        if not has_cuts:
            self._told_port = self._controller_port
        self._proxy = ControllerProxy(self._told_port, self._controller_port) if has_cuts else None
        if port is not None:
            ports = [port + index for index in range(len(ids))]
        self._advertised_port = advertised_port
        self.others: dict[tuple[str, int], tuple[str, int]] = {}
        for listener in listeners:
            first = listeners[listener] if isinstance(listeners, Mapping) else None
            taken = range(first, first + len(ids)) if first else _free_ports(len(ids))
            self.others |= {
                (listener, broker_id): ("127.0.0.1", other) for broker_id, other in zip(ids, taken, strict=True)
            }
        self._protocols = "".join(f",{listener}:{listener}" for listener in listeners)
        self.endpoints = {broker_id: ("127.0.0.1", port) for broker_id, port in zip(ids, ports, strict=True)}

    @property
    def ca(self) -> Path | None:
        """Return the certificate that clients of listeners with TLS trust; None if there is no such listener."""
        return self._certificates.ca

    def start(self) -> None:
        """Format and start all brokers; return when they accept connections. Raises Unavailable."""
        atexit.register(self.stop)
        try:
            for node_id in dict.fromkeys((self._controller, *self.endpoints)):
                self._format(node_id)
                self.start_broker(node_id)
            for broker_id in self.endpoints:
                self.await_start(broker_id)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill what runs and remove every file."""
        atexit.unregister(self.stop)
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        if self._proxy is not None:
            self._proxy.stop()
        self._starter.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def freeze(self, broker_id: int) -> None:
        assert broker_id != self._controller, "it is the controller: without it nothing else works"
        process = self._processes[broker_id]
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # on a busy machine its threads run on for a while

    def thaw(self, broker_id: int) -> None:
        self._processes[broker_id].send_signal(signal.SIGCONT)

    def cut_off(self, broker_id: int) -> None:
        """The broker does not reach the controller from now on."""
        assert self._proxy is not None, "brokers of this box cannot be cut off"
        self._proxy.cut(broker_id)

    def join(self, broker_id: int) -> None:
        """Let a broker reach the controller again."""
        assert self._proxy is not None
        self._proxy.heal(broker_id)

    def start_broker(self, broker_id: int) -> None:
        log = self._file(broker_id, "log").open("ab")
        command = [*dying_with_us(), *self._java(), "kafka.Kafka", str(self._file(broker_id, "properties"))]
        with log:
            self._processes[broker_id] = self._starter.submit(
                subprocess.Popen, command, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            ).result()

    def stop_broker(self, broker_id: int) -> int:
        """Shut a broker down in order, as an operator does; the exit status."""
        process = self._processes.pop(broker_id)
        process.terminate()
        return process.wait()

    def kill_broker(self, broker_id: int) -> None:
        """A broker is dead at once (SIGKILL), frozen or not."""
        process = self._processes.pop(broker_id)
        process.kill()
        process.wait()

    def _java(self) -> list[str]:
        return ["java", *JAVA_OPTIONS, *self._java_options, "-cp", f"{self._jars}{os.sep}*"]

    def _file(self, broker_id: int, suffix: str) -> Path:
        return self._folder / f"broker-{broker_id}.{suffix}"

    def _format(self, broker_id: int) -> None:
        controller = f"127.0.0.1:{self._told_port}"
        properties = {
            "node.id": str(broker_id),
            **self._role(broker_id),
            "controller.quorum.voters": f"{self._controller}@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{self._protocols}",
            "log.dirs": str(self._folder / f"data-{broker_id}"),
            "broker.session.timeout.ms": "3600000",  # a frozen broker stays unfenced, and so in the ISR
            "offsets.topic.replication.factor": "1",
            "log.cleaner.enable": "false",
            "log.roll.ms": str(2**63 - 1),  # one segment, however far timestamps are apart: a Fetch ends with a segment
            **({"broker.rack": self._racks[broker_id]} if broker_id in self._racks else {}),
            **({} if "ssl.keystore.location" in self._config else self._certificates.settings),
            **self._config,
        }
        path = self._file(broker_id, "properties")
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items() if value))
        options = [option for feature in self._features for option in ("--feature", feature)]
        for name, password in self._users.items():
            for mechanism in _SCRAM:
                options += ["--add-scram", f"{mechanism}=[name={name},password={password}]"]
        done = subprocess.run(
            [*self._java(), "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(path), *options],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Unavailable(f"Kafka could not format its storage: {(done.stderr or done.stdout).strip()}")

    def _role(self, node_id: int) -> dict[str, str]:
        controls, controller = node_id == self._controller, f"127.0.0.1:{self._controller_port}"
        if node_id not in self.endpoints:
            advertised = f"CONTROLLER://127.0.0.1:{self._told_port}"
            roles = {"process.roles": "controller", "listeners": f"CONTROLLER://{controller}"}
            return roles if self._proxy is None else roles | {"advertised.listeners": advertised}
        listener = f"PLAINTEXT://127.0.0.1:{self.endpoints[node_id][1]}" + "".join(
            f",{name}://127.0.0.1:{port}"
            for (name, broker_id), (_, port) in self.others.items()
            if broker_id == node_id
        )
        return {
            "process.roles": "broker,controller" if controls else "broker",
            "listeners": listener + (f",CONTROLLER://{controller}" if controls else ""),
            "advertised.listeners": self._advertised(node_id) or listener,
        }

    def _advertised(self, node_id: int) -> str:
        if self._advertised_port is None:
            return ""
        return f"PLAINTEXT://localhost:{self._advertised_port + list(self.endpoints).index(node_id)}"

    def await_start(self, broker_id: int) -> None:
        """Return when a broker accepts connections. Raises Unavailable."""
        limit = time.monotonic() + START_LIMIT_S
        while time.monotonic() < limit:
            if self._processes[broker_id].poll() is not None:
                break
            try:
                socket.create_connection(self.endpoints[broker_id], timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        tail = "\n".join(self._file(broker_id, "log").read_text(errors="replace").splitlines()[-15:])
        raise Unavailable(f"broker {broker_id} of Kafka did not start within {START_LIMIT_S:.0f} s:\n{tail}")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


def dying_with_us() -> list[str]:
    """Return a prefix for a command so that its process ends when the thread that starts it ends, where Linux can do
    that. At the latest that is when this process is killed."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
