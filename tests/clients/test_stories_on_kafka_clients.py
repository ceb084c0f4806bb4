"""What the stories tell of Kafka's producer, on kafka-clients itself: 2.0.1, 2.1.0 (KIP-91) and 4.4.0, unmodified.

Times are those of a real clock here; what is compared is what each record was called back with.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.serving import LIMIT_S

from conformance.targets.kafka_box import Unavailable, fetch_jars
from fakebroker import FakeCluster

pytestmark = [pytest.mark.clients, pytest.mark.slow]

FOLDER = Path(__file__).parent.parent / "support" / "java"
BEFORE, SINCE = ["2.0.1"], ["2.1.0", "4.4.0"]  # KIP-91


class Sends:
    """The program: a record in, what it was called back with out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, key: str, size: int = 10, partition: int = 0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"orders {partition} {key} {size}\n")
        self._process.stdin.flush()

    def told(self) -> str:
        """The next one: its key, and its offset or its error."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def sends(version: str, kafka: FakeCluster, **settings: object) -> Iterator[Sends]:
    """A producer of that version that has sent its first record. Skips where it cannot be had."""
    try:
        name = {"kafka.version": version}
        jars = fetch_jars(FOLDER / "pom.xml", f"kafka-clients-{version}", f"kafka-clients {version}", name)
    except Unavailable as reason:
        pytest.skip(str(reason))
    values = {"bootstrap.servers": kafka.bootstrap_servers} | {
        name.replace("_", "."): value for name, value in settings.items()
    }
    command = [
        "java",
        "-cp",
        f"{jars}/*",
        str(FOLDER / "Sends.java"),
        *(f"{name}={value}" for name, value in values.items()),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            program = Sends(process)
            program.send("first")
            assert program.told() == "first offset 0"
            yield program
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()


def expires(version: str, **settings: object) -> list[str]:
    """What two records are told that are sent to a dead broker: one fills its batch, one does not."""
    with (
        FakeCluster(brokers=1) as kafka,
        sends(version, kafka, request_timeout_ms=400, linger_ms=10, batch_size=1_000, **settings) as program,
    ):
        kafka.brokers[1].kill()
        program.send("probe")  # is the connection known to be gone?
        program.told()
        program.send("full", 980)
        program.send("lingers", 500)
        return [program.told(), program.told()]


@pytest.mark.parametrize("version", BEFORE)
def test_before_kip_91_it_expires_for_a_reason(version: str) -> None:
    full, lingers = expires(version, retries=0)
    assert full.startswith("full TimeoutException: Expiring 1 record(s) for orders-0: ")
    assert full.endswith(" ms has passed since last append")
    assert lingers.endswith(" ms has passed since batch creation plus linger time")


@pytest.mark.parametrize("version", SINCE)
def test_since_kip_91_there_is_one_reason(version: str) -> None:
    # 4.x would forget the topic where no broker can be reached, and begin anew (KIP-899).
    more = {"metadata_recovery_strategy": "none"} if version == "4.4.0" else {}
    for told in expires(version, delivery_timeout_ms=500, **more):
        assert " TimeoutException: Expiring 1 record(s) for orders-0:" in told
        assert " ms has passed since batch creation" in told
        assert "linger time" not in told


@pytest.mark.parametrize("version", [*BEFORE, *SINCE])
def test_a_silent_broker_fails_all_in_flight_at_once(version: str) -> None:
    """Since 3.5 as a time-out, before as a network that broke."""
    settings: dict[str, object] = {"acks": "1", "request_timeout_ms": 400, "linger_ms": 0, "retries": 0}
    if version == "4.4.0":
        settings["enable_idempotence"] = "false"
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=3)
        with sends(version, kafka, **settings) as program:
            kafka.brokers[1].pause()
            for partition, key in enumerate("abc"):
                program.send(key, partition=partition)
            told = sorted(program.told() for _ in range(3))
            kafka.brokers[1].resume()
    error = "TimeoutException" if version == "4.4.0" else "NetworkException"
    assert [line.split(":")[0] for line in told] == [f"{key} {error}" for key in "abc"]


@pytest.mark.parametrize("version", [*BEFORE, *SINCE])
def test_every_attempt_times_out(version: str) -> None:
    """Before KIP-91 the retries end it, and there are as many copies as attempts; since, delivery.timeout.ms does."""
    settings: dict[str, object] = {"acks": "all", "request_timeout_ms": 400, "linger_ms": 0}
    if version in BEFORE:
        settings["retries"] = 2
    else:
        settings |= {"delivery_timeout_ms": 1_000, "enable_idempotence": "false"}
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("orders", partitions=1)
        with sends(version, kafka, **settings) as program:
            kafka.followers.freeze("orders", partition=0)
            program.send("a")
            told = program.told()
            asked = len(kafka.journal.produce(topic="orders")) - 1
    if version in SINCE:
        assert told.startswith("a TimeoutException: ")
    else:  # whose clock was first in the last attempt, the broker's or its own?
        assert told.split(":")[0] in ("a TimeoutException", "a NetworkException")
    assert ("ms has passed since batch creation" in told) == (version in SINCE)
    assert asked >= 2
