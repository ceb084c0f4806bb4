"""Debug lines of parked Produce requests."""

from __future__ import annotations

import logging

import pytest
from support.requests import ONE_RECORD, produce

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Completed, Expired
from fakebroker.server.writing.purgatory_log import log_unparked
from fakebroker.testing.simulation import Simulation

TIMEOUT_MS = 5_000


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.getMessage().startswith("parked produce request ")]


def test_a_request_that_expires_and_one_that_completes_have_a_line_for_each_partition(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "fakebroker")
    simulation = Simulation(3, "frozen")
    simulation.topic("t", 2, 3)
    for partition in (0, 1):
        simulation.move_leader(1, "t", partition)
    simulation.cluster.probe.listen(log_unparked, Completed, Expired)
    client = simulation.connect(1)
    client.send(produce("t", partitions={0: ONE_RECORD, 1: ONE_RECORD}, timeout_ms=TIMEOUT_MS))
    assert lines(caplog) == []
    simulation.advance(TIMEOUT_MS)
    assert lines(caplog) == [
        f"parked produce request expired after {TIMEOUT_MS} ms: partition t-{at}, required offset 1, REQUEST_TIMED_OUT"
        for at in (0, 1)
    ]
    caplog.clear()
    client.send(produce("t", partitions={1: ONE_RECORD}, timeout_ms=TIMEOUT_MS))
    simulation.followers("instant")
    assert lines(caplog) == ["parked produce request completed: partition t-1, required offset 2, NONE"]


def test_a_request_that_is_not_parked_has_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "fakebroker")
    simulation = Simulation(3)
    simulation.topic("t", 1, 3)
    simulation.cluster.probe.listen(log_unparked, Completed, Expired)
    client = simulation.connect(simulation.partition("t", 0).leader_id)
    client.send(produce("t", acks=1, partitions={0: ONE_RECORD}))
    assert lines(caplog) == []


@pytest.mark.parametrize(("level", "is_there"), [(logging.DEBUG, True), (logging.INFO, False)])
def test_a_cluster_has_them_where_the_log_shows_debug_lines(
    level: int, is_there: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The listeners cost nothing at other levels."""
    caplog.set_level(level, "fakebroker")
    with FakeCluster(brokers=1, journal=0) as kafka:
        listeners = kafka._cluster.server.driver.cluster.probe.listeners
        assert (log_unparked in [listener for listener, _ in listeners]) == is_there
