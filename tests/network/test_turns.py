"""A door does a bounded amount of work, and connections have turns in the order of arrival, with timers in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.apis import with_parts
from support.requests import Produced, api_versions, produce
from support.simulation import START_MONO_MS, START_WALL_MS, Simulation

from fakebroker.apis.context import RequestContext
from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.behaviour import FROZEN, INSTANT, Behaviour
from fakebroker.network.connection import Connection
from fakebroker.network.effects import PauseReading, ResumeReading, Send
from fakebroker.network.turn import Turn
from fakebroker.protocol.slices import Slices

AT_ONCE = 64  # requests of one door
SLICES_AT_ONCE = 8
API_VERSIONS = 18


def now(ms: int = 0) -> Now:
    return Now(START_MONO_MS + ms, START_WALL_MS + ms)


def ask(correlation_id: int) -> bytes:
    return api_versions(correlation_id=correlation_id)


def new_cluster(
    followers: Behaviour = INSTANT, new_turn: type[Turn] = Turn, **config: str
) -> tuple[Cluster, list[int]]:
    """Return a cluster, and a list of the connections with handled requests, in order."""
    cluster = Cluster(now(), config=BrokerConfig().with_text(config), followers=followers, new_turn=new_turn)
    cluster.admin.create_topic(NewTopic("t", 1, 3), now())
    order: list[int] = []
    cluster.on_handling = order.append
    return cluster, order


def ids(frames: bytes) -> list[int]:
    """Return the correlation ids of responses in a row."""
    ids_, start = [], 0
    while start < len(frames):
        ids_.append(int.from_bytes(frames[start + 4 : start + 8], "big"))
        start += 4 + int.from_bytes(frames[start : start + 4], "big")
    return ids_


def sent(cluster: Cluster, connection: Connection) -> list[int]:
    return ids(b"".join(effect.data for effect in sends(cluster) if effect.connection is connection))


def has_work(cluster: Cluster) -> bool:
    return cluster.has_work


def sends(cluster: Cluster) -> list[Send]:
    return [effect for effect in cluster.take_effects() if isinstance(effect, Send)]


def test_a_door_handles_so_many_requests_and_says_that_there_is_more() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    cluster.receive(client, b"".join(ask(number) for number in range(150)), now())
    assert sent(cluster, client) == list(range(AT_ONCE))
    assert has_work(cluster)
    cluster.advance_to(now())
    assert sent(cluster, client) == list(range(AT_ONCE, 2 * AT_ONCE))
    assert has_work(cluster)
    cluster.advance_to(now())
    assert sent(cluster, client) == list(range(2 * AT_ONCE, 150))
    assert not has_work(cluster)


def test_a_door_handles_so_many_bytes() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    large = produce("t", acks=1, client_id="x" * 30_000)
    cluster.receive(client, large * 60, now())
    assert len(sent(cluster, client)) == -(-1_048_576 // (len(large) - 4))
    assert has_work(cluster)


class Waiting(Turn):
    """A turn in which no request is handled before all clients have connected."""

    is_open = False

    def is_over(self) -> bool:
        return not self.is_open


def test_a_client_that_pipelines_is_not_read_until_its_requests_are_handled() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    cluster.receive(client, ask(1) * 65, now())
    assert [effect for effect in cluster.take_effects() if not isinstance(effect, Send)] == [PauseReading(client)]
    assert client.reading_paused
    cluster.advance_to(now())
    assert [effect for effect in cluster.take_effects() if not isinstance(effect, Send)] == [ResumeReading(client)]


def test_a_new_client_waits_for_one_busy_client() -> None:
    cluster, order = new_cluster()
    *busy, fresh = (cluster.open_connection(1, "client", now()) for _ in range(101))
    for client in busy:
        cluster.receive(client, ask(1) * 300, now())
    order.clear()
    cluster.receive(fresh, ask(1), now())
    assert order.index(101) <= 16
    assert [order.count(number) for number in set(order)].count(16) >= 3


def test_an_occasional_client_does_not_wait_for_clients_that_begin_with_many_requests() -> None:
    """The waiting clients have not sent anything before either."""
    cluster, order = new_cluster(new_turn=Waiting)
    *busy, quiet = (cluster.open_connection(1, "client", now()) for _ in range(101))
    for client in busy:
        cluster.receive(client, ask(1) * 150, now())
    cluster.receive(quiet, ask(1) * 5, now())
    assert order == []
    cluster.turn.is_open = True  # type: ignore[attr-defined]
    cluster.advance_to(now())
    assert order.index(101) <= 1
    assert Counter(order) == {101: 5} | {client.number: 150 for client in busy}


def test_one_door_serves_all_alike() -> None:
    cluster, order = new_cluster(new_turn=Waiting)
    clients = [cluster.open_connection(1, "client", now()) for _ in range(4)]
    for client in clients:
        cluster.receive(client, ask(1) * 40, now())
    assert order == []
    assert all(client.reading_paused for client in clients)
    cluster.turn.is_open = True  # type: ignore[attr-defined]
    cluster.advance_to(now())
    done = Counter({client.number: 0 for client in clients})
    for number in order[:-40]:
        done[number] += 1
        assert max(done.values()) - min(done.values()) <= 18  # one share, and what came of being fresh
    assert Counter(order) == {client.number: 40 for client in clients}


def test_a_connection_without_a_further_request_is_not_queued() -> None:
    class Full(Turn):
        """A turn that is over after one request."""

        left = 1

        def enter(self) -> None:
            self.left = 1

        def is_over(self) -> bool:
            return self.left == 0

        def handled(self, requests: int, size: int) -> None:
            self.left = 0

    cluster, order = new_cluster(new_turn=Full)
    *busy, quiet = (cluster.open_connection(1, "client", now()) for _ in range(51))
    for client in busy:
        cluster.receive(client, ask(1) * 100, now())
    for _ in range(120):  # until all of them have had their first turn
        cluster.advance_to(now())
    for _ in range(5):  # each of its requests is the next or the one after that
        order.clear()
        cluster.receive(quiet, ask(1), now())
        cluster.advance_to(now())
        assert quiet.number in order
        assert not quiet.reading_paused
        assert not quiet.is_queued


def test_a_large_request_is_a_share_of_its_own() -> None:
    cluster, order = new_cluster()
    one, other = (cluster.open_connection(1, "client", now()) for _ in range(2))
    large = produce("t", acks=1, client_id="x" * 17_000)
    cluster.receive(one, large * 70, now())
    order.clear()
    cluster.receive(other, large * 3, now())
    assert order[:6] == [1, 2, 1, 2, 1, 2]


def test_a_timeout_comes_between_what_others_pipeline() -> None:
    cluster, _ = new_cluster(FROZEN)
    waiter, busy = (cluster.open_connection(1, "client", now()) for _ in range(2))
    cluster.receive(waiter, produce("t", timeout_ms=200, correlation_id=7), now())
    cluster.receive(busy, produce("t", acks=1) * 1_000, now())
    for ms in range(1, 14):  # a turn takes the broker 20 ms
        cluster.advance_to(now(20 * ms))
        answered = sent(cluster, waiter)
        assert answered == ([7] if ms == 10 else [])
    assert has_work(cluster)


def test_timeouts_are_bounded_work_too() -> None:
    cluster, _ = new_cluster(FROZEN)
    for _ in range(200):
        cluster.receive(cluster.open_connection(1, "client", now()), produce("t", timeout_ms=50), now())
    quiet = cluster.open_connection(1, "client", now())
    cluster.take_effects()
    cluster.advance_to(now(50))
    assert len(sends(cluster)) == AT_ONCE
    assert has_work(cluster)
    assert cluster.next_deadline_ms() == now(50).mono_ms
    cluster.receive(quiet, ask(1), now(50))  # and others have their turn meanwhile
    assert sent(cluster, quiet) == [1]
    answers = 0
    while has_work(cluster):
        cluster.advance_to(now(50))
        answers += len(sends(cluster))
    assert answers == 200 - AT_ONCE


# Work in slices.


@contextmanager
def handled_in_slices(cluster: Cluster, slices: int, seen: list[Any] | None = None) -> Iterator[None]:
    """Let every ApiVersions request take so many slices, and record each slice in `seen`."""

    apis: Any = cluster._dispatcher._apis
    before = apis[API_VERSIONS]

    def slow(ctx: RequestContext, request: Any) -> Slices[None]:
        for number in range(slices):
            if seen is not None:
                seen.append((ctx.connection, number, ctx.now.mono_ms - START_MONO_MS))
            yield
        before.handle(ctx, request)

    apis[API_VERSIONS] = with_parts(before, handle=slow)
    try:
        yield
    finally:
        apis[API_VERSIONS] = before


def test_others_are_served_between_two_slices() -> None:
    cluster, _ = new_cluster()
    slow, quick = (cluster.open_connection(1, "client", now()) for _ in range(2))
    with handled_in_slices(cluster, 1_000):
        cluster.receive(slow, ask(1), now())
        assert has_work(cluster)
        cluster.receive(quick, produce("t", acks=1, correlation_id=5), now(1))
        assert sent(cluster, quick) == [5]
        turns = 0
        while has_work(cluster):
            cluster.advance_to(now(2))
            turns += 1
        assert turns == -(-(1_001 - 9 - 8) // SLICES_AT_ONCE) + 1
    assert sent(cluster, slow) == [1]


def test_two_that_take_long_take_turns_and_each_slice_has_its_own_time() -> None:
    cluster, _ = new_cluster()
    clients = [cluster.open_connection(1, "client", now()) for _ in range(2)]
    seen: list[Any] = []
    with handled_in_slices(cluster, 200, seen):
        for client in clients:
            cluster.receive(client, ask(1), now())
        cluster.advance_to(now(30))
        cluster.advance_to(now(60))
        cluster.advance_to(now(90))
    late = [(number, at_ms) for number, _, at_ms in seen if at_ms > 0]
    assert [at_ms for _, at_ms in late] == [30] * SLICES_AT_ONCE + [60] * SLICES_AT_ONCE + [90] * SLICES_AT_ONCE
    assert [number for number, _ in late] in ([1, 2] * 12, [2, 1] * 12)


def test_answers_stay_in_order_behind_one_that_takes_long() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    with handled_in_slices(cluster, 3):
        cluster.receive(client, ask(1) + produce("t", acks=1, correlation_id=2) + ask(3), now())
        while has_work(cluster):
            cluster.advance_to(now())
    assert sent(cluster, client) == [1, 2, 3]


def test_work_whose_peer_has_gone_is_done_all_the_same() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    seen: list[Any] = []
    with handled_in_slices(cluster, 100, seen):
        cluster.receive(client, ask(1), now())
        cluster.connection_lost(client, now())
        while has_work(cluster):
            cluster.advance_to(now())
    assert len(seen) == 100
    assert sent(cluster, client) == []


@pytest.mark.parametrize("starts_again", [False, True])
@pytest.mark.parametrize("gone_before", [False, True])
def test_the_slices_of_a_stopped_broker_are_not_continued(starts_again: bool, gone_before: bool) -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    seen: list[Any] = []
    with handled_in_slices(cluster, 1_000, seen):
        cluster.receive(client, ask(1), now())
        if gone_before:
            cluster.connection_lost(client, now())
        cluster.lives.stop_broker(1, now())
        if starts_again:
            cluster.lives.start_broker(1, now())
        done = len(seen)
        assert done < 1_000
        while has_work(cluster):
            cluster.advance_to(now())
    assert len(seen) == done
    assert client.work is None


def test_slices_after_the_response_do_not_delay_other_connections() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    apis: Any = cluster._dispatcher._apis
    before = apis[API_VERSIONS]

    def goes_on(ctx: RequestContext, request: Any) -> Slices[None]:
        yield
        before.handle(ctx, request)
        yield

    apis[API_VERSIONS] = with_parts(before, handle=goes_on)
    try:
        cluster.receive(client, ask(1) + ask(2) + ask(3), now())
        answers = sent(cluster, client)
        while has_work(cluster):
            cluster.advance_to(now())
            answers += sent(cluster, client)
    finally:
        apis[API_VERSIONS] = before
    assert answers == [1, 2, 3]


def test_an_error_in_a_later_slice_is_answered() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    apis: Any = cluster._dispatcher._apis
    before = apis[API_VERSIONS]

    def fail(ctx: RequestContext, request: Any) -> Slices[None]:
        yield
        raise ValueError("a bug")

    apis[API_VERSIONS] = with_parts(before, handle=fail)
    try:
        cluster.receive(client, ask(9), now())
        while has_work(cluster):
            cluster.advance_to(now())
    finally:
        apis[API_VERSIONS] = before
    answer, bug = cluster.take_effects()
    assert isinstance(answer, Send)
    assert ids(answer.data) == [9]
    assert "ApiVersions" in str(bug)


def test_simulation_does_all_of_it_at_the_same_time() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    client = simulation.connect()
    client.send(*[produce("t", acks=1, correlation_id=number) for number in range(500)])
    assert [(at_ms, Produced(frame).correlation_id) for at_ms, frame in client.answers] == [(0, n) for n in range(500)]
