"""Delegation tokens (KIP-48): made for a principal, renewed, expired, and used as a password of SCRAM.

Theory   The id of a token is the user name, and its HMAC, as base64, the password. A token is valid until its expiry,
         which a renewal moves, never beyond its last possible time. Expired tokens are removed at an interval; until
         then they are described, and a login with one begins a session that has ended already.
Source   metadata/.../controller/DelegationTokenControlManager.java, server-common/.../security/
         DelegationTokenManager.java, clients/.../token/delegation/internals/DelegationTokenCache.java @ 4.4.
Differs  The credentials of a token are made with its first login by a mechanism, not when the token is made. A token
         expires in the year 9999 at the latest.
Units    wall milliseconds.
Errors   KafkaError with the error code of the API.
"""

from __future__ import annotations

import hmac
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, final

from fakebroker.core.clock import NEVER_MS
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.core.security.sasl.scram import Credential
from fakebroker.core.security.sasl.scram_formatter import (
    MECHANISMS,
    MIN_ITERATIONS,
    ScramKeys,
    keys_of,
    random_text,
    salted,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

_LAST_MS: Final = 253_402_300_799_999  # the end of the year 9999: messages have no later time here
_ID_BYTES: Final = 16
_BY_NAME: Final = {mechanism.name: mechanism for mechanism in MECHANISMS.values()}


@dataclass(frozen=True)
class DelegationToken:
    """A token. `requester` has made it for `owner`; the owner and the `renewers` may renew and expire it. All of
    them may see it."""

    token_id: str
    hmac: bytes
    owner: KafkaPrincipal
    requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_ms: int
    max_ms: int
    expiry_ms: int
    credentials: dict[str, ScramKeys] = field(default_factory=dict, compare=False, repr=False)  # by mechanism

    def is_of(self, principal: KafkaPrincipal) -> bool:
        """Return True for the owner and the renewers."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: KafkaPrincipal) -> bool:
        """Return True for the owner, the renewers and the requester (TokenInformation.ownerOrRenewer). In Kafka a
        broker asks so before it describes a token; the controller, which renews it, does not count the requester."""
        return self.is_of(principal) or principal == self.requester

    def has_expired(self, now_ms: int) -> bool:
        return self.max_ms < now_ms or self.expiry_ms < now_ms


@final
class DelegationTokens:
    """All tokens of a cluster. Without a `secret` there are none."""

    def __init__(self, secret: str | None, max_lifetime_ms: int, expiry_time_ms: int, random: Random) -> None:
        """`random` gives ids and salts."""
        self._secret = (secret or "").encode()
        self._max_lifetime_ms = max_lifetime_ms
        self._expiry_time_ms = expiry_time_ms
        self._random = random
        self._tokens: dict[str, DelegationToken] = {}
        self._ids: dict[bytes, str] = {}  # by HMAC

    @property
    def is_enabled(self) -> bool:
        return bool(self._secret)

    def all(self) -> list[DelegationToken]:
        """Return the tokens, in the order in which they were made."""
        return list(self._tokens.values())

    def create(
        self,
        owner: KafkaPrincipal,
        requester: KafkaPrincipal,
        renewers: Sequence[KafkaPrincipal],
        max_lifetime_ms: int,
        now_ms: int,
    ) -> DelegationToken:
        """Make a token. A `max_lifetime_ms` that is not positive stands for the longest."""
        self._check_enabled()
        lifetime_ms = self._max_lifetime_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, self._max_lifetime_ms)
        max_ms = _sum(now_ms, lifetime_ms)
        token_id = self._new_id()
        token = DelegationToken(
            token_id,
            hmac.digest(self._secret, token_id.encode(), "sha512"),
            owner,
            requester,
            tuple(renewers),
            now_ms,
            max_ms,
            min(max_ms, _sum(now_ms, self._expiry_time_ms)),
        )
        self._tokens[token_id] = token
        self._ids[token.hmac] = token_id
        return token

    def renew(self, hmac_: bytes, principal: KafkaPrincipal, period_ms: int, now_ms: int) -> int:
        """Renew a token, and return when it expires. A `period_ms` that is not positive stands for the longest."""
        token = self._of(hmac_)
        if token.has_expired(now_ms):
            raise KafkaError(ErrorCode.delegation_token_expired, "")
        _check_owner(token, principal)
        period_ms = self._expiry_time_ms if period_ms <= 0 else min(period_ms, self._expiry_time_ms)
        return self._set_expiry(token, _sum(now_ms, period_ms))

    def expire(self, hmac_: bytes, principal: KafkaPrincipal, period_ms: int, now_ms: int) -> int:
        """Let a token expire after `period_ms`, or remove it if that is negative. Return when it expires."""
        token = self._of(hmac_)
        _check_owner(token, principal)
        if period_ms < 0:
            self._remove(token)
            return now_ms
        if token.has_expired(now_ms):
            raise KafkaError(ErrorCode.delegation_token_expired, "")
        return self._set_expiry(token, _sum(now_ms, period_ms))

    def sweep_expired(self, now_ms: int) -> None:
        """Remove the tokens that have expired."""
        for token in self.all():
            if token.has_expired(now_ms):
                self._remove(token)

    def next_expiry_ms(self) -> int:
        """Return when the next token has expired."""
        return min((token.expiry_ms + 1 for token in self._tokens.values()), default=NEVER_MS)

    def credential(self, mechanism: str, token_id: str) -> Credential | None:
        """Return the credential of a token for a login by SCRAM; None if there is no such token."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        if mechanism not in token.credentials:
            how, salt = _BY_NAME[mechanism], random_text(self._random).encode()
            password = salted(how, b64encode(token.hmac).decode(), salt, MIN_ITERATIONS)
            token.credentials[mechanism] = keys_of(how, password, salt, MIN_ITERATIONS)
        return Credential(token.credentials[mechanism], token.owner.name, token.expiry_ms)

    def _set_expiry(self, token: DelegationToken, expiry_ms: int) -> int:
        expiry_ms = min(token.max_ms, expiry_ms)
        self._tokens[token.token_id] = replace(token, expiry_ms=expiry_ms)
        return expiry_ms

    def _of(self, hmac_: bytes) -> DelegationToken:
        self._check_enabled()
        token_id = self._ids.get(hmac_)
        if token_id is None:
            raise KafkaError(ErrorCode.delegation_token_not_found, "")
        return self._tokens[token_id]

    def _remove(self, token: DelegationToken) -> None:
        del self._tokens[token.token_id], self._ids[token.hmac]

    def _check_enabled(self) -> None:
        if not self.is_enabled:
            raise KafkaError(ErrorCode.delegation_token_auth_disabled, "")

    def _new_id(self) -> str:
        """Return a UUID as Kafka writes it. It does not begin with a dash: such an id is hard to type."""
        while True:
            token_id = urlsafe_b64encode(self._random.randbytes(_ID_BYTES)).decode().rstrip("=")
            if not token_id.startswith("-") and token_id not in self._tokens:
                return token_id


def _check_owner(token: DelegationToken, principal: KafkaPrincipal) -> None:
    if not token.is_of(principal):
        raise KafkaError(ErrorCode.delegation_token_owner_mismatch, "")


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, _LAST_MS)
