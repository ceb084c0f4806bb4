"""SCRAM credentials, delegation tokens, ACLs and SASL: what a Kafka without security answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from conformance.config_frames import one_by_one
from conformance.frames import request
from conformance.scenario import Case, Send, Settle

_SHA_256, _SHA_512 = 1, 2
_SALT = b"salt of conformance"
_PASSWORD = b"\1" * 32


def _case(name: str, why: str, *frames: bytes) -> Case:
    return Case(name, why, one_by_one(*frames), box="quotas")


def _sent(name: str, why: str, *frames: bytes) -> Case:
    """Return a case in which the connection may end."""
    return Case(name, why, (Send(frames), Settle()), box="quotas")


def _scram(*users: str | None, correlation_id: int = 1) -> bytes:
    values: dict[str, Any] = {"users": None if users == (None,) else [{"name": name} for name in users]}
    return request(50, 0, values, correlation_id)


def _upsert(
    name: str, mechanism: int = _SHA_256, iterations: int = 4096, password: bytes = _PASSWORD, salt: bytes = _SALT
) -> dict[str, Any]:
    return {"name": name, "mechanism": mechanism, "iterations": iterations, "salt": salt, "salted_password": password}


def _alter_scram(
    upsertions: Sequence[dict[str, Any]] = (), deletions: Sequence[tuple[str, int]] = (), correlation_id: int = 1
) -> bytes:
    values = {
        "deletions": [{"name": name, "mechanism": how} for name, how in deletions],
        "upsertions": list(upsertions),
    }
    return request(51, 0, values, correlation_id)


def _renewed(version: int) -> tuple[bytes, ...]:
    if version > 2:
        return ()
    return (
        request(39, version, {"hmac": b"x", "renew_period": timedelta(days=1)}, 3),
        request(40, version, {"hmac": b"x", "expiry_time_period": timedelta(days=1)}, 4),
    )


_ACL: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:u",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_BAD_ACLS: dict[str, dict[str, Any]] = {
    "type-0": {"resource_type": 0},
    "type-any": {"resource_type": 1},
    "operation-any": {"operation": 1},
    "pattern-match": {"resource_pattern_type": 2},
    "permission-any": {"permission_type": 1},
    "principal": {"principal": "nobody"},
    "empty": {"resource_name": ""},
}
_BAD_USERS = {
    "empty-name": [_upsert("")],
    "unknown-mechanism": [_upsert("u", 0)],
    "mechanism-3": [_upsert("u", 3)],
    "mechanism-minus": [_upsert("u", -1)],
    "few-iterations": [_upsert("u", iterations=4095)],
    "few-iterations-512": [_upsert("u", _SHA_512, iterations=1)],
    "many-iterations": [_upsert("u", iterations=16385)],
    "no-password": [_upsert("u", password=b"")],
    "no-salt": [_upsert("u", salt=b"")],
    "twice": [_upsert("u"), _upsert("u", iterations=5000)],
    "twice-and-another": [_upsert("u"), _upsert("v"), _upsert("u", iterations=1)],
}

CASES: list[Case] = [
    _case(
        "scram/kept",
        "credentials are stored and described without secrets; deleted; deleted again",
        _scram(None),
        _scram("a", correlation_id=2),
        _alter_scram([_upsert("a"), _upsert("a", _SHA_512, 8192), _upsert("b", iterations=16384)], correlation_id=3),
        _scram(None, correlation_id=4),
        _scram(correlation_id=5),
        _scram("b", "a", "nobody", correlation_id=6),
        _scram("a", "a", "b", correlation_id=7),
        _scram("", correlation_id=8),
        _alter_scram([_upsert("a", iterations=5000)], correlation_id=9),
        _scram("a", correlation_id=10),
        _alter_scram((), [("a", _SHA_512), ("b", _SHA_256), ("nobody", _SHA_256)], correlation_id=11),
        _scram(None, correlation_id=12),
        _alter_scram((), [("a", _SHA_512), ("", _SHA_256), ("a", 0), ("a", 9)], correlation_id=13),
        _alter_scram((), [("a", _SHA_256), ("a", _SHA_256)], correlation_id=14),
        _alter_scram([_upsert("a")], [("a", _SHA_256)], correlation_id=15),
        _alter_scram([_upsert("c")], [("a", _SHA_256)], correlation_id=16),
        _alter_scram(correlation_id=17),
        _alter_scram((), [("c", _SHA_256)], correlation_id=18),
        _scram(None, correlation_id=19),
    ),
    *(
        _case(
            f"scram/{what}",
            "valid and invalid credentials (ScramControlManager, KafkaApis)",
            _alter_scram(users),
            _scram(None, correlation_id=2),
            _alter_scram((), [("u", _SHA_256)], correlation_id=3),
            _alter_scram((), [("v", _SHA_256)], correlation_id=4),
        )
        for what, users in _BAD_USERS.items()
    ),
    *(
        _sent(
            f"delegation-token/v{version}",
            "over PLAINTEXT a client cannot get a token, and none is described",
            request(
                38,
                version,
                {
                    "owner_principal_type": None,
                    "owner_principal_name": None,
                    "renewers": [],
                    "max_lifetime": timedelta(days=1),
                },
                1,
            ),
            request(
                38,
                version,
                {
                    "owner_principal_type": "User",
                    "owner_principal_name": "u",
                    "renewers": [{"principal_type": "User", "principal_name": "x"}],
                    "max_lifetime": timedelta(milliseconds=-1),
                },
                2,
            ),
            *_renewed(version),
            request(41, version, {"owners": None}, 5),
            request(41, version, {"owners": []}, 6),
            request(41, version, {"owners": [{"principal_type": "User", "principal_name": "u"}]}, 7),
        )
        for version in range(1, 4)
    ),
    *(
        _sent(
            f"acls/v{version}",
            "the broker has no authorizer",
            request(29, version, _FILTER, 1),
            request(30, version, {"creations": [_ACL, _ACL | {"resource_name": "u"}]}, 2),
            request(30, version, {"creations": []}, 3),
            request(31, version, {"filters": [_FILTER, _FILTER | {"operation": 3}]}, 4),
            request(31, version, {"filters": []}, 5),
        )
        for version in range(1, 4)
    ),
    *(
        _sent(
            f"acls/describe-{what}",
            "invalid filters",
            request(29, 3, _FILTER | values, 1),
        )
        for what, values in {
            "type-0": {"resource_type_filter": 0},
            "type-99": {"resource_type_filter": 99},
            "operation-0": {"operation": 0},
            "pattern-0": {"pattern_type_filter": 0},
            "permission-99": {"permission_type": 99},
        }.items()
    ),
    *(
        _sent(
            f"acls/create-{what}",
            "invalid entries",
            request(30, 3, {"creations": [_ACL | values]}, 1),
        )
        for what, values in _BAD_ACLS.items()
    ),
    *(
        _sent(
            f"sasl/handshake-v{version}",
            "a listener without SASL",
            request(17, version, {"mechanism": "PLAIN"}, 1),
            request(17, version, {"mechanism": "nobody"}, 2),
        )
        for version in range(2)
    ),
    *(
        _sent(
            f"sasl/authenticate-v{version}",
            "a listener without SASL",
            request(36, version, {"auth_bytes": b"\0u\0p"}, 1),
            request(36, version, {"auth_bytes": b""}, 2),
        )
        for version in range(3)
    ),
]
