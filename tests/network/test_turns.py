"""The work of a call of the cluster is bounded, connections take turns, and timers run in between (network/turn.py).

A door is such a call: bytes received, time advanced, connection opened or closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
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

AT_ONCE = 64  # requests that one door handles
SLICES_AT_ONCE = 8  # slices of long requests that one door handles
API_VERSIONS = 18


def now(ms: int = 0) -> Now:
    return Now(START_MONO_MS + ms, START_WALL_MS + ms)


def ask(correlation_id: int) -> bytes:
    return api_versions(correlation_id=correlation_id)


def new_cluster(
    followers: Behaviour = INSTANT, new_turn: type[Turn] = Turn, **config: str
) -> tuple[Cluster, list[int]]:
    """Return a cluster, and a list that gets the number of the connection for each handled request, in order."""
    cluster = Cluster(now(), config=BrokerConfig().with_text(config), followers=followers, new_turn=new_turn)
    cluster.admin.create_topic(NewTopic("t", 1, 3), now())
    order: list[int] = []
    cluster.on_handling = order.append
    return cluster, order


def ids(frames: bytes) -> list[int]:
    """Return the correlation ids of consecutive response frames."""
    correlation_ids, start = [], 0
    while start < len(frames):
        correlation_ids.append(int.from_bytes(frames[start + 4 : start + 8], "big"))
        start += 4 + int.from_bytes(frames[start : start + 4], "big")
    return correlation_ids


def sent(cluster: Cluster, connection: Connection) -> list[int]:
    """Take the effects of the cluster, and return the correlation ids of the responses on this connection."""
    return ids(b"".join(effect.data for effect in sends(cluster) if effect.connection is connection))


def has_work(cluster: Cluster) -> bool:
    """Return `cluster.has_work`. Unlike for the property itself, mypy does not take it for unchanged."""
    return cluster.has_work


def sends(cluster: Cluster) -> list[Send]:
    return [effect for effect in cluster.take_effects() if isinstance(effect, Send)]


def finish_work(cluster: Cluster, at: Now) -> None:
    while has_work(cluster):
        cluster.advance_to(at)


def test_a_door_handles_a_limited_number_of_requests_and_reports_that_there_are_more() -> None:
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


def test_a_door_handles_a_limited_number_of_bytes() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    large = produce("t", acks=1, client_id="x" * 30_000)
    cluster.receive(client, large * 60, now())
    assert len(sent(cluster, client)) == -(-1_048_576 // (len(large) - 4))
    assert has_work(cluster)


class Waiting(Turn):
    """A turn in which no request is handled until a test sets `is_open`."""

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


def test_a_new_client_waits_for_the_share_of_one_busy_client() -> None:
    cluster, order = new_cluster()
    *busy, fresh = (cluster.open_connection(1, "client", now()) for _ in range(101))
    for client in busy:
        cluster.receive(client, ask(1) * 300, now())
    order.clear()
    cluster.receive(fresh, ask(1), now())
    assert order.index(101) <= 16
    assert [order.count(number) for number in set(order)].count(16) >= 3


def test_an_occasional_client_does_not_wait_for_clients_that_begin_with_many_requests() -> None:
    """The busy clients are as new as the occasional one."""
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


def test_connections_get_equal_shares_of_a_door() -> None:
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
        assert max(done.values()) - min(done.values()) <= 18  # one share of 16, and the first requests of a new client
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
    for _ in range(5):  # the request of the quiet client is the next one, or the one after that
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


def test_a_request_times_out_in_time_while_another_client_pipelines() -> None:
    cluster, _ = new_cluster(FROZEN)
    waiter, busy = (cluster.open_connection(1, "client", now()) for _ in range(2))
    cluster.receive(waiter, produce("t", timeout_ms=200, correlation_id=7), now())
    cluster.receive(busy, produce("t", acks=1) * 1_000, now())
    for turn in range(1, 14):  # each turn takes 20 ms
        cluster.advance_to(now(20 * turn))
        assert sent(cluster, waiter) == ([7] if turn == 10 else [])
    assert has_work(cluster)


def test_a_door_expires_a_limited_number_of_requests() -> None:
    cluster, _ = new_cluster(FROZEN)
    for _ in range(200):
        cluster.receive(cluster.open_connection(1, "client", now()), produce("t", timeout_ms=50), now())
    quiet = cluster.open_connection(1, "client", now())
    cluster.take_effects()
    cluster.advance_to(now(50))
    assert len(sends(cluster)) == AT_ONCE
    assert has_work(cluster)
    assert cluster.next_deadline_ms() == now(50).mono_ms
    cluster.receive(quiet, ask(1), now(50))  # a new request is handled before the rest
    assert sent(cluster, quiet) == [1]
    answers = 0
    while has_work(cluster):
        cluster.advance_to(now(50))
        answers += len(sends(cluster))
    assert answers == 200 - AT_ONCE


# Work in slices.


Handler = Callable[[RequestContext, Any], Any]


@contextmanager
def api_versions_handled_by(cluster: Cluster, new_handler: Callable[[Handler], Handler]) -> Iterator[None]:
    """Replace the handler of ApiVersions during the block. `new_handler` gets the original one."""
    apis: Any = cluster._dispatcher._apis
    original = apis[API_VERSIONS]
    apis[API_VERSIONS] = with_parts(original, handle=new_handler(original.handle))
    try:
        yield
    finally:
        apis[API_VERSIONS] = original


@contextmanager
def handled_in_slices(cluster: Cluster, slices: int, seen: list[Any] | None = None) -> Iterator[None]:
    """Let every ApiVersions request take this many slices. Add connection, slice and time of each slice to `seen`."""

    def new_handler(handle: Handler) -> Handler:
        def slow(ctx: RequestContext, request: Any) -> Slices[None]:
            for number in range(slices):
                if seen is not None:
                    seen.append((ctx.connection, number, ctx.now.mono_ms - START_MONO_MS))
                yield
            handle(ctx, request)

        return slow

    with api_versions_handled_by(cluster, new_handler):
        yield


def test_a_request_is_handled_between_two_slices_of_another() -> None:
    cluster, _ = new_cluster()
    slow, quick = (cluster.open_connection(1, "client", now()) for _ in range(2))
    seen: list[Any] = []
    with handled_in_slices(cluster, 1_000, seen):
        cluster.receive(slow, ask(1), now())
        assert has_work(cluster)
        cluster.receive(quick, produce("t", acks=1, correlation_id=5), now(1))
        assert sent(cluster, quick) == [5]
        assert len(seen) == 9 + 8
        steps_left = 1_000 - len(seen) + 1  # the last step sends the response
        turns = 0
        while has_work(cluster):
            cluster.advance_to(now(2))
            turns += 1
        assert turns == -(-steps_left // SLICES_AT_ONCE) + 1  # the last turn finds nothing left
    assert sent(cluster, slow) == [1]


def test_slices_of_two_requests_alternate_and_have_the_time_of_their_turn() -> None:
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


def test_responses_are_in_order_when_the_first_request_takes_several_slices() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    with handled_in_slices(cluster, 3):
        cluster.receive(client, ask(1) + produce("t", acks=1, correlation_id=2) + ask(3), now())
        finish_work(cluster, now())
    assert sent(cluster, client) == [1, 2, 3]


def test_the_slices_of_a_request_go_on_after_its_client_has_disconnected() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())
    seen: list[Any] = []
    with handled_in_slices(cluster, 100, seen):
        cluster.receive(client, ask(1), now())
        cluster.connection_lost(client, now())
        finish_work(cluster, now())
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
        finish_work(cluster, now())
    assert len(seen) == done
    assert client.work is None


def test_a_slice_after_the_response_does_not_stop_the_requests_that_follow() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())

    def new_handler(handle: Handler) -> Handler:
        def respond_in_the_middle(ctx: RequestContext, request: Any) -> Slices[None]:
            yield
            handle(ctx, request)
            yield

        return respond_in_the_middle

    with api_versions_handled_by(cluster, new_handler):
        cluster.receive(client, ask(1) + ask(2) + ask(3), now())
        finish_work(cluster, now())
    assert sent(cluster, client) == [1, 2, 3]


def test_a_bug_in_a_later_slice_gets_a_response_and_is_reported() -> None:
    cluster, _ = new_cluster()
    client = cluster.open_connection(1, "client", now())

    def fail(ctx: RequestContext, request: Any) -> Slices[None]:
        yield
        raise ValueError("a bug")

    with api_versions_handled_by(cluster, lambda handle: fail):
        cluster.receive(client, ask(9), now())
        finish_work(cluster, now())
    answer, bug = cluster.take_effects()
    assert isinstance(answer, Send)
    assert ids(answer.data) == [9]
    assert "ApiVersions" in str(bug)


def test_a_simulation_handles_all_pipelined_requests_at_the_same_time() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    client = simulation.connect()
    client.send(*[produce("t", acks=1, correlation_id=number) for number in range(500)])
    assert [(at_ms, Produced(frame).correlation_id) for at_ms, frame in client.answers] == [(0, n) for n in range(500)]
