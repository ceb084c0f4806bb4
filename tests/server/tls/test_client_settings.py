"""Mistakes in what is asked of `client_settings`."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker import FakeCluster


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"library": "confluent", "user": "alice"}, "give user and password"),
        ({"library": "confluent", "password": "p"}, "give user and password"),
        (
            {"library": "confluent", "user": "a", "password": "p", "mechanism": "SCRAM-256"},
            "a mechanism is PLAIN, SCRAM",
        ),
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
