"""Logins by SASL as the HTTP control shows them: in the metrics and in the journal."""

from __future__ import annotations

from support.controlled import Controlled
from support.raw_client import RawClient
from support.requests import request

from fakebroker.protocol.framing import encode_frame
from fakebroker.protocol.produce_response import NodeEndpoint

USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
CONFIG = {"listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS, "connection.failed.authentication.delay.ms": 0}


def login(endpoint: NodeEndpoint, password: bytes) -> None:
    with RawClient(endpoint) as client:
        client.ask(request(17, 0, {"mechanism": "PLAIN"}))
        client.send(encode_frame(b"\0alice\0" + password))
        if password == b"secret":
            client.receive()
        else:
            assert client.is_closed_by_broker()


def test_logins_are_counted_and_told() -> None:
    with Controlled(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG) as controlled:
        controlled.http.get("/metrics")  # from the first call on events are counted
        host, _, port = controlled.kafka.bootstrap("SASL_PLAINTEXT").rpartition(":")
        endpoint = NodeEndpoint(1, host, int(port), None)
        login(endpoint, b"secret")
        login(endpoint, b"wrong")
        login(endpoint, b"wrong")
        text = controlled.http.get("/metrics").text
    labels = '{broker="1",listener="SASL_PLAINTEXT",mechanism="PLAIN"}'
    assert f"kafka_server_socket_server_metrics_successful_authentication_total{labels} 1.0" in text
    assert f"kafka_server_socket_server_metrics_failed_authentication_total{labels} 2.0" in text
    assert "kafka_server_socket_server_metrics_failed_reauthentication_total{" not in text


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
