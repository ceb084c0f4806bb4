"""The brokers that suites run against: those of fakebroker in a process of their own, those of Apache Kafka."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.request import Request, urlopen

from conformance.suites.suite import NotRun, Security, Side
from conformance.targets.kafka_box import KafkaBox, kafka_version
from fakebroker import __version__
from fakebroker.server.tls.certificates import Certificates, ClientCertificate

OURS, KAFKA = "fakebroker", "Apache Kafka"
# For both. Suites make many small groups and topics; the rest is as Kafka has it where nothing is given.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.min.isr": "2",
}
_MODULES = {
    "plain": "plain.PlainLoginModule",
    "scram-sha-256": "scram.ScramLoginModule",
    "scram-sha-512": "scram.ScramLoginModule",
}
_START_LIMIT_S = 60.0
_HOST = "localhost"  # how suites that have their address inside call it
_WRITTEN_S = 0.3  # so long it takes until an event is in the file of the journal, and a bit
_SERVE = "from fakebroker.cli import main; main()"
_NOT_SERVED = re.compile(r"API key \d+ \((\w+)|(\w+ v\d+) is not served")


class Running:
    """Brokers that run, where they are, and what they say of themselves if they keep a journal."""

    def __init__(self, side: Side, journal: IO[str] | None = None) -> None:
        self.side = side
        self._journal = journal

    def refused(self) -> list[str]:
        """The APIs and versions that were asked for since the last question, and are not served; most asked first."""
        if self._journal is None:
            return []
        time.sleep(_WRITTEN_S)
        counts: Counter[str] = Counter()
        for line in self._journal:
            if "is not served" in line and (named := _NOT_SERVED.search(line)):
                counts[named[1] or named[2]] += 1
        return [name for name, _ in counts.most_common()]


@contextmanager
def fakebroker(
    broker_ids: Sequence[int],
    settings: Mapping[str, str],
    port: int | None = None,
    *,
    racks: Mapping[int, str] | None = None,
    is_proxied: bool = False,
    security: Security | None = None,
) -> Iterator[Running]:
    """`fakebroker serve`, as a user starts it; with a port, as the broker on that port of localhost, or the first one.
    Raises NotRun."""
    options = ["--broker-ids", ",".join(map(str, broker_ids)), "--defaults", "kafka", "--control-port", "0"]
    if security is None:
        options += ["--port", str(port or 0), "--advertised-host", _HOST if port else "127.0.0.1"]
    if is_proxied:
        options += ["--toxiproxy-port", "0"]
    for broker_id, rack in (racks or {}).items():
        options += ["--rack", f"{broker_id}={rack}"]
    for name, value in (SETTINGS | dict(settings)).items():
        options += ["--config", f"{name}={value}"]
    with _certificates(security) as made:
        if security is not None:
            options += _listeners(security, port, made)
        with _serve(options) as (facts, events):
            where = [(broker["host"], broker["port"]) for broker in facts["brokers"]]
            listeners = facts["listeners"] if security else {}
            yield Running(
                Side(OURS, __version__, where, facts.get("toxiproxy_url", ""), listeners, *_files(made)), events
            )


def _listeners(security: Security, port: int | None, made: Certificates | None) -> list[str]:
    """Return the options of `serve` for its listeners, of which the first is in plain text, and for its users."""
    plain = f"PLAINTEXT=PLAINTEXT://127.0.0.1:{port},advertised={_HOST}:{port}" if port else "PLAINTEXT"
    options = ["--listener", plain]
    for name, other in security.ports.items():
        options += ["--listener", f"{name}={name}://127.0.0.1:{other}" if other else name]
    for name, password in security.users.items():
        options += ["--user", f"{name}={password}"]
    return options if made is None else [*options, "--certificates", str(made.folder)]


@contextmanager
def _certificates(security: Security | None) -> Iterator[Certificates | None]:
    """Yield the certificates of both sides; none if no listener has TLS."""
    if security is None or not any(name.endswith("SSL") for name in security.ports):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="fakebroker-suites-tls-") as folder:
        yield Certificates(["127.0.0.1", _HOST], folder)


def _files(made: Certificates | None) -> tuple[Path | None, ClientCertificate | None]:
    """Return the certificate of the CA, and one for clients."""
    return (None, None) if made is None else (made.ca, made.client("suite"))


@contextmanager
def _serve(options: Sequence[str]) -> Iterator[tuple[dict[str, Any], IO[str]]]:
    """Yield the facts of a `serve` that is ready, and its journal."""
    with tempfile.TemporaryDirectory(prefix="fakebroker-suites-") as folder:
        ready, journal = Path(folder) / "ready.json", Path(folder) / "journal"
        command = [sys.executable, "-c", _SERVE, "serve", *options]
        command += ["--ready-file", str(ready), "--journal", str(journal)]
        with (Path(folder) / "log").open("w+") as log:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, stdin=subprocess.DEVNULL)
            try:
                _await_file(ready, process, log.name)
                with journal.open() as events:
                    yield json.loads(ready.read_text()), events
            finally:
                process.kill()
                process.wait()


def _await_file(path: Path, process: subprocess.Popen[bytes], log: str) -> None:
    end = time.monotonic() + _START_LIMIT_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise NotRun(f"fakebroker did not start: {Path(log).read_text()[-400:]}")
        time.sleep(0.05)


@contextmanager
def apache_kafka(
    broker_ids: Sequence[int],
    settings: Mapping[str, str],
    port: int | None = None,
    *,
    racks: Mapping[int, str] | None = None,
    is_proxied: bool = False,
    security: Security | None = None,
) -> Iterator[Running]:
    """Start Kafka. With a port there is one broker on it, or the proxies of all brokers from it on. Raises
    Unavailable."""
    as_usual = {"log.cleaner.enable": "true", "log.roll.ms": "604800000"}
    ports = dict(security.ports) if security else {}
    addresses = [f"PLAINTEXT://{_HOST}:{port}", *(f"{name}://127.0.0.1:{other}" for name, other in ports.items())]
    advertised = {"advertised.listeners": ",".join(addresses)} if port and not is_proxied else {}
    properties = SETTINGS | as_usual | advertised | dict(settings)
    with _certificates(security) as made, ExitStack() as stack:
        if is_proxied:
            box = KafkaBox(broker_ids, properties, racks=racks, advertised_port=port)
        else:
            users = security.users if security else {}
            properties |= _kafka_security(security, made)
            box = KafkaBox(broker_ids, properties, racks=racks, port=port, listeners=ports, users=users)
        stack.callback(box.stop)
        box.start()
        if is_proxied:
            assert port is not None
            url = stack.enter_context(_proxies(list(box.endpoints.values()), port))
            where = [(_HOST, port + index) for index in range(len(broker_ids))]
            yield Running(Side(KAFKA, kafka_version(), where, url))
            return
        listeners = {
            listener: ",".join("{}:{}".format(*box.others[listener, broker_id]) for broker_id in broker_ids)
            for listener in ports
        }
        where = list(box.endpoints.values())
        yield Running(Side(KAFKA, kafka_version(), where, "", listeners, *_files(made)))


def _kafka_security(security: Security | None, made: Certificates | None) -> dict[str, str]:
    """Return what brokers of Kafka are told about their certificate, and about the users of PLAIN."""
    settings: dict[str, str] = {}
    if made is not None:
        for store, path in (("keystore", made.valid), ("truststore", made.ca)):
            settings |= {f"ssl.{store}.type": "PEM", f"ssl.{store}.location": str(path)}
    for listener in security.ports if security else ():
        if security and listener.startswith("SASL"):
            users = " ".join(f'user_{name}="{password}"' for name, password in security.users.items())
            for mechanism, module in _MODULES.items():
                jaas = f"org.apache.kafka.common.security.{module} required{f' {users}' * (mechanism == 'plain')};"
                settings[f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config"] = jaas
    return settings


@contextmanager
def _proxies(brokers: Sequence[tuple[str, int]], port: int) -> Iterator[str]:
    """Start the toxiproxy that our side has too, with proxies from this port on, and yield the address of its API."""
    with _serve(["--brokers", "1", "--port", "0", "--toxiproxy-port", "0"]) as (facts, _):
        url = facts["toxiproxy_url"]
        _ask("DELETE", f"{url}/proxies/kafka1")
        for index, (host, upstream) in enumerate(brokers):
            listen = f"127.0.0.1:{port + index}"
            _ask(
                "POST",
                f"{url}/proxies",
                {"name": f"kafka{index + 1}", "listen": listen, "upstream": f"{host}:{upstream}"},
            )
        yield url


def _ask(method: str, url: str, body: Mapping[str, str] | None = None) -> None:
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, content, method=method), timeout=_START_LIMIT_S):
        pass


SIDES = {"ours": fakebroker, "kafka": apache_kafka}
