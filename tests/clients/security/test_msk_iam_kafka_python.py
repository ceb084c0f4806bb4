"""kafka-python over AWS_MSK_IAM. It signs by itself, with credentials of botocore, which a stand-in has here."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.log_reader import read_values
from support.msk_iam import ACCESS_KEY, CREDENTIALS, REGION, SECRET
from support.secured_sends import TOPIC, VALUE, by_kafka_python, refused

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Login

pytestmark = [pytest.mark.clients, pytest.mark.slow]

LISTENERS = ["PLAINTEXT", "SASL_SSL"]


def stand_in(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    """Let kafka-python find the session of a botocore that has these credentials."""
    frozen = SimpleNamespace(access_key=ACCESS_KEY, secret_key=secret, token="IQoJ/+==")
    credentials = SimpleNamespace(get_frozen_credentials=lambda: frozen)
    session: Any = ModuleType("botocore.session")
    session.Session = lambda: SimpleNamespace(
        get_credentials=lambda: credentials, get_config_variable={"region": REGION}.get
    )
    monkeypatch.setitem(sys.modules, "botocore", ModuleType("botocore"))
    monkeypatch.setitem(sys.modules, "botocore.session", session)


def settings_of(kafka: FakeCluster) -> dict[str, Any]:
    settings = kafka.client_settings("kafka-python", "SASL_SSL", user="unused", password="unused")
    return {name: value for name, value in settings.items() if not name.startswith("sasl_plain")} | {
        "sasl_mechanism": "AWS_MSK_IAM"
    }


def logins(kafka: FakeCluster) -> list[Login]:
    return [event for event in kafka.journal if isinstance(event, Login)]


def test_kafka_python_logs_in_with_a_session_token(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, SECRET)
    with FakeCluster(brokers=1, listeners=LISTENERS, config=CREDENTIALS) as kafka:
        kafka.create_topic(TOPIC, partitions=1)
        by_kafka_python(settings_of(kafka), None, 60_000)
        assert read_values(kafka, TOPIC) == [VALUE]
        assert {(login.mechanism, login.principal) for login in logins(kafka)} == {
            ("AWS_MSK_IAM", f"User:{ACCESS_KEY}")
        }


def test_kafka_python_is_refused_with_a_wrong_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "wrong")
    with FakeCluster(brokers=1, listeners=LISTENERS, config=CREDENTIALS) as kafka:
        kafka.create_topic(TOPIC, partitions=1)
        refused("kafka-python", settings_of(kafka), lambda: logins(kafka), "the refusal of the login")
        assert {login.error for login in logins(kafka)} == {"SASL_AUTHENTICATION_FAILED"}
        assert all("x-amz-signature is wrong" in login.reason for login in logins(kafka))
        assert read_values(kafka, TOPIC) == []
