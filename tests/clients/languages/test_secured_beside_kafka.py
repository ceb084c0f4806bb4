"""Each library plays over TLS and SASL with Apache Kafka too, and its user sees the same as with fakebroker. Tokens are
unsecured ones, as Kafka takes by default. Kafka presents a valid certificate in all plays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.secured import USERS, Secured
from support.secured_cases import PRESENTED, REFUSED, Played
from support.secured_kafka import SecuredKafka

from conformance.clients.builds import SECURED
from conformance.targets.kafka_box import Unavailable

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]


def with_password(mechanism: str) -> Played:
    return lambda secured: secured.play("round trip", secured.password(mechanism))


def with_token(secured: Secured) -> dict[str, str]:
    return secured.play("round trip", secured.token())


def with_certificate(secured: Secured) -> dict[str, str]:
    return secured.play("round trip", secured.certificate("alice"))


def in_a_transaction(secured: Secured) -> dict[str, str]:
    return secured.play("transaction", secured.password("PLAIN"))


ALLOWED: dict[str, Played] = {mechanism: with_password(mechanism) for mechanism in USERS}
ALLOWED |= {"token": with_token, "certificate": with_certificate, "transaction": in_a_transaction}
PLAYS = ALLOWED | {case: refusal.play for case, refusal in REFUSED.items() if case not in PRESENTED}
# The alert of TLS 1.3: OpenSSL's is certificate_required, Java's bad_certificate.
OTHER_ALERT = "no certificate"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    try:
        with SecuredKafka.started(tmp_path_factory.mktemp("certificates")) as kafka_:
            yield kafka_
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("library", [client.name for client in SECURED])
def test_a_user_of_a_library_sees_the_same_on_kafka(kafka: SecuredKafka, library: str) -> None:
    plays = {case: play for case, play in PLAYS.items() if library != "kafka-go" or "token" not in case}
    with Secured.of(library, kafka.certificates, is_signed=False) as secured:
        ours = {case: seen(secured, play) for case, play in plays.items()}
        secured.redirect = lambda settings: kafka.redirected(secured, settings)
        kafkas = {case: seen(secured, play) for case, play in plays.items()}
    assert "certificate required" in ours[OTHER_ALERT]["text"].replace("_", " ")
    assert "bad certificate" in kafkas[OTHER_ALERT]["text"].replace("_", " ")
    del ours[OTHER_ALERT], kafkas[OTHER_ALERT]
    assert ours == kafkas


def seen(secured: Secured, play: Played) -> dict[str, str]:
    """Return what a user sees; a value that was sent and read again is VALUE."""
    return {name: "VALUE" if text == secured.last else text for name, text in play(secured).items()}
