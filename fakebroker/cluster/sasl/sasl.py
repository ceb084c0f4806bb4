"""SASL of a whole cluster: its mechanisms, and the authenticator of each connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import Final, final

from fakebroker.cluster.dispatcher import Dispatcher
from fakebroker.cluster.members import Members
from fakebroker.cluster.sasl.authenticator import SaslServerAuthenticator, SaslServices
from fakebroker.cluster.sasl.mechanisms import SaslMechanisms
from fakebroker.cluster.sasl.requests import RequestReader, Responses
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.identity import Listener
from fakebroker.core.security.sasl import plain
from fakebroker.core.security.sasl.jaas_config import parse_login_module
from fakebroker.core.security.sasl.scram_formatter import MECHANISMS, ScramKeys
from fakebroker.core.security.scram_credentials import ScramCredential
from fakebroker.network.connection import Connection
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.slices import Slices, finish

_USERS_OF_A_SLICE: Final = 200
_SCRAM_NUMBERS: Final = {mechanism.name: number for number, mechanism in MECHANISMS.items()}


def _check_login_module(name: str, text: str) -> None:
    try:
        parse_login_module(text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


@final
class Sasl:
    """The authentication of all clients of listeners with SASL. Raises ConfigError if a login module that is given at
    the start cannot be read."""

    def __init__(self, members: Members, sockets: SocketServer, dispatcher: Dispatcher, random: Random) -> None:
        """`random` gives nonces."""
        for name, text in members.config.listener_texts.items():
            if name.endswith(".sasl.jaas.config"):
                _check_login_module(name, text)
        self._members = members
        controller = members.controller
        self._scram = controller.scram_credentials
        self._known: dict[tuple[str, str], tuple[str, ScramKeys]] = {}  # passwords by user and mechanism of SCRAM
        self.mechanisms = SaslMechanisms(
            members.broker_configs,
            controller.scram_credentials,
            controller.delegation_tokens.credential,
            self._hosts,
            members.clock,
            random,
        )
        self._services = SaslServices(
            sockets,
            self.mechanisms,
            RequestReader(dispatcher.read_any_header),
            Responses(sockets, members.brokers, members.probe, members.clock),
            dispatcher.takes_login,
            members.probe,
            members.clock,
        )

    def _hosts(self, broker_id: int, listener: Listener) -> set[str]:
        """Return the hosts of a listener: where it listens, and what the brokers of the cluster advertise."""
        registry = self._members.registry
        advertised = {registry[id_].endpoint(listener).host for id_ in registry.broker_ids}
        return advertised | {registry[broker_id].bound_to(listener._replace(address=""))[0]}

    def begin(self, connection: Connection) -> None:
        """Let the client of a new connection authenticate before its first request."""
        limit = self._members.config.socket_request_max_bytes
        connection.authenticator = SaslServerAuthenticator(self._services, connection, limit)

    def put_user(
        self, name: str, password: str | None, scram: Mapping[int, ScramCredential], of_scram: str = ""
    ) -> None:
        """Set the password of a user for PLAIN, if it is given, and its credentials for SCRAM, by mechanism. They are
        made with the password `of_scram`."""
        if password is not None:
            self.mechanisms.plain_users[name] = password
        for mechanism, credential in scram.items():
            finish(self._scram.alter([], [(name, mechanism, credential)]))
            self._known[name, MECHANISMS[mechanism].name] = of_scram, self._scram.of(name)[mechanism]

    def known_password(self, name: str, mechanism: str) -> str | None:
        """Return the password with which a user logs in by a mechanism; None if it is not known: the user is another
        one, or a client has changed its credentials."""
        if mechanism not in _SCRAM_NUMBERS:
            return self.mechanisms.plain_users.get(name)
        password, keys = self._known.get((name, mechanism), (None, None))
        return password if keys is not None and self._scram.of(name).get(_SCRAM_NUMBERS[mechanism]) is keys else None

    def remove_user(self, name: str, mechanisms: Collection[str]) -> bool:
        """Remove these mechanisms of a user. Return False if it had none of them."""
        is_removed = plain.MECHANISM in mechanisms and self.mechanisms.plain_users.pop(name, None) is not None
        for number in self._scram.of(name):
            if MECHANISMS[number].name in mechanisms:
                finish(self._scram.alter([(name, number)], []))
                is_removed = True
        return is_removed

    def users(self) -> dict[str, tuple[str, ...]]:
        """Return the mechanisms of each user, sorted by name. Those of login modules are not among them."""
        return finish(self.users_in_slices())

    def users_in_slices(self) -> Slices[dict[str, tuple[str, ...]]]:
        plain_users, users = self.mechanisms.plain_users, {}
        for number, name in enumerate(sorted({*plain_users, *self._scram.users()}), 1):
            first = (plain.MECHANISM,) if name in plain_users else ()
            users[name] = (*first, *(MECHANISMS[mechanism].name for mechanism in self._scram.of(name)))
            if number % _USERS_OF_A_SLICE == 0:
                yield
        return users

    def expire_sessions(self, user: str | None = None) -> int:
        """End the sessions of a user, or of all, now. Their next requests close the connections, unless the clients
        authenticate again. Return how many there were."""
        expired = 0
        for broker_id in self._members.registry.broker_ids:
            for connection in self._services.sockets.connections.all(broker_id):
                if connection.mechanism and user in (None, connection.principal.name):
                    expired += self._expire(connection)
        return expired

    def _expire(self, connection: Connection) -> bool:
        authenticator = connection.authenticator
        if authenticator is None:
            limit = self._members.config.socket_request_max_bytes
            authenticator = SaslServerAuthenticator.of_session(self._services, connection, limit)
            connection.authenticator = authenticator
        assert isinstance(authenticator, SaslServerAuthenticator)
        if not authenticator.is_complete:
            return False
        authenticator.expire()
        return True
