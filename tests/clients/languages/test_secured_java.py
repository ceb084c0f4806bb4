"""Apache Kafka's own clients over TLS and SASL, with the settings of `client_settings`."""

from __future__ import annotations

import pytest
from support.secured_cases import Error, SecuredClient

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

REFUSALS = {
    "wrong password, PLAIN": Error("SaslAuthenticationException", "Authentication failed"),
    "wrong password, SCRAM-SHA-256": Error("SaslAuthenticationException", "Authentication failed"),
    "wrong password, SCRAM-SHA-512": Error("SaslAuthenticationException", "Authentication failed"),
    "expired token": Error("SaslAuthenticationException", '{"status":"invalid_token"}'),
    "unknown issuer": Error(
        "SslAuthenticationException", "unable to find valid certification path to requested target"
    ),
    "expired certificate": Error("SslAuthenticationException", "CertPathValidatorException: validity check failed"),
    "wrong host": Error(
        "SslAuthenticationException", "No subject alternative names matching IP address 127.0.0.1 found"
    ),
    "no certificate": Error("SslAuthenticationException", "Received fatal alert: certificate_required"),
    "denied certificate": Error("TopicAuthorizationException", "Not authorized to access topics: [orders]"),
    "denied topic, producer": Error("TopicAuthorizationException", "Not authorized to access topics: [denied]"),
    "denied topic, consumer": Error("TopicAuthorizationException", "Not authorized to access topics: [denied]"),
    "denied group": Error("GroupAuthorizationException", "Not authorized to access group: denied"),
    "denied transactional id": Error("TransactionalIdAuthorizationException", "Transactional Id authorization failed."),
}


class TestJava(SecuredClient):
    library = "java"
    refusals = REFUSALS
