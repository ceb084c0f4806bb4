"""Stock clients over SASL with each mechanism: the right password or token, and wrong ones."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiokafka
import aiokafka.abc
import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from kafka.net.sasl.oauth import AbstractTokenProvider
from support import doses
from support.log_reader import read_values

from fakebroker import FakeCluster
from fakebroker.core.journal.events import ConnectionClosed, Login

pytest.importorskip("joserfc", reason="the extra security is not installed")
pytestmark = [pytest.mark.clients, pytest.mark.slow]

TOPIC, VALUE = "orders", b"value"
HOUR_MS = 3_600_000
WAIT_MS = 5_000  # for which a refused client tries again
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
PASSWORDS = {"PLAIN": ("alice", "secret"), "SCRAM-SHA-256": ("carol", "word"), "SCRAM-SHA-512": ("carol", "word")}


def by_confluent(settings: dict[str, Any], token: str | None) -> None:
    failed: list[Any] = []
    if token is not None:
        settings["oauth_cb"] = lambda _: (token, 4e9)
    producer = confluent_kafka.Producer(settings | {"message.timeout.ms": WAIT_MS, "error_cb": failed.append})
    producer.produce(TOPIC, VALUE, on_delivery=lambda error, _: failed.append(error) if error else None)
    producer.flush(60)
    if failed:
        raise ConnectionError(" ".join(map(str, failed)))


class OfKafkaPython(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def token(self) -> str:
        return self._token


def by_kafka_python(settings: dict[str, Any], token: str | None) -> None:
    if token is not None:
        settings["sasl_oauth_token_provider"] = OfKafkaPython(token)
    with leftovers_ignored():
        producer = kafka_python.KafkaProducer(**settings, max_block_ms=WAIT_MS, bootstrap_timeout_ms=WAIT_MS)
        try:
            producer.send(TOPIC, VALUE).get(60)
        finally:
            producer.close(5)


@contextmanager
def leftovers_ignored() -> Iterator[None]:
    """Ignore the sockets that a client leaves open after a login that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()


class OfAiokafka(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


def by_aiokafka(settings: dict[str, Any], token: str | None) -> None:
    async def send() -> None:
        given = {} if token is None else {"sasl_oauth_token_provider": OfAiokafka(token)}
        producer = aiokafka.AIOKafkaProducer(**settings, **given)
        try:
            await producer.start()
            await producer.send_and_wait(TOPIC, VALUE)
        finally:
            await producer.stop()

    with leftovers_ignored():
        asyncio.run(send())


Sends = Callable[[dict[str, Any], str | None], None]
CLIENTS: dict[str, Sends] = {
    "confluent": by_confluent,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}
# kafka-python leaves sockets of failed connections to the garbage collector, which may come in another test.
EVERYDAY = ["confluent", "aiokafka"]
clients = pytest.mark.parametrize("library", doses.nightly_but(EVERYDAY, CLIENTS))
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
    CLIENTS[library](settings_of(kafka, library, mechanism), None)
    assert read_values(kafka, TOPIC)[sent:] == [VALUE]
    assert logins(kafka, before) == {(mechanism, f"User:{PASSWORDS[mechanism][0]}", "NONE")}


@clients
@mechanisms
def test_a_wrong_password_is_refused(kafka: FakeCluster, library: str, mechanism: str) -> None:
    sent, before = len(read_values(kafka, TOPIC)), count(kafka)
    with pytest.raises(Exception, match=r"(?i)auth|sasl|bootstrap"):
        CLIENTS[library](settings_of(kafka, library, mechanism, "wrong"), None)
    assert len(read_values(kafka, TOPIC)) == sent
    assert logins(kafka, before) == {(mechanism, "", "SASL_AUTHENTICATION_FAILED")}


@clients
def test_a_client_logs_in_with_a_token(kafka: FakeCluster, library: str) -> None:
    before = count(kafka)
    CLIENTS[library](settings_of(kafka, library, "OAUTHBEARER"), kafka.oauth.token("dave"))
    assert logins(kafka, before) == {("OAUTHBEARER", "User:dave", "NONE")}


@pytest.mark.parametrize(
    "library", doses.nightly_but(["confluent"], ["confluent", "kafka-python"])
)  # aiokafka takes the challenge for a success
def test_an_expired_token_is_refused(kafka: FakeCluster, library: str) -> None:
    before = count(kafka)
    token = kafka.oauth.token("dave", lifetime_ms=-3_600_000, claims={"iat": 1})
    with pytest.raises(Exception, match=r"(?i)auth|sasl|bootstrap|token"):
        CLIENTS[library](settings_of(kafka, library, "OAUTHBEARER"), token)
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
        CLIENTS[library](settings_of(kafka, library, "PLAIN"), None)
        with pytest.raises(Exception, match=r"(?i)authoriz"):
            CLIENTS[library](settings_of(kafka, library, "SCRAM-SHA-256"), None)
    finally:
        fault.remove()
    assert read_values(kafka, TOPIC)[sent:] == [VALUE]
    assert fault.hits >= 1
    assert {principal for _, principal, _ in logins(kafka, before)} == {"User:alice", "User:carol"}


@pytest.mark.parametrize("library", doses.nightly_but(["aiokafka"], CLIENTS))  # the others try again for seconds
@mechanisms
def test_a_fault_refuses_the_login_of_one_user(kafka: FakeCluster, library: str, mechanism: str) -> None:
    user = f"User:{PASSWORDS[mechanism][0]}"
    when = {"api": "SaslAuthenticate", "principal": user, "mechanism": mechanism}
    fault = kafka.faults.add(when=when, do="SASL_AUTHENTICATION_FAILED", times="every_time")
    before = count(kafka)
    try:
        with pytest.raises(Exception, match=r"(?i)auth|sasl|bootstrap"):
            CLIENTS[library](settings_of(kafka, library, mechanism), None)
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


@pytest.mark.nightly  # of kafka-python, too
def test_a_token_of_an_hour_expires_on_the_clock_of_the_test() -> None:
    config = {"listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": HANDLER}
    config["connections.max.idle.ms"] = "-1"
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"], config=config, clock="manual") as kafka:
        kafka.create_topic(TOPIC, partitions=1)
        settings = kafka.client_settings("kafka-python", mechanism="OAUTHBEARER")
        with leftovers_ignored():
            producer = kafka_python.KafkaProducer(**settings, sasl_oauth_token_provider=NewTokens(kafka))
            producer.send(TOPIC, VALUE).get(60)
            kafka.clock.advance(HOUR_MS + 1_000)
            producer.send(TOPIC, VALUE).get(60)
            producer.close(5)
        closed = [event.reason for event in kafka.journal if isinstance(event, ConnectionClosed)]
        assert "the session of the client has expired" in closed
        assert len({event.connection for event in kafka.journal if isinstance(event, Login)}) > 1
