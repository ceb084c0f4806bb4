"""Requests that arrive between the slices of a change of a broker: the broker serves them, or is not found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.requests import metadata, request

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.crash_loss import CrashLoss
from fakebroker.network.effects import InternalError
from fakebroker.protocol.slices import Slices

UNREGISTER_BROKER = 64
LATER_MS = 9_001  # the session of a broker that is silent from 0 on has ended


def at(ms: int) -> Now:
    return Now(ms, 1_700_000_000_000 + ms)


def cluster_of(partitions: int) -> Cluster:
    cluster = Cluster(at(0), 3)
    cluster.admin.create_topic(NewTopic("t", partitions, 3), at(0))
    cluster.take_effects()
    return cluster


def work_off(cluster: Cluster, ms: int) -> None:
    cluster.advance_to(at(ms))
    while cluster.has_work or cluster.members.events.is_busy:
        cluster.advance_to(at(ms))
    assert not [effect for effect in cluster.take_effects() if isinstance(effect, InternalError)]
    cluster.check_invariants()


def start_after_a_loss(cluster: Cluster) -> Slices[None]:
    cluster.lives.kill_broker(1, at(0), max(CrashLoss))
    work_off(cluster, LATER_MS)
    return cluster.lives.start_broker_in_slices(1, at(LATER_MS))


def with_a_stale_view(change: str) -> Callable[[Cluster], Slices[None]]:
    def begin(cluster: Cluster) -> Slices[None]:
        cluster.lives.pause_broker(1, at(0))
        work_off(cluster, LATER_MS)
        cluster.lives.resume_broker(1, at(LATER_MS))
        slices: Slices[None] = getattr(cluster.lives, f"{change}_broker_in_slices")(1, at(LATER_MS))
        return slices

    return begin


CHANGES: dict[str, Callable[[Cluster], Slices[None]]] = {
    "start": start_after_a_loss,
    "kill": with_a_stale_view("kill"),
    "stop": with_a_stale_view("stop"),
    "pause": with_a_stale_view("pause"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_client_connects_between_any_two_slices(change: str) -> None:
    cluster = cluster_of(260)
    slices = CHANGES[change](cluster)
    cluster.members.events.handle(change, slices)
    slices_done = 0
    while cluster.members.events.is_busy:
        connection = cluster.open_connection(1, "client:1", at(LATER_MS))
        assert connection.is_closed != cluster.lives.takes_connections(1)
        if not connection.is_closed:
            cluster.receive(connection, metadata(["t"]), at(LATER_MS))
        cluster.members.events._do_next_slice()
        slices_done += 1
    assert slices_done > 1
    work_off(cluster, LATER_MS)


@pytest.mark.parametrize("change", ["stop", "kill", "pause"])
def test_a_broker_that_is_unregistered_during_its_end_does_not_come_back(change: str) -> None:
    cluster = cluster_of(400)
    connection = cluster.open_connection(2, "client:1", at(0))
    cluster.members.events.handle(change, getattr(cluster.lives, f"{change}_broker_in_slices")(1, at(1)))
    cluster.receive(connection, request(UNREGISTER_BROKER, 0, {"broker_id": 1}), at(1))
    work_off(cluster, 1)
    work_off(cluster, 150_000)
    assert cluster.registry[1].is_fenced
    assert 1 not in cluster.metadata.alive_ids
