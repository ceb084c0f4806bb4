"""The SCRAM credentials of users (RFC 5802), for the whole cluster: kept, and described without secrets.

Source   metadata/.../controller/ScramControlManager.java @ 4.0; clients/.../security/scram/internals/
         {ScramMechanism,ScramFormatter}.java
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, final

from fakebroker.core.security.sasl.scram_formatter import (
    MAX_ITERATIONS,
    MECHANISMS,
    MIN_ITERATIONS,
    ScramKeys,
    keys_of,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_USERS_OF_A_SLICE: Final = 200


class ScramCredential(NamedTuple):
    """A credential as a request has it. The keys that are made of it are kept instead."""

    iterations: int
    salt: bytes
    salted_password: bytes


@final
class ScramCredentials:
    """The credentials by user and number of the mechanism."""

    def __init__(self) -> None:
        self._users: dict[str, dict[int, ScramKeys]] = {}

    def users(self) -> list[str]:
        """Return the users with credentials, sorted."""
        return sorted(self._users)

    def of(self, user: str) -> Mapping[int, ScramKeys]:
        """Return a user's credentials by mechanism, in the order of their numbers."""
        return dict(sorted(self._users.get(user, {}).items()))

    def find(self, user: str, mechanism: int) -> ScramKeys | None:
        """Return the keys of a user for a mechanism; None if it has none."""
        return self._users.get(user, {}).get(mechanism)

    def alter(
        self, deletions: Sequence[tuple[str, int]], upsertions: Sequence[tuple[str, int, ScramCredential]]
    ) -> Slices[dict[str, KafkaError | None]]:
        """Delete and set credentials. Return the error of each user. If a user is named twice, without an error before,
        neither change is made and the user gets an error."""
        errors: dict[str, KafkaError] = {}
        deleted: dict[str, int] = {}
        set_: dict[str, tuple[int, ScramCredential]] = {}
        for number, (user, mechanism) in enumerate(deletions, 1):
            if user not in errors:
                if deleted.pop(user, None) is not None:
                    errors[user] = _twice()
                elif error := self._deletion_error(user, mechanism):
                    errors[user] = error
                else:
                    deleted[user] = mechanism
            if number % _USERS_OF_A_SLICE == 0:
                yield
        for number, (user, mechanism, credential) in enumerate(upsertions, 1):
            if user not in errors:
                if deleted.pop(user, None) is not None or set_.pop(user, None) is not None:
                    errors[user] = _twice()
                elif error := _upsertion_error(user, mechanism, credential):
                    errors[user] = error
                else:
                    set_[user] = (mechanism, credential)
            if number % _USERS_OF_A_SLICE == 0:
                yield
        for user, mechanism in deleted.items():
            left = self._users.get(user, {})
            left.pop(mechanism, None)
            if not left:
                self._users.pop(user, None)
        for user, (mechanism, credential) in set_.items():
            if credential.salted_password:
                iterations, salt, password = credential
                keys = keys_of(MECHANISMS[mechanism], password, salt, iterations)
                self._users.setdefault(user, {})[mechanism] = keys
            else:  # Java makes no key of an empty password
                errors[user] = KafkaError(ErrorCode.unknown_server_error, "")
        done: dict[str, KafkaError | None] = dict.fromkeys((*deleted, *set_))
        return done | errors

    def _deletion_error(self, user: str, mechanism: int) -> KafkaError | None:
        if error := _name_error(user, mechanism):
            return error
        if mechanism not in self._users.get(user, {}):
            return KafkaError(ErrorCode.resource_not_found, "Attempt to delete a user credential that does not exist")
        return None


def _upsertion_error(user: str, mechanism: int, credential: ScramCredential) -> KafkaError | None:
    if error := _name_error(user, mechanism):
        return error
    if credential.iterations < MIN_ITERATIONS:
        return KafkaError(ErrorCode.unacceptable_credential, "Too few iterations")
    if credential.iterations > MAX_ITERATIONS:
        return KafkaError(ErrorCode.unacceptable_credential, "Too many iterations")
    return None


def _name_error(user: str, mechanism: int) -> KafkaError | None:
    if not user:
        return KafkaError(ErrorCode.unacceptable_credential, "Username must not be empty")
    if mechanism not in MECHANISMS:
        return KafkaError(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    return None


def _twice() -> KafkaError:
    return KafkaError(ErrorCode.duplicate_resource, "A user credential cannot be altered twice in the same request")
