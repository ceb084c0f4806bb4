"""Users of SASL, for the user of a cluster: `kafka.users.add("alice", "secret")`.

A user logs in by PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 at every listener with SASL. Beside these users PLAIN knows
those of the login module of a listener, and SCRAM those that clients make (AlterUserScramCredentials).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.arguments import STRING, require, require_unicode
from fakebroker.core.security.sasl import plain
from fakebroker.core.security.sasl.scram_formatter import (
    MECHANISMS,
    MIN_ITERATIONS,
    ScramMechanism,
    salted,
    salted_in_slices,
)
from fakebroker.core.security.scram_credentials import ScramCredential
from fakebroker.protocol.slices import Slices
from fakebroker.server.driver import Reach
from fakebroker.spelling import known_name

_SCRAM: Final = {mechanism.name: mechanism for mechanism in MECHANISMS.values()}
MECHANISMS_OF_USERS: Final = (plain.MECHANISM, *_SCRAM)
_SALT_BYTES: Final = 16
_KEPT: Final = 1_000
_known: dict[tuple[int, str, str], ScramCredential] = {}  # by mechanism, user and password


class Secrets:
    """The secrets of one user, made of its password.

    password  for PLAIN; None if the user has none there
    text      the password, with which the credentials are made
    scram     the credentials by the number of the mechanism
    """

    def __init__(self, user: str, password: str, mechanisms: Sequence[str] = MECHANISMS_OF_USERS) -> None:
        """Raises ValueError for a name or password that is empty or has a NUL, or for a mechanism that has no users."""
        names = _check(user, password, mechanisms)
        self.text = password
        self.password = password if plain.MECHANISM in names else None
        self.scram = {mechanism.number: _credential(mechanism, user, password) for mechanism in _scram(names)}


def learn_in_slices(user: str, password: str, mechanisms: Sequence[str] = MECHANISMS_OF_USERS) -> Slices[None]:
    """Make the credentials of a user, which takes milliseconds. The process keeps them for `Secrets`. Raises as that
    does."""
    for mechanism in _scram(_check(user, password, mechanisms)):
        if (mechanism.number, user, password) not in _known:
            salt = _salt(user)
            made = yield from salted_in_slices(mechanism, password, salt, MIN_ITERATIONS)
            _keep(mechanism, user, password, ScramCredential(MIN_ITERATIONS, salt, made))


def _check(user: str, password: str, mechanisms: Sequence[str]) -> tuple[str, ...]:
    require(STRING, user=user, **{f"the password of {user!r}": password})
    if not user:
        raise ValueError("a user needs a name, as in 'alice'")
    if not password:
        raise ValueError(f"the user {user!r} needs a password")
    for what, text in ((f"the user {user!a}", user), (f"the password of {user!a}", password)):
        require_unicode(what, text)
        if "\0" in text:
            raise ValueError(f"{what} has a NUL character, which no client can send by PLAIN")
    return known_mechanisms(mechanisms)


def _scram(names: Sequence[str]) -> list[ScramMechanism]:
    return [_SCRAM[name] for name in names if name in _SCRAM]


def _credential(mechanism: ScramMechanism, user: str, password: str) -> ScramCredential:
    credential = _known.get((mechanism.number, user, password))
    if credential is None:
        salt = _salt(user)
        credential = ScramCredential(MIN_ITERATIONS, salt, salted(mechanism, password, salt, MIN_ITERATIONS))
        _keep(mechanism, user, password, credential)
    return credential


def _salt(user: str) -> bytes:
    """Return the salt of a user, the same in each run."""
    return hashlib.sha256(user.encode(errors="surrogatepass")).digest()[:_SALT_BYTES]


def _keep(mechanism: ScramMechanism, user: str, password: str, credential: ScramCredential) -> None:
    if len(_known) >= _KEPT:
        _known.clear()
    _known[mechanism.number, user, password] = credential


def known_mechanisms(mechanisms: Any) -> tuple[str, ...]:
    """Return the names of mechanisms that have users. Raises ValueError or TypeError."""
    if isinstance(mechanisms, str) or not isinstance(mechanisms, Sequence):
        raise TypeError(f"mechanisms must be a list of names, as in ['PLAIN'], not {mechanisms!r}")
    for name in mechanisms:
        require(STRING, **{"each of mechanisms": name})
    if not mechanisms:
        raise ValueError(f"mechanisms must name one of {', '.join(MECHANISMS_OF_USERS)}")
    return tuple(known_name(name, MECHANISMS_OF_USERS, "mechanism with users") for name in mechanisms)


def read_users(users: Any) -> dict[str, Secrets]:
    """Return the secrets of users, from passwords by name. Raises TypeError or ValueError."""
    if not isinstance(users, Mapping):
        raise TypeError(f'users must be passwords by name, as in {{"alice": "secret"}}, not {users!r}')
    return {name: Secrets(name, password) for name, password in users.items()}


class Users:
    """The users of a cluster."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def add(self, name: str, password: str, *, mechanisms: Sequence[str] = MECHANISMS_OF_USERS) -> None:
        """Add a user, or change its password. It counts for the next login; sessions go on. Raise ValueError, also for
        a cluster without a listener with SASL."""
        secrets = Secrets(name, password, mechanisms)
        self._reach(lambda driver: put_user(driver.cluster, name, secrets))

    def remove(self, name: str, *, mechanisms: Sequence[str] = MECHANISMS_OF_USERS) -> bool:
        """Remove a user, or some of its mechanisms. Sessions go on; `expire_sessions` ends them. Return False if there
        was no such user."""
        require(STRING, name=name)
        known = known_mechanisms(mechanisms)
        return self._reach(lambda driver: driver.cluster.sasl.remove_user(name, known))

    def list(self) -> dict[str, tuple[str, ...]]:
        """Return the mechanisms of each user, by name. Those of login modules are not among them."""
        return self._reach(lambda driver: driver.cluster.sasl.users())


def put_user(cluster: Cluster, name: str, secrets: Secrets) -> None:
    """Add a user, or change its secrets. Raises ValueError for a cluster without a listener with SASL."""
    registry = cluster.registry
    brokers = [registry[broker_id] for broker_id in registry.broker_ids]
    added = (entry.listener for broker in brokers for entry in broker.added_listeners.values())
    if not any(listener.has_sasl for listener in (*brokers[0].listeners, *added)):
        raise ValueError(
            f"the user {name!r} cannot log in: no listener has SASL. Make the cluster with users={{}}, or with a "
            "listener of SASL_PLAINTEXT or SASL_SSL"
        )
    cluster.sasl.put_user(name, secrets.password, secrets.scram, secrets.text)
