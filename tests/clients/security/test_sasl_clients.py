"""Stock clients over SASL with each mechanism: the right password or token, and wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from support.log_reader import read_values
from support.secured_sends import CLIENTS, TOPIC, VALUE, OfKafkaPython, refused, send

from fakebroker import FakeCluster
from fakebroker.core.journal.events import ConnectionClosed, Login

pytest.importorskip("joserfc", reason="the extra security is not installed")
pytestmark = [pytest.mark.clients, pytest.mark.slow]

HOUR_MS = 3_600_000
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
PASSWORDS = {"PLAIN": ("alice", "secret"), "SCRAM-SHA-256": ("carol", "word"), "SCRAM-SHA-512": ("carol", "word")}


clients = pytest.mark.parametrize("library", CLIENTS)
mechanisms = pytest.mark.parametrize("mechanism", PASSWORDS)


@pytest.fixture(scope="module", params=["SASL_PLAINTEXT", "SASL_SSL"])
def kafka(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    name = request.param.lower()
    config = {
        f"listener.name.{name}.plain.sasl.jaas.config": JAAS,
        f"listener.name.{name}.oauthbearer.sasl.server.callback.handler.class": HANDLER,
    }
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", request.param], config=config) as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap("PLAINTEXT")})
        for mechanism in SCRAM.values():
            upsertion = UserScramCredentialUpsertion("carol", ScramCredentialInfo(mechanism, 4096), b"word")
            admin.alter_user_scram_credentials([upsertion])["carol"].result()
        yield cluster


def settings_of(kafka: FakeCluster, library: str, mechanism: str, password: str | None = None) -> dict[str, Any]:
    user, right = PASSWORDS.get(mechanism, (None, None))
    listener = kafka.listeners[1].name
    given = password if right is not None and password is not None else right
    return kafka.client_settings(library, listener, mechanism=mechanism, user=user, password=given)


def logins(kafka: FakeCluster, before: int) -> set[tuple[str, str, str]]:
    events = [event for event in kafka.journal if isinstance(event, Login)][before:]
    return {(event.mechanism, event.principal, event.error) for event in events}


def count(kafka: FakeCluster) -> int:
    return len([event for event in kafka.journal if isinstance(event, Login)])


@clients
@mechanisms
def test_a_client_logs_in_and_sends(kafka: FakeCluster, library: str, mechanism: str) -> None:
    sent, before = len(read_values(kafka, TOPIC)), count(kafka)
    send(library, settings_of(kafka, library, mechanism))
    assert read_values(kafka, TOPIC)[sent:] == [VALUE]
    assert logins(kafka, before) == {(mechanism, f"User:{PASSWORDS[mechanism][0]}", "NONE")}


@clients
@mechanisms
def test_a_wrong_password_is_refused(kafka: FakeCluster, library: str, mechanism: str) -> None:
    sent, before = len(read_values(kafka, TOPIC)), count(kafka)
    settings = settings_of(kafka, library, mechanism, "wrong")
    error = refused(library, settings, lambda: logins(kafka, before), "a login that failed")
    assert re.search("(?i)auth|sasl|bootstrap", error)
    assert len(read_values(kafka, TOPIC)) == sent
    assert logins(kafka, before) == {(mechanism, "", "SASL_AUTHENTICATION_FAILED")}


@clients
def test_a_client_logs_in_with_a_token(kafka: FakeCluster, library: str) -> None:
    before = count(kafka)
    send(library, settings_of(kafka, library, "OAUTHBEARER"), kafka.oauth.token("dave"))
    assert logins(kafka, before) == {("OAUTHBEARER", "User:dave", "NONE")}


# aiokafka takes the challenge for a success.
@pytest.mark.parametrize("library", ["confluent", "kafka-python"])
def test_an_expired_token_is_refused(kafka: FakeCluster, library: str) -> None:
    before = count(kafka)
    token = kafka.oauth.token("dave", lifetime_ms=-3_600_000, claims={"iat": 1})
    settings = settings_of(kafka, library, "OAUTHBEARER")
    error = refused(library, settings, lambda: logins(kafka, before), "a login that failed", token)
    assert re.search("(?i)auth|sasl|bootstrap|token", error)
    assert logins(kafka, before) == {("OAUTHBEARER", "", "SASL_AUTHENTICATION_FAILED")}


def test_a_client_logs_in_again_after_its_session_was_ended(kafka: FakeCluster) -> None:
    producer = confluent_kafka.Producer(settings_of(kafka, "confluent", "PLAIN"))
    sent, before = len(read_values(kafka, TOPIC)), count(kafka)
    producer.produce(TOPIC, VALUE)
    assert producer.flush(60) == 0
    assert kafka.expire_sessions("alice") >= 1
    producer.produce(TOPIC, VALUE)
    assert producer.flush(60) == 0
    assert read_values(kafka, TOPIC)[sent:] == [VALUE, VALUE]
    assert count(kafka) > before + 1


@clients
def test_a_fault_refuses_the_requests_of_one_user(kafka: FakeCluster, library: str) -> None:
    when = {"api": "Produce", "principal": "User:carol"}
    fault = kafka.faults.add(when=when, do="TOPIC_AUTHORIZATION_FAILED", times="every_time")
    sent, before = len(read_values(kafka, TOPIC)), count(kafka)
    try:
        send(library, settings_of(kafka, library, "PLAIN"))
        settings = settings_of(kafka, library, "SCRAM-SHA-256")
        error = refused(library, settings, lambda: fault.hits, "a request that the fault refuses")
        assert re.search("(?i)authoriz", error)
    finally:
        fault.remove()
    assert read_values(kafka, TOPIC)[sent:] == [VALUE]
    assert fault.hits >= 1
    assert {principal for _, principal, _ in logins(kafka, before)} == {"User:alice", "User:carol"}


@clients
@mechanisms
def test_a_fault_refuses_the_login_of_one_user(kafka: FakeCluster, library: str, mechanism: str) -> None:
    user = f"User:{PASSWORDS[mechanism][0]}"
    when = {"api": "SaslAuthenticate", "principal": user, "mechanism": mechanism}
    fault = kafka.faults.add(when=when, do="SASL_AUTHENTICATION_FAILED", times="every_time")
    before = count(kafka)
    try:
        settings = settings_of(kafka, library, mechanism)
        error = refused(library, settings, lambda: logins(kafka, before), "a login that failed")
        assert re.search("(?i)auth|sasl|bootstrap", error)
    finally:
        fault.remove()
    assert fault.hits >= 1
    assert logins(kafka, before) == {(mechanism, "", "SASL_AUTHENTICATION_FAILED")}


def test_a_client_waits_for_a_login_that_stalls(kafka: FakeCluster) -> None:
    producer = confluent_kafka.Producer(settings_of(kafka, "confluent", "PLAIN"))
    sent = len(read_values(kafka, TOPIC))
    with kafka.hold(api="SaslAuthenticate", principal="User:alice") as held:
        producer.produce(TOPIC, VALUE)
        held.wait()
        assert len(read_values(kafka, TOPIC)) == sent
    assert producer.flush(60) == 0
    assert read_values(kafka, TOPIC)[sent:] == [VALUE]


class NewTokens(OfKafkaPython):
    """A provider that gets a new token for each connection."""

    def __init__(self, kafka: FakeCluster) -> None:
        super().__init__("")
        self._kafka = kafka

    def token(self) -> str:
        return self._kafka.oauth.token("dave", lifetime_ms=HOUR_MS)


def test_a_token_of_an_hour_expires_on_the_clock_of_the_test() -> None:
    config = {"listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": HANDLER}
    config["connections.max.idle.ms"] = "-1"
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"], config=config, clock="manual") as kafka:
        kafka.create_topic(TOPIC, partitions=1)
        settings = kafka.client_settings("kafka-python", mechanism="OAUTHBEARER")
        producer = kafka_python.KafkaProducer(**settings, sasl_oauth_token_provider=NewTokens(kafka))
        producer.send(TOPIC, VALUE).get(60)
        kafka.clock.advance(HOUR_MS + 1_000)
        producer.send(TOPIC, VALUE).get(60)
        producer.close(5)
        closed = [event.reason for event in kafka.journal if isinstance(event, ConnectionClosed)]
        assert "the session of the client has expired" in closed
        assert len({event.connection for event in kafka.journal if isinstance(event, Login)}) > 1
