"""KafkaJS over TLS and SASL, with the settings of `client_settings`.

KafkaJS does not finish a login with a token that is refused, but goes on: its next request is the one that fails. It
hides why it has no coordinator.
"""

from __future__ import annotations

import pytest
from support.secured_cases import Error, SecuredClient

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

REFUSALS = {
    "wrong password, PLAIN": Error(
        "KafkaJSSASLAuthenticationError",
        "SASL PLAIN authentication failed: Authentication failed: Invalid username or password",
    ),
    "wrong password, SCRAM-SHA-256": Error(
        "KafkaJSSASLAuthenticationError", "SASL SCRAM SHA256 authentication failed: Authentication failed"
    ),
    "wrong password, SCRAM-SHA-512": Error(
        "KafkaJSSASLAuthenticationError", "SASL SCRAM SHA512 authentication failed: Authentication failed"
    ),
    "expired token": Error("ILLEGAL_SASL_STATE", "Request is not valid given the current SASL state"),
    "unknown issuer": Error("KafkaJSConnectionError", "Connection error: unable to verify the first certificate"),
    "expired certificate": Error("KafkaJSConnectionError", "Connection error: certificate has expired"),
    "wrong host": Error("KafkaJSConnectionError", "Hostname/IP does not match certificate's altnames"),
    "no certificate": Error("KafkaJSConnectionError", "alert certificate required"),
    "denied certificate": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied topic, producer": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied topic, consumer": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied group": Error("KafkaJSGroupCoordinatorNotFound", "Failed to find group coordinator"),
    "denied transactional id": Error("KafkaJSGroupCoordinatorNotFound", "Failed to find group coordinator"),
}


class TestKafkaJS(SecuredClient):
    library = "kafkajs"
    refusals = REFUSALS
