"""toxiproxy's API, and what its toxics do to a client of the brokers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from time import monotonic
from typing import Any

import httpx
import pytest
from support.command_line import run
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import METADATA, Produced, metadata, produce
from support.serving import Serving
from support.watchdog import LIMIT_S, wait_until

from fakebroker.protocol.produce_response import NodeEndpoint


class Toxic:
    """A cluster behind proxies, and a client of their API."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        self.url = serving.facts["toxiproxy_url"]

    def ask(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        answer = httpx.request(method, self.url + path, json=body, timeout=LIMIT_S, trust_env=False, verify=False)
        assert answer.status_code == status, answer.text
        assert not answer.content or answer.content.endswith(b"\n")
        return answer.json() if answer.content else None

    def add(self, kind: str, stream: str = "", toxicity: float = 1.0, proxy: int = 1, **attributes: int) -> Any:
        body = {"name": "", "type": kind, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        return self.ask("POST", f"/proxies/kafka{proxy}/toxics", body)

    def client(self, broker: int = 1) -> RawClient:
        return RawClient(self.serving.endpoint(broker))

    def seconds(self, client: RawClient) -> float:
        begun = monotonic()
        assert Produced(client.ask(produce("t"))).partitions[0][0] == 0
        return monotonic() - begun


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with Serving("--port", "0", "--topic", "t=[[1,2,3]]", "--toxiproxy-port", "0", "--control-port", "0") as running:
        yield running


@pytest.fixture
def toxic(serving: Serving) -> Iterator[Toxic]:
    made = Toxic(serving)
    yield made
    made.ask("POST", "/reset", status=204)
    assert all(proxy["enabled"] and not proxy["toxics"] for proxy in made.ask("GET", "/proxies").values())


def test_a_proxy_stands_before_each_broker_and_clients_are_told_of_it(toxic: Toxic) -> None:
    proxies = toxic.ask("GET", "/proxies")

    listened = {proxy["listen"] for proxy in proxies.values()}
    assert list(proxies) == ["kafka1", "kafka2", "kafka3"]
    assert listened == set(toxic.serving.facts["bootstrap_servers"].split(","))
    with toxic.client() as client:
        _, answer = decode_response(METADATA, 12, client.ask(metadata(None)))
    assert {f"{broker.host}:{broker.port}" for broker in answer.brokers} == listened
    assert not listened & {proxy["upstream"] for proxy in proxies.values()}


def test_they_still_do_after_a_reset_of_the_cluster(toxic: Toxic) -> None:
    url = toxic.serving.facts["control_url"]
    assert httpx.post(f"{url}/v1/reset", trust_env=False, verify=False).status_code == 200

    servers = httpx.get(f"{url}/v1/cluster", trust_env=False, verify=False).json()["bootstrap_servers"]

    assert servers == toxic.serving.facts["bootstrap_servers"]
    with toxic.client() as client:
        toxic.seconds(client)


def test_latency(toxic: Toxic) -> None:
    with toxic.client() as client:
        assert toxic.add("latency", latency=150) == {
            "attributes": {"latency": 150, "jitter": 0},
            "name": "latency_downstream",
            "type": "latency",
            "stream": "downstream",
            "toxicity": 1.0,
        }
        assert toxic.seconds(client) >= 0.15  # it was open before
        toxic.ask("PATCH", "/proxies/kafka1/toxics/latency_downstream", {"attributes": {"latency": 1}})
        toxic.ask("DELETE", "/proxies/kafka1/toxics/latency_downstream", status=204)
        assert toxic.ask("GET", "/proxies/kafka1/toxics") == []


def test_reset_peer(toxic: Toxic) -> None:
    with toxic.client() as client:
        toxic.add("reset_peer", timeout=0)
        with pytest.raises(ConnectionResetError):
            client.ask(produce("t"))
    with toxic.client(2) as client:  # the others are well
        client.ask(metadata(None))


def test_timeout_without_an_end_drops_all_until_it_is_removed(toxic: Toxic) -> None:
    with toxic.client() as client:
        toxic.add("timeout", timeout=0)
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.ask(produce("t"))
        client.socket.settimeout(LIMIT_S)
        toxic.ask("DELETE", "/proxies/kafka1/toxics/timeout_downstream", status=204)
        assert client.is_closed_by_broker()


def test_timeout_closes_when_it_is_over(toxic: Toxic) -> None:
    with toxic.client() as client:
        toxic.add("timeout", timeout=20)
        client.send(produce("t"))
        assert client.is_closed_by_broker()


def test_limit_data_cuts_in_the_middle_of_an_answer(toxic: Toxic) -> None:
    toxic.add("limit_data", bytes=10)
    with toxic.client() as client:
        client.send(metadata(None))
        received = b""
        while part := client.socket.recv(100):
            received += part
    assert len(received) == 10


def test_bandwidth_and_slicer(toxic: Toxic) -> None:
    with toxic.client() as client:
        toxic.add("bandwidth", stream="upstream", rate=1)
        assert toxic.seconds(client) >= 0.1  # 108 bytes and more, at 1 KB a second
        toxic.ask("POST", "/reset", status=204)
        toxic.add("slicer", average_size=10, size_variation=3, delay=100)
        toxic.seconds(client)


def test_slow_close(toxic: Toxic) -> None:
    toxic.add("slow_close", stream="upstream", delay=50)
    url = toxic.serving.facts["control_url"]

    def connections() -> int:
        brokers = httpx.get(f"{url}/v1/cluster", trust_env=False, verify=False).json()["brokers"]
        return int(brokers[0]["connections"])

    wait_until(lambda: connections() == 0, "the end of those before")
    with toxic.client():
        wait_until(lambda: connections() == 1, "the connection")
    wait_until(lambda: connections() == 0, "its end, later")


def test_toxicity(toxic: Toxic) -> None:
    toxic.add("reset_peer", toxicity=0.0, timeout=0)
    with toxic.client() as client:
        toxic.seconds(client)


def test_a_proxy_that_is_disabled_refuses_and_drops_and_is_there_again_on_its_port(toxic: Toxic) -> None:
    endpoint = toxic.serving.endpoint(1)
    before = toxic.ask("GET", "/proxies/kafka1")
    with toxic.client() as client:
        disabled = toxic.ask("POST", "/proxies/kafka1", before | {"enabled": False})
        assert disabled == before | {"enabled": False}
        assert client.is_closed_by_broker()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((endpoint.host, endpoint.port), timeout=LIMIT_S)

    assert toxic.ask("PATCH", "/proxies/kafka1", {"enabled": True}) == before

    with toxic.client() as client:
        toxic.seconds(client)


def test_a_proxy_that_a_client_creates(toxic: Toxic) -> None:
    upstream = toxic.ask("GET", "/proxies/kafka1")["upstream"]

    made = toxic.ask("POST", "/proxies", {"name": "mine", "upstream": upstream, "listen": "127.0.0.1:0"}, status=201)

    host, _, port = made["listen"].rpartition(":")
    with RawClient(NodeEndpoint(1, host, int(port))) as client:
        toxic.seconds(client)
    toxic.ask("DELETE", "/proxies/mine", status=204)
    listed = [{"name": "many", "upstream": upstream}, {"name": "more", "upstream": upstream, "enabled": False}]
    assert len(toxic.ask("POST", "/populate", listed, status=201)["proxies"]) == 2
    toxic.ask("DELETE", "/proxies/many", status=204)
    toxic.ask("DELETE", "/proxies/more", status=204)


def test_an_upstream_that_is_not_there(toxic: Toxic) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    made = toxic.ask("POST", "/proxies", {"name": "none", "upstream": f"127.0.0.1:{port}"}, status=201)
    host, _, listened = made["listen"].rpartition(":")
    with RawClient(NodeEndpoint(1, host, int(listened))) as client:
        assert client.is_closed_by_broker()
    toxic.ask("DELETE", "/proxies/none", status=204)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", "/proxies/kafka9", None, 404, "proxy not found"),
        ("POST", "/proxies", {"upstream": "a:1"}, 400, "missing required field: name"),
        ("POST", "/proxies", {"name": "a"}, 400, "missing required field: upstream"),
        ("POST", "/proxies", {"name": "kafka1", "upstream": "a:1"}, 409, "proxy already exists"),
        (
            "POST", "/proxies", {"name": "a", "upstream": "a"}, 400,
            "bad request body: 'a' is no address, as in 127.0.0.1:9092",
        ),
        ("POST", "/proxies", [], 400, "bad request body: an object"),
        ("POST", "/proxies/kafka1", {"enabled": 1}, 400, "bad request body: enabled is true or false"),
        ("POST", "/proxies/kafka1/toxics", {"type": "magic"}, 400, "invalid toxic type"),
        (
            "POST", "/proxies/kafka1/toxics", {"type": "latency", "stream": "up"}, 400,
            "stream was invalid, can be either upstream or downstream",
        ),
        (
            "POST", "/proxies/kafka1/toxics", {"type": "latency", "attributes": {"latency": "1"}}, 400,
            "bad request body: latency is a whole number of at least 0",
        ),
        (
            "POST", "/proxies/kafka1/toxics", {"type": "latency", "toxicity": 2}, 400,
            "bad request body: toxicity is a number from 0 to 1",
        ),
        ("DELETE", "/proxies/kafka1/toxics/a", None, 404, "toxic not found"),
        ("GET", "/nothing", None, 404, "Not Found"),
        ("POST", "/populate", {}, 400, "bad request body: a list of proxies"),
    ],
)  # fmt: skip
def test_errors_are_toxiproxys(toxic: Toxic, method: str, path: str, body: object, status: int, error: str) -> None:
    assert toxic.ask(method, path, body, status) == {"error": error, "status": status}


def test_a_toxic_of_that_name_is_there(toxic: Toxic) -> None:
    toxic.add("latency")
    body = {"type": "latency"}
    assert toxic.ask("POST", "/proxies/kafka1/toxics", body, 409)["error"] == "toxic already exists"
    assert toxic.ask("GET", "/proxies/kafka1/toxics/latency_downstream")["attributes"]["latency"] == 0
    assert toxic.ask("GET", "/version")["version"].startswith("2.")


def test_leader_epochs_do_not_begin_at_0_on_a_port_that_the_user_named() -> None:
    """Clients may know the proxy from an earlier cluster, and would treat a lower leader epoch as stale."""
    port = free_ports(1)
    with Serving("--port", str(port), "--brokers", "1", "--topic", "t", "--toxiproxy-port", "0") as serving:
        assert serving.facts["bootstrap_servers"] == f"127.0.0.1:{port}"
        with RawClient(serving.endpoint(1)) as client:
            _, answer = decode_response(METADATA, 12, client.ask(metadata(["t"])))
    assert answer.topics[0].partitions[0].leader_epoch > 0


def test_it_does_not_go_with_ports_that_are_advertised() -> None:
    for options in (("--advertised-port", "1"), ("--advertised-host", "dialled")):
        refused = run("serve", "--port", "0", "--toxiproxy-port", "0", *options)
        assert refused.exit_code == 2
        assert "--toxiproxy-port sets the advertised ports" in refused.stderr
