"""TLS over HTTP: the CA, certificates, what brokers present, and the settings of clients."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import pytest
from support.controlled import Controlled
from support.requests import metadata
from support.serving import Serving
from support.tls_client import TlsClient, context_of

from fakebroker.server.oauth.jwks import verifier_of

pytest.importorskip("cryptography", reason="the extra security is not installed")


def test_a_client_of_another_language_gets_what_it_needs() -> None:
    with Controlled(brokers=1, listeners=["PLAINTEXT", "SSL"], config={"ssl.client.auth": "required"}) as controlled:
        http, kafka = controlled.http, controlled.kafka
        tls = http.get("/v1/tls").json()
        made = http.post("/v1/tls/certificates", json={"common_name": "alice"}).json()
        context = ssl.create_default_context(cadata=tls["ca"])
        (kafka.tls.ca.parent / "theirs.pem").write_text(made["key"] + made["certificate"])
        context.load_cert_chain(kafka.tls.ca.parent / "theirs.pem")
        with TlsClient(kafka, context=context) as client:
            assert client.ask(metadata([]))
        settings = http.post("/v1/client-settings", json={"library": "java", "listener": "SSL", "common_name": "bob"})
        assert settings.json()["settings"] == {
            "bootstrap.servers": kafka.bootstrap("SSL"),
            "security.protocol": "SSL",
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": tls["truststore_file"],
            "ssl.truststore.password": tls["truststore_password"],
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": made["keystore_file"].replace("alice", "bob"),
            "ssl.keystore.password": made["keystore_password"],
        }
        shown = http.get("/v1/cluster").json()["listeners"]
        assert [(listener["name"], listener["protocol"]) for listener in shown] == [
            ("PLAINTEXT", "PLAINTEXT"),
            ("SSL", "SSL"),
        ]


def test_aiokafka_has_settings_that_are_json() -> None:
    with Controlled(brokers=1, listeners=["SSL", "SASL_PLAINTEXT"], config={}) as controlled:
        chosen_client = {"library": "aiokafka", "user": "alice", "password": "secret", "listener": "SASL_PLAINTEXT"}
        assert controlled.http.post("/v1/client-settings", json=chosen_client).json()["settings"] == {
            "bootstrap_servers": controlled.kafka.bootstrap("SASL_PLAINTEXT"),
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "alice",
            "sasl_plain_password": "secret",
        }
        refused = controlled.http.post("/v1/client-settings", json={"library": "aiokafka", "listener": "SSL"})
        assert (refused.status_code, "an SSLContext, which is no JSON" in refused.text) == (422, True)


def test_a_certificate_is_made_that_brokers_refuse() -> None:
    with Controlled(brokers=1, listeners=["SSL"], config={"ssl.client.auth": "required"}) as controlled:
        http, kafka = controlled.http, controlled.kafka
        made = http.post("/v1/tls/certificates", json={"common_name": "alice", "present": "expired"}).json()
        context = context_of(kafka.tls.ca)
        (kafka.tls.ca.parent / "theirs.pem").write_text(made["key"] + made["certificate"])
        context.load_cert_chain(kafka.tls.ca.parent / "theirs.pem")
        with TlsClient(kafka, context=context) as client, pytest.raises((ssl.SSLError, ConnectionError)):
            client.ask(metadata([]))
        refused = http.post("/v1/tls/certificates", json={"common_name": "alice", "present": "wrong host"})
        assert refused.status_code == 422


def test_a_token_goes_into_the_settings() -> None:
    chosen_client = {"library": "franz-go", "mechanism": "OAUTHBEARER", "token": "a.b."}
    with Controlled(brokers=1, listeners=["SASL_PLAINTEXT"]) as controlled:
        settings = controlled.http.post("/v1/client-settings", json=chosen_client).json()["settings"]
        assert settings["sasl"] == {"mechanism": "OAUTHBEARER", "token": "a.b."}
        refused = controlled.http.post("/v1/client-settings", json=chosen_client | {"library": "kafka-go"})
        assert (refused.status_code, "kafka-go has no OAUTHBEARER" in refused.text) == (422, True)


def test_brokers_present_what_is_asked_for() -> None:
    with Controlled(brokers=1, listeners=["SSL"]) as controlled:
        assert controlled.http.put("/v1/tls", json={"present": "expired"}).is_success
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            TlsClient(controlled.kafka)
        assert controlled.http.put("/v1/tls", json={}).is_success
        with TlsClient(controlled.kafka) as client:
            assert client.ask(metadata([]))


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/v1/tls", None, 409, "no listener with TLS runs"),
        ("PUT", "/v1/tls", {"present": "expired"}, 409, "no listener with TLS runs"),
        ("PUT", "/v1/tls", {"present": "gone"}, 422, "present"),
        ("POST", "/v1/tls/certificates", {"common_name": "a"}, 409, "no listener with TLS runs"),
        ("POST", "/v1/client-settings", {"library": "nobody"}, 422, "library"),
        ("POST", "/v1/client-settings", {"library": "java", "listener": "X"}, 422, "no listener 'X'"),
    ],
)
def test_what_cannot_be_is_said(method: str, path: str, body: object, status: int, words: str) -> None:
    with Controlled(brokers=1) as controlled:
        answer = controlled.http.request(method, path, json=body)
        assert (answer.status_code, words in answer.text) == (status, True), answer.text


def test_a_cluster_of_the_control_has_listeners_on_free_ports() -> None:
    with Controlled(brokers=1) as controlled:
        made = controlled.http.post("/v1/clusters", json={"brokers": 1, "listeners": ["PLAINTEXT", "OUT=SSL"]}).json()
        assert [listener["name"] for listener in made["listeners"]] == ["PLAINTEXT", "OUT"]
        assert "BEGIN CERTIFICATE" in controlled.http.get(f"/v1/clusters/{made['id']}/tls").json()["ca"]
        refused = controlled.http.post("/v1/clusters", json={"listeners": ["SSL://0.0.0.0:9093"]})
        assert (refused.status_code, "leave out the address" in refused.text) == (422, True)


def test_the_ready_file_has_the_listeners_and_the_ca() -> None:
    with Serving("--brokers", "1", "--listener", "IN=PLAINTEXT", "--listener", "OUT=SSL") as serving:
        facts = serving.facts
        assert facts["listeners"].keys() == {"IN", "OUT"}
        assert facts["bootstrap_servers"] == facts["listeners"]["IN"]
        assert context_of(facts["ca"])


def test_keys_and_tokens_for_servers_and_clients_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("joserfc", reason="the extra security is not installed")
    with Controlled(brokers=1) as controlled:
        http = controlled.http
        [key] = http.get("/v1/oauth/jwks").json()["keys"]
        assert "d" not in key, "the private part"
        body = {"subject": "alice", "lifetime_ms": 5000, "claims": {"aud": "kafka", "iat": None}}
        made = http.post("/v1/oauth/tokens", json=body)
        assert made.status_code == 201
        (tmp_path / "keys.json").write_text(json.dumps({"keys": [key]}))
        claims = verifier_of((tmp_path / "keys.json").as_uri())(made.json()["token"])
        assert (claims["sub"], claims["aud"], sorted(claims)) == ("alice", "kafka", ["aud", "exp", "sub"])
        unsigned = http.post("/v1/oauth/tokens", json={"subject": "alice", "is_signed": False}).json()["token"]
        assert unsigned.endswith(".")
        for wrong in ({}, {"subject": 5}, {"subject": "a", "claims": []}, {"subject": "a", "lifetime_ms": 1.5}):
            assert http.post("/v1/oauth/tokens", json=wrong).status_code == 422
