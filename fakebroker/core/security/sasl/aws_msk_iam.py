"""AWS_MSK_IAM, the mechanism of Amazon MSK: the client sends one JSON object with a signature of its IAM credentials.

Theory   The message has texts alone. All of them are signed (sig_v4.py), except the version and the user agent. The
         answer is a JSON object with the version and a request id. A refusal begins as MSK's does, with a request id
         and "Access denied" or "Invalid authentication payload". The reason follows: users of this broker test signers.
         A wrong signature is refused with the canonical request and the string to sign of the broker. Neither a secret
         nor the right signature is shown, and of a session token only its length.
Source   README.md, IAMSaslClient, AWS4SignedPayloadGenerator and AuthenticationResponse of aws-msk-iam-auth 2.3;
         franz-go pkg/sasl/aws; AwsMskIamClient of kafka-python.
Differs  MSK gives no reason, asks IAM for policies, and checks session tokens and the region. The code of its brokers
         is not public: the limits of size and of clocks that run ahead are ours. The principal is the access key, or
         the user of the setting; with MSK it is the ARN of the identity.
Units    wall milliseconds; `x-amz-expires` is seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from typing import Final, NamedTuple, final

from fakebroker.core.iam_access_keys import CREDENTIALS, AccessKey
from fakebroker.core.security.sasl.sasl_server import SaslAuthenticationError, SaslServer
from fakebroker.core.security.sasl.sig_v4 import (
    ALGORITHM,
    QUERY,
    SECURITY_TOKEN,
    SERVICE,
    SIGNED_HEADERS,
    TERMINATOR,
    canonical_request,
    signature_of,
    string_to_sign,
)

MECHANISM: Final = "AWS_MSK_IAM"
_SIGNATURE: Final = "x-amz-signature"
_USER_AGENT: Final = "user-agent"
_CONSTANTS: Final = {
    "version": "2020_10_22",
    "action": f"{SERVICE}:Connect",
    "x-amz-algorithm": ALGORITHM,
    "x-amz-signedheaders": SIGNED_HEADERS,
}
_FIELDS: Final = ("version", "host", _USER_AGENT, *QUERY, _SIGNATURE)
_MOST_BYTES: Final = 32_768  # a session token has about 1,000 characters
_SHOWN_CHARACTERS: Final = 80
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_CREDENTIAL: Final = re.compile(r"([A-Za-z0-9_]{1,128})/([0-9]{8})/([a-z0-9-]{1,64})/([^/]*)/([^/]*)")
_DATE: Final = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})Z")
_EXPIRES: Final = re.compile(r"[1-9][0-9]{0,2}")
_MOST_EXPIRES_S: Final = 900
_MOST_AHEAD_MS: Final = 300_000  # of the client's clock
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOOPBACKS: Final = ("localhost", "127.0.0.1", "::1")
_WILDCARDS: Final = ("", "0.0.0.0", "::")


class _InvalidMessage(Exception):
    """A message that is not one of the mechanism."""


class _DeniedLogin(Exception):
    """A message of the right form with a wrong host, access key, signature or time."""


class IamRules(NamedTuple):
    """The access keys and hosts against which a message is checked.

    access_keys  the known access keys by id
    hosts        where the listener listens and what it advertises; not checked if one stands for all addresses
    """

    access_keys: Mapping[str, AccessKey]
    hosts: Collection[str]


class _Credential(NamedTuple):
    access_key: str
    day: str
    region: str


@final
class AwsMskIamSaslServer(SaslServer):
    """An exchange of one message. `request_id` returns a new id, `now_ms` the wall time."""

    refusal = "Access denied"

    def __init__(self, rules: IamRules, request_id: Callable[[], str], now_ms: Callable[[], int]) -> None:
        super().__init__()
        self._rules = rules
        self._request_id = request_id
        self._now_ms = now_ms

    def evaluate_response(self, response: bytes) -> bytes:
        request_id = self._request_id()
        try:
            user = _checked(response, self._rules, self._now_ms())
        except _InvalidMessage as invalid:
            raise SaslAuthenticationError(f"[{request_id}]: Invalid authentication payload: {invalid}") from None
        except _DeniedLogin as denied:
            raise SaslAuthenticationError(f"[{request_id}]: Access denied: {denied}") from None
        self.authorization_id = user
        self.is_complete = True
        return json.dumps({"version": _CONSTANTS["version"], "request-id": request_id}).encode()

    def claims(self, response: bytes) -> str:
        try:
            known = self._rules.access_keys.get(_credential(_read(response)).access_key)
        except _InvalidMessage:
            return ""
        return "" if known is None else known.user


def _checked(message: bytes, rules: IamRules, now_ms: int) -> str:
    """Return the user of the access key that has signed the message."""
    fields = _read(message)
    for name, value in _CONSTANTS.items():
        if fields[name] != value:
            raise _InvalidMessage(f"{name} is {_shown(fields[name])}; it has to be {_shown(value)}")
    credential, begins_ms, expires_s = _credential(fields), _begin_ms(fields["x-amz-date"]), _expires_s(fields)
    if credential.day != fields["x-amz-date"][:8]:
        raise _InvalidMessage(
            f"x-amz-credential is of the day {credential.day}, and x-amz-date is {fields['x-amz-date']}"
        )
    _check_host(fields["host"], rules.hosts)
    known = rules.access_keys.get(credential.access_key)
    if known is None:
        raise _DeniedLogin(f"the access key {credential.access_key} is not one of those in {CREDENTIALS}")
    _check_signature(fields, credential, known)
    _check_times(fields["x-amz-date"], begins_ms, expires_s, now_ms)
    return known.user


def _read(message: bytes) -> dict[str, str]:
    """Return the fields of a message: each that there must be, and no other."""
    if len(message) > _MOST_BYTES:
        raise _InvalidMessage(f"the message has {len(message)} bytes; at most {_MOST_BYTES} are read")
    try:
        parsed = json.loads(message.decode(), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        raise _InvalidMessage("the message is not JSON in UTF-8") from None
    if not isinstance(parsed, _Pairs):
        raise _InvalidMessage("the message is not a JSON object")
    fields: dict[str, str] = {}
    for name, value in parsed.pairs:
        if name not in _FIELDS:
            raise _InvalidMessage(f"the field {_shown(name)} is unknown; names are in lower case")
        if name in fields:
            raise _InvalidMessage(f"the field {name} comes twice")
        if not isinstance(value, str) or not value:
            raise _InvalidMessage(f"{name} is not a text, or is empty")
        if name != _USER_AGENT and not _VISIBLE.fullmatch(value):
            raise _InvalidMessage(f"{name} has other characters than the visible ones of ASCII")
        fields[name] = value
    if missing := [name for name in _FIELDS if name not in fields and name != SECURITY_TOKEN]:
        raise _InvalidMessage(f"the field {missing[0]} is missing")
    return fields


class _Pairs:
    """The fields of a JSON object, with duplicates."""

    def __init__(self, pairs: Sequence[tuple[str, object]]) -> None:
        self.pairs = pairs


def _credential(fields: Mapping[str, str]) -> _Credential:
    text = fields["x-amz-credential"]
    match = _CREDENTIAL.fullmatch(text)
    if match is None or (match[4], match[5]) != (SERVICE, TERMINATOR):
        raise _InvalidMessage(
            f"x-amz-credential is {_shown(text)}; it has to be ACCESSKEY/YYYYMMDD/REGION/{SERVICE}/{TERMINATOR}"
        )
    return _Credential(match[1], match[2], match[3])


def _begin_ms(date: str) -> int:
    """Return the wall time of `x-amz-date`."""
    match = _DATE.fullmatch(date)
    if match is not None:
        year, month, day, hour, minute, second = (int(part) for part in match.groups())
        try:
            return (datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
        except ValueError:
            pass
    raise _InvalidMessage(f"x-amz-date is {_shown(date)}; it has to be a time as in 20260131T235959Z")


def _expires_s(fields: Mapping[str, str]) -> int:
    text = fields["x-amz-expires"]
    if not _EXPIRES.fullmatch(text) or int(text) > _MOST_EXPIRES_S:
        raise _InvalidMessage(f"x-amz-expires is {_shown(text)}; it has to be 1 to {_MOST_EXPIRES_S} seconds")
    return int(text)


def _check_host(host: str, hosts: Collection[str]) -> None:
    """Check that the client has connected to the host that it signs. Names of the machine itself are equal."""
    known = {known_host.lower().strip("[]") for known_host in hosts}
    if not known.isdisjoint(_LOOPBACKS):
        known.update(_LOOPBACKS)
    if known.isdisjoint(_WILDCARDS) and host.lower().strip("[]") not in known:
        raise _DeniedLogin(f"host is {_shown(host)}; the listener is {', '.join(sorted(known))}, without a port")


def _check_signature(fields: Mapping[str, str], credential: _Credential, known: AccessKey) -> None:
    text = string_to_sign(canonical_request(fields), fields["x-amz-date"], credential.region)
    right = signature_of(text, known.secret, credential.day, credential.region)
    if compare_digest(right, fields[_SIGNATURE]):
        return
    token = fields.get(SECURITY_TOKEN)
    hidden = fields if token is None else {**fields, SECURITY_TOKEN: f"({len(token)}-characters)"}
    raise _DeniedLogin(
        f"x-amz-signature is wrong for the access key {credential.access_key}. The canonical request of the broker is "
        f"{json.dumps(canonical_request(hidden))}, and its string to sign is {json.dumps(text)}"
    )


def _check_times(date: str, begins_ms: int, expires_s: int, now_ms: int) -> None:
    clock = f"the clock of the cluster is at {now_ms} ms"
    if begins_ms > now_ms + _MOST_AHEAD_MS:
        ahead_ms = begins_ms - now_ms
        raise _DeniedLogin(f"x-amz-date is {date}, which is {ahead_ms} ms ahead of the cluster's clock; {clock}")
    if now_ms >= begins_ms + expires_s * 1000:
        raise _DeniedLogin(f"the signature of {date} has expired after {expires_s} s; {clock}")


def _shown(text: str) -> str:
    """Return a text of a client in quotes, cut off and escaped."""
    return json.dumps(text[:_SHOWN_CHARACTERS]) + ("..." if len(text) > _SHOWN_CHARACTERS else "")
