"""Sarama over TLS and SASL, with the settings of `client_settings`."""

from __future__ import annotations

import pytest
from support.secured_cases import Error, SecuredClient

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

NO_BROKER = "kafka: client has run out of available brokers to talk to: "
REFUSALS = {
    "wrong password, PLAIN": Error(
        "",
        f"{NO_BROKER}kafka server: SASL Authentication failed: Authentication failed",
    ),
    "wrong password, SCRAM-SHA-256": Error(
        "",
        f"{NO_BROKER}kafka server: SASL Authentication failed: Authentication failed",
    ),
    "wrong password, SCRAM-SHA-512": Error(
        "",
        f"{NO_BROKER}kafka server: SASL Authentication failed: Authentication failed",
    ),
    "expired token": Error(
        "",
        f"{NO_BROKER}kafka server: SASL Authentication failed: Authentication failed",
    ),
    "unknown issuer": Error(
        "",
        f"{NO_BROKER}tls: failed to verify certificate: x509: certificate signed by unknown authority",
    ),
    "expired certificate": Error(
        "",
        f"{NO_BROKER}tls: failed to verify certificate: x509: certificate has expired or is not yet valid",
    ),
    "wrong host": Error(
        "",
        f"{NO_BROKER}tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1",
    ),
    "no certificate": Error("", f"{NO_BROKER}remote error: tls: certificate required"),
    "denied certificate": Error(
        "ErrTopicAuthorizationFailed", "orders: kafka server: The client is not authorized to access this topic"
    ),
    "denied topic, producer": Error(
        "ErrTopicAuthorizationFailed", "denied: kafka server: The client is not authorized to access this topic"
    ),
    "denied topic, consumer": Error(
        "ErrTopicAuthorizationFailed", "denied: kafka server: The client is not authorized to access this topic"
    ),
    "denied group": Error("ErrGroupAuthorizationFailed", "The client is not authorized to access this group"),
    "denied transactional id": Error("ErrTransactionalIDAuthorizationFailed", "Transactional ID authorization failed"),
}


class TestSarama(SecuredClient):
    library = "sarama"
    refusals = REFUSALS
