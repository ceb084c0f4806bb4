"""The tests of one library over TLS and SASL. Each module of tests/clients/languages has a class that inherits them and
states which error a user of that library sees in each case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

from support.secured import DENIED, USERS, Secured

HOUR_MS = 3_600_000
Played = Callable[[Secured], dict[str, str]]


class Error(NamedTuple):
    """An error as a user of a library sees it: its name ("" where the library has only a text), and a part of the
    text."""

    name: str
    text: str


def _wrong_password(mechanism: str) -> Played:
    return lambda secured: secured.play("round trip", secured.password(mechanism, "wrong"))


def _presented(what: str) -> Played:
    def play(secured: Secured) -> dict[str, str]:
        secured.kafka.tls.present(what)
        try:
            return secured.play("round trip", secured.password("PLAIN"))
        finally:
            secured.kafka.tls.present()

    return play


def _expired_token(secured: Secured) -> dict[str, str]:
    return secured.play("round trip", secured.token(lifetime_ms=-HOUR_MS, claims={"iat": 1}))


def _denied(do: str, **names: str) -> Played:
    return lambda secured: secured.play(do, secured.password("SCRAM-SHA-512"), **names)


class Refusal(NamedTuple):
    """A play that is refused, and the mechanism of a login that fails by it, if the journal has one."""

    play: Played
    mechanism: str | None = None


# The cases in which fakebroker presents another certificate.
PRESENTED = {"unknown issuer": "unknown issuer", "expired certificate": "expired", "wrong host": "wrong host"}
REFUSED: Mapping[str, Refusal] = {
    **{f"wrong password, {mechanism}": Refusal(_wrong_password(mechanism), mechanism) for mechanism in USERS},
    "expired token": Refusal(_expired_token),
    **{case: Refusal(_presented(what)) for case, what in PRESENTED.items()},
    "no certificate": Refusal(lambda secured: secured.play("round trip", secured.certificate(None))),
    "denied certificate": Refusal(lambda secured: secured.play("round trip", secured.certificate("mallory"))),
    "denied topic, producer": Refusal(_denied("round trip", topic=DENIED)),
    "denied topic, consumer": Refusal(_denied("group", topic=DENIED)),
    "denied group": Refusal(_denied("group", group=DENIED)),
    "denied transactional id": Refusal(_denied("transaction", transactional_id=DENIED)),
}


class SecuredClient:
    """Tests of one library. `refusals` has an error for each case of REFUSED that the library can come to."""

    library: ClassVar[str]
    refusals: ClassVar[Mapping[str, Error]]

    def test_the_cases_are_complete(self) -> None:
        assert REFUSED.keys() - self.refusals.keys() == self.without()

    def without(self) -> set[str]:
        """Return the names of cases that the library cannot come to."""
        return set()

    def test_a_user_with_a_password_sends_and_reads(self, secured: Secured, mechanism: str) -> None:
        assert secured.play("round trip", secured.password(mechanism)) == {"value": secured.last}
        assert secured.is_in_log()
        assert secured.logins() == {(mechanism, f"User:{USERS[mechanism][0]}", "NONE")}

    def test_a_user_with_a_token_sends_and_reads(self, secured: Secured) -> None:
        assert secured.play("round trip", secured.token()) == {"value": secured.last}
        assert secured.is_in_log()
        assert secured.logins() == {("OAUTHBEARER", "User:dave", "NONE")}

    def test_a_user_with_a_certificate_sends_and_reads(self, secured: Secured) -> None:
        assert secured.play("round trip", secured.certificate("alice")) == {"value": secured.last}
        assert secured.is_in_log()

    def test_a_user_reads_in_a_group(self, secured: Secured) -> None:
        secured.play("round trip", secured.password("SCRAM-SHA-256"))
        assert secured.play("group", secured.password("SCRAM-SHA-256")) == {"value": secured.values()[0]}

    def test_a_user_commits_a_transaction(self, secured: Secured) -> None:
        assert secured.play("transaction", secured.password("SCRAM-SHA-512")) == {"value": secured.last}
        assert secured.is_in_log()

    def test_a_client_is_refused(self, secured: Secured, refusal: str) -> None:
        play, mechanism = REFUSED[refusal]
        outcome, expected = play(secured), self.refusals[refusal]
        assert outcome.get("error", "") == expected.name, outcome
        assert expected.text in outcome.get("text", ""), outcome
        assert not secured.is_in_log()
        if mechanism is not None:
            assert secured.logins() == {(mechanism, "", "SASL_AUTHENTICATION_FAILED")}
