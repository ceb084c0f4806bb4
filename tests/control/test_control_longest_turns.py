"""The longest turn of each HTTP call does not grow with what the cluster has: function calls are counted.

Theory   A turn is one round of the event loop. Two sizes are compared. A path that is new has to be named here.
Limits   What is done in C, or in a loop that calls nothing, is not seen: a list that is copied, the search for a time
         line. The bodies are small.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from support.http_peers import Client, a_service, post, work
from support.slices import calls_of

from benchmarks.turns.calls import CALLS, fill
from fakebroker.control.app import _NOWHERE, new_api
from fakebroker.control.clusters import Clusters
from fakebroker.control.service import Service
from fakebroker.network.turn import Turn
from fakebroker.server.async_cluster import AsyncFakeCluster

SIZES = ((1_200, 4_200), (4_800, 16_800))  # the small one has more than slices of one turn take
MORE = 1.5  # times as many calls in a turn at four times the size: what is sorted, or in a set, is a little more
# The small size has less than one turn takes: 8 slices of 512 responses, with five calls for each response.
MOST = {"POST /v1/journal/expect": 8 * 512 * 5 + 1_000}

ELSEWHERE = {
    "GET /v1/groups": "groups are made by clients alone",
    "GET /v1/groups/{group_id}": "groups are made by clients alone",
    "POST /v1/groups/wait": "groups are made by clients alone",
    "GET /v1/transactions": "transactions are made by clients alone",
    "GET /v1/tls": "certificates do not depend on what the cluster has",
    "PUT /v1/tls": "certificates do not depend on what the cluster has",
    "POST /v1/tls/certificates": "certificates do not depend on what the cluster has",
    "GET /v1/oauth/jwks": "the key does not depend on what the cluster has",
    "POST /v1/oauth/tokens": "a token does not depend on what the cluster has",
    "POST /v1/client-settings": "it has the addresses of the brokers alone",
    "GET /v1/acls": "it needs an authorizer: test_control_access.py counts its slices",
    "POST /v1/acls": "it needs an authorizer, and takes one ACL",
    "DELETE /v1/acls": "it needs an authorizer: test_control_access.py counts its slices",
    "GET /v1/users": "users are made by this control, and do not come with topics or requests",
    "PUT /v1/users": "users are made by this control, and do not come with topics or requests",
    "DELETE /v1/users": "users are made by this control, and do not come with topics or requests",
    "POST /v1/sessions/expire": "it looks at open connections of SASL alone",
    "POST /v1/clusters": "a cluster of its own",
    "PUT /v1/clusters/{cluster_id}": "a cluster of its own",
    "DELETE /v1/clusters/{cluster_id}": "a cluster of its own",
}


class Calls:
    """The number of function calls in the longest turn, those of C included."""

    def __init__(self) -> None:
        self.longest = self._now = 0

    def next_turn(self) -> None:
        self.longest = max(self.longest, self._now)
        self._now = 0

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        self._now += event in ("call", "c_call")

    @contextmanager
    def counted(self) -> Iterator[None]:
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.next_turn()


class Loop(asyncio.SelectorEventLoop):
    """A loop that reports when it begins a turn."""

    calls: Calls | None = None

    def _run_once(self) -> None:
        if self.calls is not None:
            self.calls.next_turn()
        super()._run_once()  # type: ignore[misc]


async def longest_turns(things: int, requests: int) -> dict[str, int]:
    longest: dict[str, int] = {}
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    async with a_service() as service:
        hosted = service.clusters.main
        fill(hosted, things, requests)
        await hosted.cluster.clock.advance(1)  # what comes of it
        await work()
        for name, (path, body) in CALLS.items():
            hosted.work._turn = Turn()
            loop.calls = Calls()
            with loop.calls.counted():
                await asked(service, name, path, body)
            longest[name], loop.calls = loop.calls.longest, None
            if name == "POST /v1/brokers/{broker_id}/{action}":
                await asked(service, name, "/v1/brokers/1/start", {})
        await service.stop()
    return longest


async def asked(service: Service, name: str, path: str, body: Any) -> None:
    method = name.partition(" ")[0].encode()
    request = post(path.removeprefix("/v1/"), body or {}).replace(b"POST", method, 1)
    client = Client(service, request if path.startswith("/v1/") else request.replace(b"/v1//", b"/", 1))
    while not client.received:
        await asyncio.sleep(0)
    client.abort()
    await work()


def all_operations() -> set[str]:
    paths = new_api(Clusters(AsyncFakeCluster())).openapi()["paths"]
    return {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method in methods
        if not path.startswith("/v1/clusters/{cluster_id}/")
    }


def test_each_call_is_named() -> None:
    assert CALLS.keys() | ELSEWHERE.keys() == all_operations()
    assert not CALLS.keys() & ELSEWHERE.keys()


@pytest.mark.nightly  # every day: tests/control/test_control_bounded.py
def test_the_longest_turn_of_a_call_does_not_grow() -> None:
    longest = []
    for size in ((5, 5), *SIZES):  # first for what is imported, or made the first time
        with asyncio.Runner(loop_factory=Loop) as runner:
            longest.append(runner.run(longest_turns(*size)))
    _, small, large = longest
    grown = {
        name: (small[name], large[name]) for name in CALLS if large[name] > max(MORE * small[name], MOST.get(name, 0))
    }

    assert grown == {}


def test_the_routes_are_made_in_turns_at_the_first_request() -> None:
    """Each service has its own routes. Imports at the first request do not count."""

    async def first_request() -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        longest = []
        async with a_service() as service:
            for _ in range(2):
                loop.calls = Calls()
                with loop.calls.counted():
                    await asked(service, "GET /v1/clock", "/v1/clock", None)
                longest.append(loop.calls.longest)
                loop.calls = None
            await service.stop()
        return longest[0], longest[1]

    for _ in range(2):
        with asyncio.Runner(loop_factory=Loop) as runner:
            first, second = runner.run(first_request())
    routes = new_api(Clusters(AsyncFakeCluster())).routes
    all_at_once = calls_of(lambda: [part.matches(_NOWHERE) for part in routes])
    assert second < first < 0.7 * all_at_once
