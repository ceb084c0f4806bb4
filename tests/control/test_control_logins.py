"""Logins by SASL as the HTTP control shows them: in the metrics and in the journal."""

from __future__ import annotations

from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import fetch, metadata, produce, request
from support.tls_client import TlsClient

from fakebroker.protocol.framing import encode_frame
from fakebroker.protocol.produce_response import NodeEndpoint

USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
CONFIG = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS, "connection.failed.authentication.delay.ms": 0}


def login(endpoint: NodeEndpoint, password: bytes, *requests: bytes) -> None:
    with RawClient(endpoint) as client:
        client.ask(request(17, 0, {"mechanism": "PLAIN"}))
        client.send(encode_frame(b"\0alice\0" + password))
        if password == b"secret":
            client.receive()
            for one in requests:
                client.ask(one)
        else:
            assert client.is_closed_by_broker()


def endpoint_of(controlled: Controlled, listener: str) -> NodeEndpoint:
    host, _, port = controlled.kafka.bootstrap(listener).rpartition(":")
    return NodeEndpoint(1, host, int(port), None)


def test_logins_are_counted_and_told() -> None:
    with Controlled(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG) as controlled:
        controlled.http.get("/metrics")  # from the first call on events are counted
        endpoint = endpoint_of(controlled, "SASL_PLAINTEXT")
        login(endpoint, b"secret")
        login(endpoint, b"wrong")
        login(endpoint, b"wrong")
        text = controlled.http.get("/metrics").text
    labels = '{broker="1",listener="SASL_PLAINTEXT",mechanism="PLAIN"}'
    assert f"kafka_server_socket_server_metrics_successful_authentication_total{labels} 1.0" in text
    assert f"kafka_server_socket_server_metrics_failed_authentication_total{labels} 2.0" in text
    assert "kafka_server_socket_server_metrics_failed_reauthentication_total{" not in text


def test_the_principal_of_each_request_is_told() -> None:
    listeners = ["PLAINTEXT", "SASL_PLAINTEXT"]
    with Controlled(brokers=1, listeners=listeners, config=CONFIG) as controlled:
        controlled.kafka.create_topic("t")
        controlled.get("/v1/journal")
        login(endpoint_of(controlled, "SASL_PLAINTEXT"), b"secret", produce("t"))
        with RawClient(endpoint_of(controlled, "PLAINTEXT")) as client:
            client.ask(produce("t"))
        events = controlled.get("/v1/journal", principal="User:alice")["events"]
        assert [(event["event"], event["principal"]) for event in events] == [
            ("login", "User:alice"),
            ("request", "User:alice"),
        ]
        requests = controlled.get("/v1/journal", event="request")["events"]
        assert [one["principal"] for one in requests] == ["User:alice", "User:ANONYMOUS"]
        first, second = (controlled.get("/v1/journal/timeline", request=one["request"])["steps"][0] for one in requests)
        assert first["text"] == "Produce v9 handled for User:alice"
        assert first["event"]["principal"] == "User:alice"
        assert second["text"] == "Produce v9 handled"


def test_the_principal_of_a_parked_request_is_told() -> None:
    with Controlled(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG) as controlled:
        controlled.kafka.create_topic("t")
        controlled.get("/v1/journal")
        with RawClient(endpoint_of(controlled, "SASL_PLAINTEXT")) as client:
            client.ask(request(17, 0, {"mechanism": "PLAIN"}))
            client.send(encode_frame(b"\0alice\0secret"))
            client.receive()
            client.send(fetch("t", max_wait_ms=30_000))
            (waiting,) = controlled.ask("POST", "/v1/purgatory/wait", {"api": "Fetch"})["waiting"]
            assert waiting["principal"] == "User:alice"
            timeline = controlled.get("/v1/journal/timeline", request=waiting["request"])
            assert timeline["parked"]["principal"] == "User:alice"


def test_handshakes_of_tls_are_counted_as_logins() -> None:
    with Controlled(brokers=1, listeners=["SSL"]) as controlled:
        controlled.http.get("/metrics")
        for _ in range(2):
            with TlsClient(controlled.kafka) as client:
                client.ask(metadata([]))
        text = controlled.http.get("/metrics").text
    labels = '{broker="1",listener="SSL",mechanism=""}'
    assert f"kafka_server_socket_server_metrics_successful_authentication_total{labels} 2.0" in text


def test_failed_handshakes_of_tls_are_failed_authentications() -> None:
    """Selector counts each AuthenticationException of KafkaChannel.prepare."""
    with Controlled(brokers=1, listeners=["SSL"], clock="manual") as controlled:
        controlled.http.get("/metrics")  # from the first call on events are counted
        host, _, port = controlled.kafka.bootstrap("SSL").rpartition(":")
        with RawClient(NodeEndpoint(1, host, int(port), None)) as client:
            client.send(b"GET / HTTP/1.1\r\n\r\n")
            client.socket.makefile("rb").read()  # an alert, then the end
        text = controlled.http.get("/metrics").text
    labels = '{broker="1",listener="SSL",mechanism=""}'
    assert f"kafka_server_socket_server_metrics_failed_authentication_total{labels} 1.0" in text
