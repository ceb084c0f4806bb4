"""franz-go over TLS and SASL, with the settings of `client_settings`.

franz-go reports no text of the broker for a token: it takes the broker's explanation for unexpected data.
"""

from __future__ import annotations

import pytest
from support.secured_cases import Error, SecuredClient

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

REFUSALS = {
    "wrong password, PLAIN": Error("SASL_AUTHENTICATION_FAILED", "SASL Authentication failed.: Authentication failed"),
    "wrong password, SCRAM-SHA-256": Error(
        "SASL_AUTHENTICATION_FAILED", "SASL Authentication failed.: Authentication failed"
    ),
    "wrong password, SCRAM-SHA-512": Error(
        "SASL_AUTHENTICATION_FAILED", "SASL Authentication failed.: Authentication failed"
    ),
    "expired token": Error("", "unexpected data in oauth response"),
    "unknown issuer": Error(
        "", "unable to dial: tls: failed to verify certificate: x509: certificate signed by unknown authority"
    ),
    "expired certificate": Error(
        "", "unable to dial: tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
    ),
    "wrong host": Error(
        "", "unable to dial: tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1"
    ),
    "no certificate": Error("", "remote error: tls: certificate required"),
    "denied certificate": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied topic, producer": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied topic, consumer": Error("TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
    "denied group": Error("GROUP_AUTHORIZATION_FAILED", "unable to join group session"),
    "denied transactional id": Error("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "unable to initialize a producer ID"),
}


class TestFranzGo(SecuredClient):
    library = "franz-go"
    refusals = REFUSALS
