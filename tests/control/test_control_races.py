"""Calls of the HTTP control that change the cluster at the same time, beside producers that live on: each is made or
refused in a sentence, none hangs, and none fails since another one was half done."""

from __future__ import annotations

import asyncio
import threading
from itertools import islice
from random import Random
from typing import Any

import httpx
import pytest
from support.controlled import Controlled
from support.doses import count, nightly_after
from support.ports import free_ports
from support.racing import CALLERS, OF_BROKERS, TOPIC, Producers, drawn, race
from support.serving import Serving
from support.watchdog import LIMIT_S, join, run

from fakebroker.control.bodies import NewCluster
from fakebroker.control.clusters import Clusters
from fakebroker.control.toxiproxy.proxies import Proxies
from fakebroker.core.journal.events import TopicCreated
from fakebroker.server.async_cluster import AsyncFakeCluster

CALLS = count(20, 40)  # of each caller in a round, which the watchdog looks at
ROUNDS = count(1, 15)


PARTITIONS = (300, 3)  # by seed: more than a slice of a change of brokers, and fewer


READS = (
    *(
        f"/v1/{name}"
        for name in ("brokers", "cluster", "clusters", "configs", "faults", "groups", "journal", "purgatory")
    ),
    *(f"/v1/{name}" for name in ("quotas", "timeline?request=1", "topics", f"topics/{TOPIC}", "transactions")),
    "/metrics",
)


def request(partitions: int, what: str, broker: int, does: str) -> tuple[str, str, Any]:
    """Method, path and body of a change."""
    if what in OF_BROKERS:
        return "POST", f"/v1/brokers/{broker}/{what}", None
    do = "NOT_ENOUGH_REPLICAS" if does == "UNKNOWN" else does
    return {
        "reset": ("POST", "/v1/reset", None),
        "fault": ("POST", "/v1/faults", {"when": {"api": "Produce"}, "do": do}),
        "faults": ("DELETE", "/v1/faults", None),
        "topic": ("POST", "/v1/topics", {"name": TOPIC, "partitions": partitions, "replication_factor": 3}),
        "delete": ("DELETE", f"/v1/topics/{TOPIC}", None),
    }[what]


def client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=LIMIT_S, trust_env=False, verify=False)


@pytest.mark.parametrize("seed", nightly_after(1, range(4)))
def test_each_change_is_made_or_refused_in_a_sentence(seed: int) -> None:
    partitions = PARTITIONS[seed % 2]
    with Serving("--port", "0", "--control-port", "0", "--topic", f"{TOPIC}:{partitions}:3") as serving:
        changes = [drawn(f"{seed} {number}") for number in range(CALLERS)]
        reads = [Random(f"{seed} {number} reads") for number in range(CALLERS)]
        url, ports = serving.facts["control_url"], [broker["port"] for broker in serving.facts["brokers"]]

        def call(number: int) -> None:
            with client(url) as http:
                for change in islice(changes[number], CALLS):
                    method, path, body = request(partitions, *change)
                    answers = http.request(method, path, json=body), http.get(reads[number].choice(READS))
                    for answer in answers:
                        assert answer.status_code < 500, (change, answer.url, answer.text)
                        if answer.status_code >= 400:
                            assert answer.json()["error"]["message"], change

        with Producers(serving.facts["bootstrap_servers"]):
            for _ in range(ROUNDS):
                race(call)
        with client(url) as http:
            after = http.post("/v1/reset").json()
            assert [(broker["state"], broker["port"]) for broker in after["brokers"]] == [
                ("running", port) for port in ports
            ]
            assert [topic["name"] for topic in http.get("/v1/topics").json()["topics"]] == [TOPIC]
        serving.end()
        said = serving.process.stderr
        assert said is not None
        assert "Traceback" not in said.read()


def test_a_reset_is_done_with_the_topics_before_any_client_comes() -> None:
    """Running clients connect again at once, and create topics that they miss."""
    with (
        Serving("--port", "0", "--control-port", "0", "--topic", f"{TOPIC}:3:3") as serving,
        Producers(serving.facts["bootstrap_servers"]),
        client(serving.facts["control_url"]) as http,
    ):
        for _ in range(count(20, 300)):
            answer = http.post("/v1/reset")
            assert answer.status_code == 200, answer.text
            topic = http.get(f"/v1/topics/{TOPIC}").json()
            assert len(topic["partitions"]) == 3, "as the option says, not as brokers make it for a client"


def test_a_reset_cluster_always_has_its_topics() -> None:
    """A client may come in any turn, so the cluster is checked in each turn of its loop."""
    with Controlled() as controlled:
        made = controlled.ask("POST", "/v1/clusters", {"topics": [{"name": TOPIC}]}, status=201)["id"]
        hosted, _ = controlled.clusters._find(made)
        is_over, ids = threading.Event(), set()

        async def look() -> None:
            while not is_over.is_set():
                topic = hosted.core.metadata.topic(TOPIC)
                ids.add(None if topic is None else topic.topic_id)
                await asyncio.sleep(0)

        looking = threading.Thread(target=lambda: controlled.kafka._await(look()))
        looking.start()
        try:
            for _ in range(5):
                controlled.ask("POST", f"/v1/clusters/{made}/reset")
        finally:
            is_over.set()
            join(looking)

    assert None not in ids
    assert len(ids) == 6, "each reset was seen"


def test_a_start_is_done_with_the_topics_before_any_client_comes() -> None:
    port = free_ports(3)
    with Producers(f"127.0.0.1:{port}"):
        for _ in range(count(3, 20)):
            with Serving("--port", str(port), "--no-control", "--topic", f"{TOPIC}:3:3"):
                pass


def test_a_cluster_that_is_deleted_while_it_is_changed_is_told_to_be_gone() -> None:
    with Controlled() as controlled:
        for _ in range(count(5, 50)):
            here = f"/v1/clusters/{controlled.ask('POST', '/v1/clusters', {}, status=201)['id']}"
            paths = ["POST /reset", "POST /brokers/1/stop", "POST /brokers/1/start", "GET /cluster", "DELETE "]

            def call(number: int, here: str = here, paths: list[str] = paths) -> None:
                method, path = paths[number].split(" ")
                with client(controlled.control.url) as http:
                    for _ in range(3):
                        answer = http.request(method, f"{here}{path}")
                        assert answer.status_code in (200, 204, 404), answer.text
                        if answer.status_code == 404:
                            assert "it was deleted, or its lease expired" in answer.json()["error"]["message"]

            race(call, len(paths))
        assert controlled.get("/v1/clusters")["clusters"] == []


def test_the_clock_is_set_by_one_caller_after_the_other() -> None:
    with Controlled(clock="manual") as controlled:

        def call(number: int) -> None:
            with client(controlled.control.url) as http:
                for step in range(10):
                    wanted_ms = 1_000 * step + number
                    answer = http.put("/v1/clock", json={"elapsed_ms": wanted_ms})
                    if answer.status_code == 200:
                        assert answer.json()["elapsed_ms"] >= wanted_ms
                    else:
                        assert "a clock does not go back" in answer.json()["error"]["message"]

        race(call)
        assert controlled.get("/v1/clock")["elapsed_ms"] == 9_005


def test_a_cluster_outside_http_begins_as_one_inside() -> None:
    """A reset from Python creates the topics of `POST clusters`, and its events are recorded from the first on."""

    async def events() -> list[str]:
        async with AsyncFakeCluster() as main:
            clusters = Clusters(main)
            hosted = await clusters.make(NewCluster.model_validate({"topics": [{"name": TOPIC}]}))
            await hosted.cluster.reset()
            topics = [event.topic for event in hosted.journal if isinstance(event, TopicCreated)]
            await clusters.close()
            return topics

    assert run(events()) == [TOPIC]


def test_a_port_of_toxiproxy_is_kept_while_its_proxy_is_disabled() -> None:
    async def work() -> None:
        proxies = Proxies()
        proxy = await proxies.create({"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1"})
        for change in ({"enabled": False}, {"upstream": "127.0.0.1:2"}, {"enabled": True}):
            await proxies.update(proxy, change)
            with pytest.raises(Exception, match="in use"):
                await proxies.create({"name": "q", "listen": proxy.listen, "upstream": "127.0.0.1:1"})
        await proxies.delete("p")
        assert (await proxies.create({"name": "q", "listen": proxy.listen, "upstream": "127.0.0.1:1"})).enabled
        await proxies.close()

    run(work())
