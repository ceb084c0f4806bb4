"""Clusters beside the main one, each with a lease."""

from __future__ import annotations

import threading

from support.controlled import Controlled
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import METADATA, Produced, metadata, produce
from support.watchdog import wait_until

from fakebroker.protocol.produce_response import NodeEndpoint


def test_a_cluster_of_its_own(controlled: Controlled) -> None:
    new = {"brokers": 1, "topics": [{"name": "t"}], "clock": "manual"}

    made = controlled.ask("POST", "/v1/clusters", new, status=201)

    here = f"/v1/clusters/{made['id']}"
    broker = made["brokers"][0]
    with RawClient(NodeEndpoint(broker["id"], broker["host"], broker["port"])) as client:
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}
    assert controlled.ask("POST", f"{here}/journal/expect", {"topic": "t", "error": "NONE", "count": 1})["matches"]
    assert [topic["name"] for topic in controlled.get(f"{here}/topics")["topics"]] == ["t"]
    assert controlled.get("/v1/topics")["topics"] == []
    assert controlled.get("/v1/journal")["events"] == []
    assert 'topic="t"' in controlled.http.get(f"{here}/metrics").text
    assert [cluster["id"] for cluster in controlled.get("/v1/clusters")["clusters"]] == [made["id"]]
    controlled.ask("POST", f"{here}/clock/advance", {"ms": 5})
    assert controlled.get("/v1/clock")["elapsed_ms"] == 0
    reset = controlled.ask("POST", f"{here}/reset")
    assert (reset["topics"], reset["clock"]["elapsed_ms"]) == (1, 0)  # the one that it was made with

    controlled.ask("DELETE", here, status=204)

    error = controlled.refused("GET", f"{here}/cluster", status=404)
    assert error["message"] == f"there is no cluster {made['id']!r}: it was deleted, or its lease expired"


def test_a_lease_that_is_over(controlled: Controlled) -> None:
    made = controlled.ask("POST", "/v1/clusters", {"brokers": 1, "lease_ms": 100}, status=201)

    wait_until(lambda: controlled.get("/v1/clusters")["clusters"] == [], "the end of the lease")

    controlled.refused("PUT", f"/v1/clusters/{made['id']}", {"lease_ms": 100}, status=404)


def test_a_call_keeps_a_cluster_for_as_long_as_it_lasts(controlled: Controlled) -> None:
    made = controlled.ask("POST", "/v1/clusters", {"brokers": 1, "lease_ms": 100}, status=201)
    waits: list[bool] = []
    body = {"count": 1, "timeout_wall_ms": 400}
    path = f"/v1/clusters/{made['id']}/purgatory/wait"
    waiting = threading.Thread(target=lambda: waits.append(controlled.ask("POST", path, body)["matches"]))
    waiting.start()
    waiting.join()

    assert waits == [False]


def test_a_lease_is_renewed(controlled: Controlled) -> None:
    made = controlled.ask("POST", "/v1/clusters", {"brokers": 1, "lease_ms": 100_000}, status=201)

    renewed = controlled.ask("PUT", f"/v1/clusters/{made['id']}", {"lease_ms": 200_000})

    assert (made["lease_ms"], renewed["lease_ms"]) == (100_000, 200_000)


def test_a_cluster_that_cannot_be_made_leaves_nothing(controlled: Controlled) -> None:
    for new, status, code in (
        ({"followers": "asleep"}, 422, "INVALID_ARGUMENT"),
        ({"config": {"min.insync.replicas": "many"}}, 400, "INVALID_CONFIG"),
        ({"topics": [{"name": "t"}, {"name": "t"}]}, 409, "TOPIC_ALREADY_EXISTS"),
        ({"racks": {"x": "a"}}, 422, "INVALID_BODY"),
        ({"topics": [{"nane": "t"}]}, 422, "INVALID_BODY"),
    ):
        assert controlled.refused("POST", "/v1/clusters", new, status=status)["code"] == code
    assert controlled.get("/v1/clusters")["clusters"] == []


def test_clusters_share_no_ids_unless_they_are_first_lives(controlled: Controlled) -> None:
    """A cluster shares no id with its next life after a reset either."""

    def ids(life: dict[str, str]) -> list[tuple[str, str]]:
        ids_ = []
        made = controlled.ask("POST", "/v1/clusters", {"brokers": 1, "topics": [{"name": "t"}], **life}, status=201)
        broker, here = made["brokers"][0], f"/v1/clusters/{made['id']}"
        for _ in range(2):
            with RawClient(NodeEndpoint(broker["id"], broker["host"], broker["port"])) as client:
                _, answer = decode_response(METADATA, 12, client.ask(metadata(["t"])))
            ids_.append((answer.cluster_id, str(answer.topics[0].topic_id)))
            controlled.ask("POST", f"{here}/reset")
        controlled.ask("DELETE", here, status=204)
        return ids_

    assert len({id_ for pair in ids({}) + ids({}) for id_ in pair}) == 8
    assert ids({"life": "first"}) == ids({"life": "first"})
