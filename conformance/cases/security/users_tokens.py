"""Delegation tokens of other owners: which users may make, describe, renew and expire them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from conformance.frames import request
from conformance.sasl.token_ids import token_hmac, token_id
from conformance.scenario import Case, Step
from conformance.security.acl_steps import IN_FORCE
from conformance.security.user_steps import SUPER_USER, asks, grants, login, user, user_case

_CREATE, _RENEW, _EXPIRE, _DESCRIBE = 38, 39, 40, 41
_DAY, _AT_ONCE = timedelta(days=1), timedelta(milliseconds=-1)
_EVERYBODY = "User:*"


def _principal(name: str) -> dict[str, str]:
    return {"principal_type": "User", "principal_name": name}


def _create(owner: str | None = None, renewers: tuple[str, ...] = ()) -> bytes:
    values = {
        "owner_principal_type": owner and "User",
        "owner_principal_name": owner,
        "renewers": [_principal(renewer) for renewer in renewers],
        "max_lifetime": _DAY,
    }
    return request(_CREATE, 3, values)


def _renew() -> bytes:
    return request(_RENEW, 2, {"hmac": token_hmac(1), "renew_period": timedelta(hours=1)})


def _expire(after: timedelta) -> bytes:
    return request(_EXPIRE, 2, {"hmac": token_hmac(1), "expiry_time_period": after})


def _describe(*owners: str) -> bytes:
    return request(_DESCRIBE, 3, {"owners": [_principal(owner) for owner in owners]})


def _mine() -> bytes:
    """Return a request for every token that the client may see."""
    return request(_DESCRIBE, 3, {"owners": None})


class _Names:
    """The users of a case."""

    def __init__(self, case: str) -> None:
        self.alice, self.bob = user("alice", case), user("bob", case)
        self.carol, self.dan = user("carol", case), user("dan", case)


_LETTERS = ("alice", "bob", "carol", "dan")
_ON_BOB = "USER User:{bob} "


def _case(what: str, why: str, steps: Callable[[_Names], tuple[Step, ...]], **given: str) -> Case:
    name = f"users-tokens/{what}"
    names = _Names(name)
    texts = {letter: given.get(letter, "").format(**vars(names)) for letter in _LETTERS}
    return user_case(name, why, texts, *login(SUPER_USER, "admin"), *steps(names))


def _looks(names: _Names) -> tuple[Step, ...]:
    """Return the steps in which each user looks for the tokens of bob, and two for all that they may see: there is one,
    because Kafka's order of several is that of a hash table."""
    steps: tuple[Step, ...] = IN_FORCE
    for conn in (*_LETTERS, "admin"):
        steps += asks(conn, _describe(names.bob))
    for conn in ("alice", "bob"):
        steps += asks(conn, _mine(), _describe(names.alice), _describe(names.carol, names.dan))
    return steps


def _moves(*conns: str) -> tuple[Step, ...]:
    """Return the steps in which users renew the token, and let it expire in a day."""
    steps: tuple[Step, ...] = IN_FORCE
    for conn in conns:
        steps += (*asks(conn, _renew()), *IN_FORCE, *asks(conn, _expire(_DAY)), *IN_FORCE)
    return steps


CASES: list[Case] = [
    _case(
        "create",
        "CREATE_TOKENS on the owner; DENY precedes ALLOW (KafkaApis.handleCreateTokenRequest)",
        lambda names: (
            *asks("alice", _create(names.bob)),
            *asks("carol", _create(names.bob)),
            *asks("dan", _create(names.bob)),
            *asks("dan", _create(names.carol)),
            *_looks(names),
        ),
        alice=_ON_BOB + "CREATE_TOKENS",
        carol=_ON_BOB + "DESCRIBE_TOKENS; USER User:{dan} CREATE_TOKENS",
        dan="USER * CREATE_TOKENS; -" + _ON_BOB + "CREATE_TOKENS",
    ),
    _case(
        "create-by-a-super-user",
        "a super user creates a token for another user, which is its only owner",
        lambda names: (*asks("admin", _create(names.bob)), *_looks(names), *_moves("admin", "alice", "bob")),
    ),
    _case(
        "create-for-oneself",
        "a token of one's own needs no permission, even if all are denied",
        lambda names: (*asks("bob", _create(), _create(names.bob)), *asks("alice", _create(names.bob))),
        bob="-" + _ON_BOB + "CREATE_TOKENS; -" + _ON_BOB + "DESCRIBE_TOKENS",
    ),
    _case(
        "describe-by-owner",
        "DESCRIBE_TOKENS on the owner, allowed and denied",
        lambda names: (*asks("bob", _create()), *_looks(names)),
        alice=_ON_BOB + "DESCRIBE_TOKENS",
        carol=_ON_BOB + "DESCRIBE_TOKENS; -" + _ON_BOB + "DESCRIBE_TOKENS",
        dan="USER * DESCRIBE_TOKENS",
    ),
    _case(
        "describe-by-id",
        "DESCRIBE on the token, allowed and denied",
        lambda names: (
            *asks("bob", _create()),
            *grants(
                (f"User:{names.alice}", f"DELEGATION_TOKEN {token_id(1)} DESCRIBE"),
                (f"User:{names.carol}", f"DELEGATION_TOKEN * DESCRIBE; -DELEGATION_TOKEN {token_id(1)} DESCRIBE"),
                (f"User:{names.dan}", f"DELEGATION_TOKEN {token_id(1)} ALL"),
            ),
            *_looks(names),
        ),
    ),
    _case(
        "describe-denied-to-the-owner",
        "an owner and a renewer can describe the token, even if all are denied",
        lambda names: (
            *asks("bob", _create(None, (names.alice,))),
            *grants((_EVERYBODY, f"-DELEGATION_TOKEN {token_id(1)} DESCRIBE; -USER User:{names.bob} DESCRIBE_TOKENS")),
            *_looks(names),
        ),
    ),
    _case(
        "renew-and-expire",
        "the owner and its renewers may renew and expire, whatever ACLs say; the requester may not "
        "(DelegationTokenControlManager)",
        lambda names: (
            *asks("dan", _create(names.bob, (names.carol,))),
            *_moves("alice", "dan", "carol", "bob", "admin"),
            *asks("alice", _expire(_AT_ONCE)),
            *asks("carol", _expire(_AT_ONCE)),
            *IN_FORCE,
            *asks("bob", _renew(), _expire(_DAY)),
            *_looks(names),
        ),
        alice=_ON_BOB + "ALL; CLUSTER kafka-cluster ALL",
        dan=_ON_BOB + "CREATE_TOKENS",
    ),
]
