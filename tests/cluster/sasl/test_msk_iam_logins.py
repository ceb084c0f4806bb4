"""Logins by AWS_MSK_IAM in a cluster: where the mechanism is offered, and how a client is accepted and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.msk_iam import ACCESS_KEY, CREDENTIALS, fields_at, message
from support.requests import request
from support.sasl_client import LISTENER, METADATA, SASL_AUTHENTICATION_FAILED, SaslClient
from support.simulation import START_WALL_MS, Simulation

from fakebroker.core.faults.fault import Fault
from fakebroker.core.journal.events import Login
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.framing import encode_frame

MECHANISM = "AWS_MSK_IAM"
DELAY_MS = 100  # connection.failed.authentication.delay.ms
KAFKAS = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}
CREDENTIALS_OF_ALL = "fakebroker.aws.msk.iam.credentials"
OF_LISTENER = "listener.name.sasl_plaintext."


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def simulation(journal: Journal) -> Simulation:
    return Simulation(brokers=2, config=CREDENTIALS, journal=journal)


def offered(simulation: Simulation) -> set[str]:
    return set(SaslClient(simulation).handshake("PLAIN").mechanisms)


def log_in(client: SaslClient, **signed: Any) -> Any:
    client.handshake(MECHANISM)
    return client.authenticate(message(fields_at(client.simulation.now.wall_ms, **signed)))


def refusal(simulation: Simulation, client: SaslClient) -> str:
    """Return the message of the last SaslAuthenticate response, v2, after the delay of failures."""
    simulation.advance(DELAY_MS)
    frame = client.client.answers[-1][1]
    assert int.from_bytes(frame[5:7], "big") == SASL_AUTHENTICATION_FAILED
    return frame[8:].decode(errors="replace")


def test_a_client_with_a_known_access_key_logs_in(simulation: Simulation, journal: Journal) -> None:
    client = SaslClient(simulation)
    answer = log_in(client)
    assert (answer.error_code, answer.session_lifetime.total_seconds()) == (0, 0)
    assert json.loads(bytes(answer.auth_bytes)).keys() == {"version", "request-id"}
    assert client.principal == f"User:{ACCESS_KEY}"
    assert client.answers()
    [login] = [event for event in journal if isinstance(event, Login)]
    assert (login.mechanism, login.principal, login.error) == (MECHANISM, f"User:{ACCESS_KEY}", "NONE")


def test_each_login_has_a_request_id_of_its_own(simulation: Simulation) -> None:
    answers = [bytes(log_in(SaslClient(simulation)).auth_bytes) for _ in range(3)]
    assert len(set(answers)) == 3


def test_after_handshake_v0_the_message_has_no_header(simulation: Simulation) -> None:
    client = SaslClient(simulation)
    assert client.handshake(MECHANISM, 0).error_code == 0
    client.client.send(encode_frame(message(fields_at(START_WALL_MS))))
    assert json.loads(client.client.answers[-1][1])["version"] == "2020_10_22"
    assert client.answers()


def test_a_refused_client_learns_why(simulation: Simulation, journal: Journal) -> None:
    client = SaslClient(simulation)
    assert log_in(client, secret="wrong") is None
    text = refusal(simulation, client)
    assert "]: Access denied: x-amz-signature is wrong" in text
    assert "host:127.0.0.1\\n\\nhost\\n" in text
    assert (client.closed or "").startswith("failed authentication: [")
    [login] = [event for event in journal if isinstance(event, Login)]
    assert login.reason in text
    assert client.principal == "User:ANONYMOUS"
    client.client.send(request(METADATA, 9, {"topics": None}))
    assert len(client.client.answers) == 2  # of the handshake and of the refusal


def test_a_signature_expires_on_the_clock_of_the_cluster(simulation: Simulation) -> None:
    sent = message(fields_at(START_WALL_MS, expires="60"))
    early, late = SaslClient(simulation), SaslClient(simulation)
    for client in (early, late):
        client.handshake(MECHANISM)
    simulation.advance(59_999)
    assert early.authenticate(sent).error_code == 0
    simulation.advance(1)
    assert late.authenticate(sent) is None
    assert "has expired after 60 s" in refusal(simulation, late)


def test_the_expiry_of_a_signature_ends_no_session(simulation: Simulation) -> None:
    client = SaslClient(simulation)
    assert log_in(client, expires="60").error_code == 0
    simulation.advance(120_000)
    assert client.answers()


def test_a_session_is_renewed_with_a_new_signature() -> None:
    config = CREDENTIALS | {"connections.max.reauth.ms": "3600000", "connections.max.idle.ms": "-1"}
    simulation = Simulation(brokers=1, config=config)
    client = SaslClient(simulation)
    for _ in range(2):
        assert log_in(client).session_lifetime.total_seconds() == 3600
        simulation.advance(3_600_000)
    assert log_in(client, secret="wrong") is None
    assert "Access denied" in refusal(simulation, client)


@pytest.mark.parametrize(("broker_id", "host"), [(1, "kafka.test"), (2, "kafka.test"), (1, "bound.test")])
def test_a_host_that_is_advertised_or_bound_is_accepted(simulation: Simulation, broker_id: int, host: str) -> None:
    simulation.cluster.registry[1].set_endpoint("kafka.test", 9092, LISTENER)
    simulation.cluster.registry[1].set_bound("bound.test", 9092, LISTENER)
    assert log_in(SaslClient(simulation, broker_id), host=host).error_code == 0


def test_the_host_that_a_client_has_dialled_is_accepted(simulation: Simulation) -> None:
    simulation.cluster.registry[1].set_endpoint("kafka.test", 9092, LISTENER)
    client = SaslClient(simulation)
    client.client.connection.listener = LISTENER._replace(address="10.1.2.3")
    assert log_in(client, host="10.1.2.3").error_code == 0


def test_another_host_is_refused(simulation: Simulation) -> None:
    simulation.cluster.registry[1].set_endpoint("kafka.test", 9092, LISTENER)
    simulation.cluster.registry[2].set_endpoint("kafka.test", 9093, LISTENER)
    client = SaslClient(simulation)
    log_in(client, host="other.test")
    assert 'host is "other.test"; the listener is kafka.test, without a port' in refusal(simulation, client)


@pytest.mark.parametrize(
    ("config", "mechanisms"),
    [
        ({}, KAFKAS),
        (CREDENTIALS, KAFKAS | {MECHANISM}),
        ({OF_LISTENER + CREDENTIALS_OF_ALL: "a:b"}, KAFKAS | {MECHANISM}),
        ({f"{OF_LISTENER}aws_msk_iam.{CREDENTIALS_OF_ALL}": "a:b"}, KAFKAS | {MECHANISM}),
        ({f"listener.name.other.{CREDENTIALS_OF_ALL}": "a:b"}, KAFKAS),
        (CREDENTIALS | {"sasl.enabled.mechanisms": "PLAIN"}, {"PLAIN"}),
        (CREDENTIALS | {"sasl.enabled.mechanisms": "PLAIN,AWS_MSK_IAM"}, {"PLAIN", MECHANISM}),
        ({"sasl.enabled.mechanisms": "PLAIN,AWS_MSK_IAM"}, {"PLAIN", MECHANISM}),
    ],
)
def test_the_mechanism_is_offered_with_access_keys_or_by_name(config: dict[str, str], mechanisms: set[str]) -> None:
    assert offered(Simulation(brokers=1, config=config)) == mechanisms


def test_without_access_keys_a_client_learns_which_setting_is_missing() -> None:
    simulation = Simulation(brokers=1, config={"sasl.enabled.mechanisms": MECHANISM})
    client = SaslClient(simulation)
    log_in(client)
    text = f"the access key {ACCESS_KEY} is not one of those in {CREDENTIALS_OF_ALL}"
    assert text in refusal(simulation, client)


def test_a_login_module_of_the_mechanism_has_no_effect() -> None:
    module = "software.amazon.msk.auth.iam.IAMLoginModule required;"
    config = CREDENTIALS | {f"{OF_LISTENER}aws_msk_iam.sasl.jaas.config": module}
    assert log_in(SaslClient(Simulation(brokers=1, config=config))).error_code == 0


def test_a_change_of_the_access_keys_counts_for_the_next_login(simulation: Simulation) -> None:
    assert log_in(SaslClient(simulation)).error_code == 0
    simulation.cluster.members.broker_configs.alter({CREDENTIALS_OF_ALL: "NEW:secret:alice"})
    client = SaslClient(simulation)
    log_in(client)
    assert "is not one of those" in refusal(simulation, client)
    client = SaslClient(simulation)
    assert log_in(client, access_key="NEW", secret="secret").error_code == 0
    assert client.principal == "User:alice"


def test_a_fault_selects_the_client_by_principal_and_mechanism(simulation: Simulation) -> None:
    simulation.cluster.now = simulation.now
    when = {"api": "SaslAuthenticate", "principal": f"User:{ACCESS_KEY}", "mechanism": MECHANISM}
    fault = simulation.cluster.faults.add(Fault(when, "SASL_AUTHENTICATION_FAILED", "once"))
    client = SaslClient(simulation)
    assert log_in(client) is None
    assert "Access denied" in refusal(simulation, client)
    assert fault.hits == 1
    assert log_in(SaslClient(simulation)).error_code == 0
