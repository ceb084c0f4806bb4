"""Suites that need listeners with TLS or SASL, an authorizer, or brokers of their own (conformance/suites/)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from support.watchdog import LIMIT_S, wait_until

from conformance.suites import __main__ as program
from conformance.suites import kafka_root, page, sides
from conformance.suites.python import PythonSuite
from conformance.suites.results import Results
from conformance.suites.sides import OURS, fakebroker
from conformance.suites.suite import PASSED, NotRun, Outcome, Security, Side
from conformance.suites.table import SUITES
from conformance.targets import kafka_box

BY_NAME = {suite.name: suite for suite in SUITES}
USERS = {"alice": "secret"}


def test_a_side_has_the_listeners_the_users_and_the_certificates() -> None:
    security = Security({"SASL_SSL": None, "SSL": None}, USERS)
    with fakebroker((0, 5), {}, security=security) as running:
        side = running.side
        assert len(side.secured["SSL"].split(",")) == 2
        assert side.client is not None
        assert side.client.key.exists()
        settings: dict[str, str | int | float | bool] = {
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "alice",
            "sasl.password": "secret",
        }
        settings |= {"bootstrap.servers": side.secured["SASL_SSL"], "security.protocol": "SASL_SSL"}
        admin = AdminClient(settings | {"ssl.ca.location": str(side.ca)})
        assert sorted(admin.list_topics(timeout=LIMIT_S).brokers) == [0, 5]


def test_a_suite_with_its_addresses_inside_finds_a_secured_listener_there(free_ports: tuple[int, int]) -> None:
    port, other = free_ports
    with fakebroker((1,), {}, port, security=Security({"SASL_PLAINTEXT": other}, USERS)) as running:
        assert running.side.servers == f"localhost:{port}"
        assert running.side.secured["SASL_PLAINTEXT"] == f"127.0.0.1:{other}"


@pytest.fixture
def free_ports() -> tuple[int, int]:
    first, second = kafka_box._free_ports(2)
    return first, second


def test_kafka_in_a_box_has_the_same_listeners_and_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def formatted(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(kafka_box, "fetch_kafka", lambda: tmp_path)
    monkeypatch.setattr(subprocess, "run", formatted)
    box = kafka_box.KafkaBox((1, 2), {}, listeners={"SASL_PLAINTEXT": 9093, "SSL": None}, users=USERS)
    try:
        assert [box.others["SASL_PLAINTEXT", broker_id][1] for broker_id in (1, 2)] == [9093, 9094]
        assert len(set(box.others.values())) == 4
        box._format(1)
        users = [commands[0][index + 1] for index, word in enumerate(commands[0]) if word == "--add-scram"]
        assert users == [f"SCRAM-SHA-{size}=[name=alice,password=secret]" for size in (256, 512)]
    finally:
        box.stop()


def test_kafka_is_told_of_the_users_of_plain() -> None:
    settings = sides._kafka_security(Security({"SSL": None, "SASL_PLAINTEXT": None}, USERS), None)
    assert settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"].endswith('required user_alice="secret";')
    assert settings["listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config"].endswith(
        "ScramLoginModule required;"
    )
    assert not any("name.ssl" in name for name in settings)


def test_a_peer_without_listeners_does_not_run_a_secured_suite(tmp_path: Path) -> None:
    suite = BY_NAME["kgo-tls"]
    with pytest.raises(NotRun, match="kfake has no listeners with TLS or SASL"):
        program._run(suite, tmp_path, "kfake", ["TestX"], Results(tmp_path, suite, "kfake"), 0.0)


@pytest.mark.parametrize(
    ("properties", "users"),
    [("listeners=SSL://a:1\n", ""), ("sasl.enabled.mechanisms=PLAIN\n", "--user alice=alice-secret")],
)
def test_a_suite_that_starts_its_brokers_starts_ours(tmp_path: Path, properties: str, users: str) -> None:
    printed = started_by_a_suite(tmp_path, properties, kafka_root.variables(Side(OURS, "1", [])))
    assert printed.endswith(f"serve --brokers 1 --properties p --no-control {users}".strip())


def test_a_suite_that_starts_its_brokers_starts_kafkas(tmp_path: Path) -> None:
    printed = started_by_a_suite(tmp_path, "", kafka_root.variables(Side("Apache Kafka", "1", [])))
    assert printed.endswith("/* kafka.Kafka p")


def started_by_a_suite(folder: Path, properties: str, variables: Mapping[str, str]) -> str:
    """Return the arguments of what the script starts."""
    printing, script = folder / "java", folder / "run"
    printing.write_text('#!/bin/sh\necho "$@"\n')
    printing.chmod(0o755)
    script.write_text(kafka_root.FILES[f"{kafka_root.ROOT}/bin/kafka-run-class.sh"])
    (folder / "p").write_text(properties)
    environment = {**variables, "SUITE_PYTHON": str(printing), "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["sh", str(script), "kafka.Kafka", "p"]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_suite_that_starts_its_brokers_gets_what_it_needs_first(tmp_path: Path) -> None:
    def fetched() -> None:
        raise NotRun("no tools")

    suite = PythonSuite("p", "1", ["test"], lambda side: {}, fetched=fetched)
    with pytest.raises(NotRun, match="no tools"):
        suite.prepare(tmp_path)


def test_the_page_names_what_is_secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page_of(tmp_path, monkeypatch, "")
    assert "| kgo-tls | `SSL`, `SASL_PLAINTEXT`, with client certificates | `alice` | |" in text
    assert "| rskafka | `SASL_PLAINTEXT` | `admin` | |" in text
    assert "| kafka-python | | | StandardAuthorizer |" in text


def test_the_page_keeps_what_it_says_of_a_suite_that_was_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = f"| kadm | `{BY_NAME['kadm'].package}` | 11 | 10 | 11 | 0 | 1 | 0 | 0 | |"
    old = "| rskafka | `rskafka 0.1.0` | 5 | 5 | 5 | 0 | 0 | 0 | 0 | |"
    test = "- kadm `TestA`: fails at times."
    text = page_of(tmp_path, monkeypatch, f"{row}\n{old}\n\n## Passes on fakebroker, not on Apache Kafka\n\n{test}\n")
    assert row in text
    assert old not in text
    assert f"## Passes on fakebroker, not on Apache Kafka\n\n{test}\n" in text


def test_the_page_forgets_what_was_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("ours", "kafka"):
        Results(tmp_path, BY_NAME["kadm"], side).keep("TestA", Outcome(PASSED, 1.0, ""), [])
    text = page_of(tmp_path, monkeypatch, "## Passes on neither\n\n- kadm `TestA`: fails at times.\n")
    assert "TestA" not in text
    assert f"| kadm | `{BY_NAME['kadm'].package}` | 1 | 1 | 1 | 0 | 0 | 0 | 0 | |" in text


def page_of(folder: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> str:
    written = folder / "suites.md"
    written.write_text(before)
    monkeypatch.setattr(page, "PAGE", written)
    page.write_page(folder)
    return written.read_text()


def test_a_run_that_is_told_to_end_ends_what_it_has_started(tmp_path: Path) -> None:
    sleeping = (
        f"[{sys.executable!r}, '-c', 'import os, time; print(os.getpid(), file=open(\"pid\", \"w\")); time.sleep(600)']"
    )
    suites = "from conformance.suites.suite import end_in_order, run_bounded"
    running = f"{suites}; import os; end_in_order(); run_bounded({sleeping}, {str(tmp_path)!r}, os.environ, {LIMIT_S})"
    process = subprocess.Popen([sys.executable, "-c", running])
    try:
        wait_until(
            lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip(), "the start of a test"
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
