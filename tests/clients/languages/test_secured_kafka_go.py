"""kafka-go over TLS and SASL, with the settings of `client_settings`.

The metadata that its writer asks for names no topic, so a topic that is denied is unknown to it. It has neither
OAUTHBEARER nor a transactional producer: the transaction here is its InitProducerId request alone.
"""

from __future__ import annotations

import pytest
from support.secured import Secured
from support.secured_cases import Error, SecuredClient

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

REFUSALS = {
    "wrong password, PLAIN": Error(
        "SASL Authentication Failed",
        "[58] SASL Authentication Failed: SASL Authentication failed: Authentication failed",
    ),
    "wrong password, SCRAM-SHA-256": Error(
        "SASL Authentication Failed",
        "[58] SASL Authentication Failed: SASL Authentication failed: Authentication failed",
    ),
    "wrong password, SCRAM-SHA-512": Error(
        "SASL Authentication Failed",
        "[58] SASL Authentication Failed: SASL Authentication failed: Authentication failed",
    ),
    "unknown issuer": Error("", "tls: failed to verify certificate: x509: certificate signed by unknown authority"),
    "expired certificate": Error(
        "", "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
    ),
    "wrong host": Error("", "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1"),
    "no certificate": Error("", "remote error: tls: certificate required"),
    "denied certificate": Error("Unknown Topic Or Partition", "[3] Unknown Topic Or Partition"),
    "denied topic, producer": Error("Unknown Topic Or Partition", "[3] Unknown Topic Or Partition"),
    "denied topic, consumer": Error("Topic Authorization Failed", "fetching message: [29] Topic Authorization Failed"),
    "denied group": Error("Group Authorization Failed", "fetching message: [30] Group Authorization Failed"),
    "denied transactional id": Error(
        "Transactional ID Authorization Failed", "[53] Transactional ID Authorization Failed"
    ),
}


class TestKafkaGo(SecuredClient):
    library = "kafka-go"
    refusals = REFUSALS

    def without(self) -> set[str]:
        return {"expired token"}

    def test_a_user_with_a_token_sends_and_reads(self, secured: Secured) -> None:
        with pytest.raises(ValueError, match="kafka-go has no OAUTHBEARER"):
            secured.token()

    def test_a_user_commits_a_transaction(self, secured: Secured) -> None:
        assert secured.play("transaction", secured.password("SCRAM-SHA-512")) == {"value": secured.last}
