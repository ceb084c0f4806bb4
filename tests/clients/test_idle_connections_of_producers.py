"""connections.max.idle.ms on kafka-clients, unmodified, and on `AsyncProducer` as the client of the same releases.

The clock is real, and the callbacks of records are compared. Kafka's Selector decides which connection is idle. The
judge (conformance/producer) has a mock in its place, so this test compares ours with it.
"""

from __future__ import annotations

import time

import pytest
from support.log_reader import read_values
from support.stock_sends import Sends, sends
from support.watchdog import wait_until

from fakebroker import FakeCluster

pytestmark = [pytest.mark.clients, pytest.mark.slow]

IDLE_MS = 400
REQUEST_TIMEOUT_MS = 300_000  # far more than the watchdog allows
SETTINGS: dict[str, object] = {
    "acks": "1",
    "connections_max_idle_ms": IDLE_MS,
    "enable_idempotence": "false",
    "linger_ms": 0,
    "request_timeout_ms": REQUEST_TIMEOUT_MS,
    "retries": 0,
}


def send_to_second(program: Sends, key: str) -> tuple[float, str]:
    """Return the result of a record, and its time in milliseconds, while other records go to the first broker."""
    began = time.monotonic()
    program.send(key, partition=1)
    line = ""

    def is_told() -> bool:
        nonlocal line
        program.send("busy")
        line = program.told()
        return line.startswith(key + " ") or not line.startswith("busy offset ")

    wait_until(is_told, f"the callback of {key}")
    assert line.startswith(key + " ")
    return 1_000 * (time.monotonic() - began), line


@pytest.mark.parametrize(
    "version",
    [*(pytest.param(stock, marks=pytest.mark.languages) for stock in ("2.0.1", "4.4.0")), "ours 2.0", "ours 4.4"],
)
def test_a_request_that_waits_is_no_activity_and_the_other_connection_stays(version: str) -> None:
    """Broker 2 says nothing for longer than a connection may be idle: long before request.timeout.ms the record is told
    that the network broke. The next one goes over a new connection. What goes to broker 1 meanwhile never fails."""
    with FakeCluster(brokers=2) as kafka:
        kafka.create_topic("orders", assignments=[[1], [2]])
        since_kip_91 = {} if version.endswith("2.0.1") or version == "ours 2.0" else {"delivery_timeout_ms": 400_000}
        with sends(version, kafka, **SETTINGS, **since_kip_91) as program:
            program.send("known", partition=1)
            assert program.told() == "known offset 0"
            kafka.brokers[2].pause()
            took_ms, line = send_to_second(program, "waits")
            assert line.startswith("waits NetworkException: ")
            assert took_ms >= IDLE_MS
            kafka.brokers[2].resume()
            assert send_to_second(program, "again")[1].startswith("again offset ")
        assert len(read_values(kafka, "orders", 1)) >= 2
