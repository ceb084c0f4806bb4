"""The settings for a login by OAUTHBEARER, and mistakes in what is asked of `client_settings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from fakebroker import FakeCluster
from fakebroker.core.security.sasl.jaas_config import parse_login_module

TOKEN: dict[str, Any] = {"mechanism": "OAUTHBEARER", "token": "a.b."}
IAM: dict[str, Any] = {"mechanism": "AWS_MSK_IAM", "user": "AKID", "password": "secret"}
JAVA = "org.apache.kafka.common.security.oauthbearer."


def test_a_token_is_a_setting_of_libraries_without_a_callback() -> None:
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka:
        assert kafka.client_settings("kafkajs", **TOKEN)["sasl"] == {"mechanism": "oauthbearer", "token": "a.b."}
        for library in ("franz-go", "sarama"):
            assert kafka.client_settings(library, **TOKEN)["sasl"] == TOKEN


def test_an_access_key_is_a_setting_of_franz_go() -> None:
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka:
        sasl = kafka.client_settings("franz-go", **IAM)["sasl"]
    assert sasl == {"mechanism": "AWS_MSK_IAM", "username": "AKID", "password": "secret"}


def test_java_gets_a_file_with_the_token_that_is_gone_with_the_cluster() -> None:
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka:
        settings = kafka.client_settings("java", **TOKEN)
        assert settings["sasl.jaas.config"] == f"{JAVA}OAuthBearerLoginModule required;"
        assert settings["sasl.login.callback.handler.class"] == f"{JAVA}OAuthBearerLoginCallbackHandler"
        url = settings["sasl.oauthbearer.token.endpoint.url"]
        file = Path(unquote(urlparse(url).path))
        assert (urlparse(url).scheme, file.read_text()) == ("file", "a.b.")
        assert kafka.client_settings("java", **TOKEN) == settings, "the same token has the same file"
    assert not file.parent.exists()


def test_java_makes_an_unsecured_token_of_a_user() -> None:
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka:
        settings = kafka.client_settings("java", mechanism="OAUTHBEARER", user='da"ve')
    assert settings["sasl.jaas.config"] == (
        f'{JAVA}OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="da\\"ve";'
    )


def test_java_reads_any_password_back() -> None:
    password = 'q"u\\o\nt\re\td'
    with FakeCluster(brokers=1, users={"alice": password}) as kafka:
        settings = kafka.client_settings("java", user="alice", password=password)
    assert "\n" not in settings["sasl.jaas.config"]
    assert parse_login_module(settings["sasl.jaas.config"]).options == {"username": "alice", "password": password}


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"user": "alice", "password": "p"}, ValueError, "user and password are for a listener with SASL, not for"),
        ({"certificate": "alice"}, TypeError, "certificate must be one of kafka.tls.client"),
    ],
)
def test_a_login_that_the_listener_has_not_is_told(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"]) as kafka:
        with pytest.raises(kind, match=message):
            kafka.client_settings("confluent", **given)
        with pytest.raises(
            ValueError, match="a certificate is for a listener with TLS, not for the listener PLAINTEXT"
        ):
            kafka.client_settings("confluent", certificate=kafka.tls.client("alice"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"library": "confluent", "user": "bob"},
            "^the listener SASL_PLAINTEXT has SASL: 'bob' is no user with a known password, so give password$",
        ),
        ({"library": "confluent"}, "give user and password"),
        ({"library": "confluent", "password": "p"}, "give user and password"),
        (
            {"library": "confluent", "user": "a", "password": "p", "mechanism": "SCRAM-256"},
            "a mechanism is PLAIN, SCRAM",
        ),
        ({"library": "sarama", "token": "a.b."}, "a token is for OAUTHBEARER at a listener with SASL, not for PLAIN"),
        ({"library": "kafka-go", **TOKEN}, "kafka-go has no OAUTHBEARER"),
        ({"library": "confluent", **TOKEN}, "leave it out, and set oauth_cb"),
        ({"library": "aiokafka", **TOKEN}, "leave it out, and set sasl_oauth_token_provider"),
        (
            {"library": "kafka-python", **IAM},
            "kafka-python does not take access keys as settings",
        ),
        ({"library": "franz-go", "mechanism": "AWS_MSK_IAM"}, "give user and password"),
        ({"library": "franz-go", "mechanism": "AWS_MSK_IAM", "user": "a"}, "give user and password"),
        ({"library": "conflent"}, "settings are known for java, .*, not for 'conflent'"),
        ({"library": "java", "listener": "SSL"}, "no listener 'SSL': there are SASL_PLAINTEXT"),
    ],
)
def test_a_mistake_is_told(given: dict[str, Any], message: str) -> None:
    with (
        FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka,
        pytest.raises(ValueError, match=message),
    ):
        kafka.client_settings(**given)
