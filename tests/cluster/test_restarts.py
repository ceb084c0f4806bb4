"""A start during the stop of a broker, like `stop; start` in a script."""

from __future__ import annotations

import pytest

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic


def at(ms: int) -> Now:
    return Now(ms, 1_700_000_000_000 + ms)


@pytest.fixture
def stopping() -> Cluster:
    """Return a cluster with a broker 3 in controlled shutdown, which the controller completes after 200 ms."""
    cluster = Cluster(at(0), 3, BrokerConfig().with_text({"fakebroker.controller.delay.ms": "100"}))
    cluster.admin.create_topic(NewTopic("t", 3, 3), at(0))
    cluster.advance_to(at(1_000))
    cluster.lives.stop_broker(3, at(1_000))
    cluster.advance_to(at(1_050))
    assert cluster.lives.state_of(3) == "stopping"
    return cluster


def states(cluster: Cluster) -> list[str]:
    """Return the states that broker 3 goes through in the next ten seconds."""
    seen = [cluster.lives.state_of(3)]
    for ms in range(1_060, 11_000, 10):
        cluster.advance_to(at(ms))
        if (state := cluster.lives.state_of(3)) != seen[-1]:
            seen.append(state)
    return seen


def test_it_stops_and_starts_then(stopping: Cluster) -> None:
    stopping.lives.start_broker(3, at(1_050))
    assert states(stopping) == ["stopping", "starting", "running"]
    assert all(partition.isr == {1, 2, 3} for partition in stopping.metadata.partitions())
    stopping.check_invariants()


def test_without_a_start_it_stays_stopped(stopping: Cluster) -> None:
    assert states(stopping) == ["stopping", "stopped"]


def test_a_second_stop_takes_the_start_back(stopping: Cluster) -> None:
    stopping.lives.start_broker(3, at(1_050))
    stopping.lives.stop_broker(3, at(1_050))
    assert states(stopping) == ["stopping", "stopped"]


def test_a_crash_takes_the_start_back(stopping: Cluster) -> None:
    stopping.lives.start_broker(3, at(1_050))
    stopping.lives.kill_broker(3, at(1_050))
    assert states(stopping) == ["killed"]
    stopping.lives.start_broker(3, at(11_000))
    stopping.lives.stop_broker(3, at(11_000))
    assert stopping.lives.state_of(3) == "stopped"
