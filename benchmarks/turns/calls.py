"""The longest turn of each call of the HTTP control, beside a cluster that has very much, and with a large body."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable
from typing import Any

from benchmarks.turns.measured_loop import LoopThread
from benchmarks.turns.requests import Found
from fakebroker.control.cluster_observer import Waits
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.service import Service
from fakebroker.core.journal.events import Answer, Append, PartitionAnswer, Produce, Request
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.server.async_cluster import AsyncFakeCluster

_LIMIT_S = 300.0
_LARGE_BODY = json.dumps({"name": [0] * 340_000}).encode()  # 1,020,012 bytes; a body may have 1 MiB

CALLS: dict[str, tuple[str, Any]] = {  # by operation: the path, and the body
    "GET /metrics": ("/metrics", None),
    "GET /v1/metrics": ("/v1/metrics", None),
    "GET /v1/cluster": ("/v1/cluster", None),
    "GET /v1/brokers": ("/v1/brokers", None),
    "GET /v1/clusters": ("/v1/clusters", None),
    "GET /v1/clock": ("/v1/clock", None),
    "PUT /v1/clock": ("/v1/clock", {"elapsed_ms": 1}),
    "POST /v1/clock/advance": ("/v1/clock/advance", {"ms": 1}),
    "GET /v1/configs": ("/v1/configs", None),
    "PUT /v1/configs": ("/v1/configs", {"configs": {"min.insync.replicas": 2}}),
    "GET /v1/topics": ("/v1/topics", None),
    "GET /v1/topics/{topic}": ("/v1/topics/wide", None),
    "PUT /v1/topics/{topic}/configs": ("/v1/topics/wide/configs", {"configs": {"retention.ms": 1}}),
    "POST /v1/topics/{topic}/compact": ("/v1/topics/wide/compact", {}),
    "PUT /v1/partitions/{topic}/{index}/leader": ("/v1/partitions/wide/0/leader", {"broker": 1}),
    "PUT /v1/partitions/{topic}/{index}/replicas": ("/v1/partitions/wide/0/replicas", {"brokers": [1]}),
    "PUT /v1/followers": ("/v1/followers", {"behaviour": "frozen"}),
    "GET /v1/faults": ("/v1/faults", None),
    "GET /v1/faults/{fault_id}": ("/v1/faults/f1", None),
    "POST /v1/faults": ("/v1/faults", {"do": "drop", "when": {"api": "Produce"}}),
    "POST /v1/faults/{fault_id}/wait": ("/v1/faults/f1/wait", {}),
    "POST /v1/faults/{fault_id}/release": ("/v1/faults/f1/release", {}),
    "DELETE /v1/faults/{fault_id}": ("/v1/faults/f1", None),
    "DELETE /v1/faults": ("/v1/faults", None),
    "GET /v1/journal": ("/v1/journal?topic=none", None),
    "POST /v1/journal/expect": ("/v1/journal/expect", {"error": "REQUEST_TIMED_OUT"}),
    "GET /v1/journal/timeline": ("/v1/journal/timeline?request=1", None),
    "GET /v1/journal/timeline.svg": ("/v1/journal/timeline.svg?request=1", None),
    "GET /v1/purgatory": ("/v1/purgatory", None),
    "POST /v1/purgatory/wait": ("/v1/purgatory/wait", {"count": 1}),
    "GET /v1/quotas": ("/v1/quotas", None),
    "PUT /v1/quotas": ("/v1/quotas", {"client_id": "c1", "producer_byte_rate": 1}),
    "DELETE /v1/quotas": ("/v1/quotas", {"client_id": "c1"}),
    "DELETE /v1/journal": ("/v1/journal", None),
    "DELETE /v1/topics/{topic}": ("/v1/topics/wide", None),
    "POST /v1/brokers/{broker_id}/{action}": ("/v1/brokers/1/stop", {}),
    "POST /v1/topics": ("/v1/topics", {"name": "new"}),
    "POST /v1/reset": ("/v1/reset", {}),
    "GET /v1/events": ("/v1/events?after=0&topic=none", None),  # the head of its answer
}


def fill(hosted: HostedCluster, things: int, requests: int) -> None:
    """Fill a cluster with so many topics, partitions, faults, quotas and parked requests, and so many requests in the
    journal."""
    cluster = hosted.cluster
    replicas = len(cluster.brokers)
    cluster.create_topic("wide", things, replicas)
    for number in range(things):
        cluster.create_topic(f"t{number}", 1, replicas)
        cluster.faults.add(when={"api": "Produce", "topic": f"none{number}"}, do="drop")
        hosted.core.members.client_quotas.alter(QuotaEntity(None, f"c{number}", None), {"producer_byte_rate": 1})
    for number in range(1, requests):
        for event in (
            Request(1, 1, number, 1, 1, "Produce", 9, number, "me", 1, 100),
            Produce(1, 1, number, -1, 500, None, (("t1", 0),)),
            Append(1, 1, number, 1, "t1", 0, "NONE", number, number, False, 0, -1, -1, -1, ("a",)),
            Answer(2, 2, number, 1, "sent", 50, (PartitionAnswer("t1", 0, "NONE", number),)),
        ):
            hosted.told.journal.append(event)
    for number in range(things):
        hosted.told.waits[number] = Waits(number, 1, 1, "Produce", 1, "me", "User:ANONYMOUS", (("t", 0),), 0, 1, 1, 0)


def count(only: str) -> int:
    return sum(1 + (body is not None) for name, (_, body) in CALLS.items() if only in name)


def measure(things: int, requests: int, only: str, tell: Callable[[str], None]) -> list[Found]:
    """Return the results of each call in the order of CALLS, then of each call that has a body, with a large one. The
    cluster has so many topics, partitions, faults, quotas and parked requests, and so many requests in the journal."""
    thread = LoopThread()
    try:
        if not count(only):
            return []
        _measured(thread, 5, 5, only, lambda what: None)  # for what is imported, or made the first time
        return _measured(thread, things, requests, only, tell)
    finally:
        thread.stop()


def _measured(thread: LoopThread, things: int, requests: int, only: str, tell: Callable[[str], None]) -> list[Found]:
    kafka = AsyncFakeCluster(brokers=3, clock="manual")
    service, server = thread.run(_served(kafka, things, requests))
    port = server.sockets[0].getsockname()[1]
    results = []

    def longest_ms(name: str, path: str, body: bytes | None) -> float:
        with thread.measured() as longest:
            _ask(port, name.partition(" ")[0], path, body)
        if "{action}" in name:
            _ask(port, "POST", "/v1/brokers/1/start", b"{}")
        return longest[0]

    try:
        _ask(port, "GET", "/v1/none", None)  # FastAPI makes its routes when it looks for the first one
        chosen = {name: call for name, call in CALLS.items() if only in name}
        for name, (path, body) in chosen.items():
            tell(name)
            sent = None if body is None else json.dumps(body).encode()
            results.append(Found(name, f"{things:,} things", longest_ms(name, path, sent)))
        for name, (path, body) in chosen.items():  # last: POST reset is among them
            if body is not None:
                tell(f"{name}, a large body")
                results.append(Found(name, "body of 1 MiB", longest_ms(name, path, _LARGE_BODY)))
    finally:
        server.close()
        thread.run(_cleared(kafka))
        thread.run(service.stop())
        thread.run(kafka.stop())
    return results


async def _cleared(kafka: AsyncFakeCluster) -> None:
    kafka.faults.clear()  # else each would be named as one that never acted


async def _served(kafka: AsyncFakeCluster, things: int, requests: int) -> tuple[Service, asyncio.Server]:
    await kafka.start()
    service = Service(kafka, "127.0.0.1", None)
    service.listen()
    fill(service.clusters.main, things, requests)
    await kafka.clock.advance(1)  # what comes of it
    return service, await asyncio.get_running_loop().create_server(service.new_protocol, "127.0.0.1", 0)


def _ask(port: int, method: str, path: str, body: bytes | None) -> None:
    """Send a request, and read its answer; of a stream only the head."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LIMIT_S)
    try:
        connection.request(method, path, body, {"Connection": "close"})
        response = connection.getresponse()
        if "event-stream" not in (response.getheader("content-type") or ""):
            response.read()
    finally:
        connection.close()
