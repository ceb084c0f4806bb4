"""Delegation tokens, asked for by clients that have authenticated by SASL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from conformance.frames import request
from conformance.scenario import Case, Hear, Send, Settle

_LISTENER = "SASL_PLAINTEXT"
_DAY = timedelta(days=1)
_LOGIN = (
    request(17, 1, {"mechanism": "PLAIN"}, 1),
    request(36, 2, {"auth_bytes": b"\0alice\0secret"}, 2),
)
_NO_PERIOD = timedelta(milliseconds=-1)


def _case(name: str, why: str, *frames: bytes, box: str = "sasl") -> Case:
    login = (Send(_LOGIN, listener=_LISTENER), Hear(2))
    return Case(f"sasl-token/{name}", why, (*login, Send(frames), Settle()), box=box)


def _create(version: int, correlation_id: int = 3, **values: Any) -> bytes:
    given = {"owner_principal_type": None, "owner_principal_name": None, "renewers": [], "max_lifetime": _DAY} | values
    return request(38, version, given, correlation_id)


def _renew(version: int, correlation_id: int = 4, period: timedelta = _DAY) -> bytes:
    return request(39, version, {"hmac": b"unknown", "renew_period": period}, correlation_id)


def _expire(version: int, correlation_id: int = 5, period: timedelta = _DAY) -> bytes:
    return request(40, version, {"hmac": b"unknown", "expiry_time_period": period}, correlation_id)


def _describe(version: int, owners: list[dict[str, str]] | None, correlation_id: int = 6) -> bytes:
    return request(41, version, {"owners": owners}, correlation_id)


_NOBODY = [{"principal_type": "User", "principal_name": "nobody"}]
_RENEWER = {"principal_type": "User", "principal_name": "bob"}
_GROUP = {"principal_type": "Group", "principal_name": "g"}
_OWNER: dict[str, Any] = {"owner_principal_type": "User", "owner_principal_name": "carol"}

CASES: list[Case] = [
    *(
        _case(
            f"create-v{version}",
            "a token with a lifetime of one day",
            _create(version),
            _create(version, 4, renewers=[_RENEWER]),
        )
        for version in range(1, 4)
    ),
    _case("create-for-another", "without an authorizer: a token for any owner", _create(3, **_OWNER)),
    _case(
        "create-for-a-group",
        "the principal type of an owner is not checked",
        _create(3, owner_principal_type="Group", owner_principal_name="g"),
    ),
    _case("create-longest", "a lifetime of 0 or less is the maximum", _create(3, max_lifetime=_NO_PERIOD)),
    _case("create-short", "a lifetime of one second", _create(3, max_lifetime=timedelta(seconds=1))),
    *(
        _case(
            f"renewer-of-another-type-v{version}",
            "a renewer must have the principal type User",
            _create(version, renewers=[_RENEWER, _GROUP]),
        )
        for version in range(1, 4)
    ),
    *(
        _case(
            f"unknown-v{version}",
            "an unknown HMAC",
            _renew(version),
            _expire(version),
            _expire(version, 6, _NO_PERIOD),
        )
        for version in range(1, 3)
    ),
    *(
        _case(f"describe-v{version}", "owners without tokens", _describe(version, []), _describe(version, _NOBODY))
        for version in range(1, 4)
    ),
    *(
        _case(
            f"disabled-v{version}",
            "a broker without delegation.token.secret.key",
            _create(version),
            _create(version, 8, renewers=[_GROUP]),
            *((_renew(version), _expire(version)) if version < 3 else ()),
            _describe(version, None),
            _describe(version, [], 7),
            box="sasl-sessions",
        )
        for version in range(1, 4)
    ),
]
