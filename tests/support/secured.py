"""A cluster with TLS, SASL and ACLs, and the programs of other languages that connect to it (conformance/clients).

Theory   A program reads plays and prints results, line by line. A play has the settings of `kafka.client_settings` as
         JSON, so that what is tested is what a user gets. One cluster serves all tests of a library. Each play sends a
         value of its own, and the log is read over a listener in plain text, as a super user.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from conformance.clients.builds import SECURED
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster
from fakebroker.core.journal.events import Login
from fakebroker.protocol.produce_response import NodeEndpoint
from support.client_programs import program
from support.log_reader import read_log
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import request
from support.watchdog import LIMIT_S, wait_until

TOPIC, GROUP, TRANSACTION = "orders", "readers", "payments"
DENIED = "denied"  # a topic, a group and a transactional id that no user may use
USERS = {"PLAIN": ("alice", "secret"), "SCRAM-SHA-256": ("carol", "word"), "SCRAM-SHA-512": ("carol", "word")}
SASL, TLS, PLAINTEXT = "SASL_SSL", "SSL", "PLAINTEXT"
_FIND_COORDINATOR = 10
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
_VALIDATOR = "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class"
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
CONFIG: Mapping[str, str | int | bool] = {
    "auto.create.topics.enable": False,
    "group.initial.rebalance.delay.ms": 0,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.name.ssl.ssl.client.auth": "required",
    "listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": _JAAS,
}


class Secured:
    """A cluster, and the program of one library. Every play returns the program's result: `value`, or `error` (its name
    in the library) and `text`."""

    def __init__(self, kafka: FakeCluster, process: ClientProcess, library: str, is_signed: bool) -> None:
        self.kafka = kafka
        self.redirect: Callable[[dict[str, Any]], dict[str, Any]] = lambda settings: settings  # to another cluster
        self._is_signed = is_signed
        self._process = process
        self._library = library
        self._values = (f"{library}-{number}" for number in itertools.count())
        self.last = ""  # the value of the last play
        self._before = 0  # so many logins were there before it

    @classmethod
    @contextmanager
    def of(cls, library: str, certificates: Path | None = None, *, is_signed: bool = True) -> Iterator[Self]:
        """Start both. Skip the test if the program cannot be built here. `certificates` is a folder with a CA;
        `is_signed` says whether tokens are signed, or unsecured as by Kafka's default."""
        [client] = [client_ for client_ in SECURED if client_.name == library]
        command, folder = program(client)
        config = {**CONFIG, **({_VALIDATOR: _HANDLER} if is_signed else {})}
        listeners = [PLAINTEXT, SASL, TLS]
        with FakeCluster(brokers=1, listeners=listeners, config=config, certificates=certificates) as kafka:
            set_up(kafka.bootstrap(PLAINTEXT))
            with ClientProcess(command, folder, {"do": "nothing"}, 20 * LIMIT_S) as process:
                assert "value" not in process.hear(), "it knows no such play"
                yield cls(kafka, process, library, is_signed)

    def password(self, mechanism: str, password: str | None = None) -> dict[str, Any]:
        """Return the settings of the right user of a mechanism, or of one with that password."""
        user, right = USERS[mechanism]
        return self.kafka.client_settings(
            self._library, SASL, mechanism=mechanism, user=user, password=password or right
        )

    def token(self, **options: Any) -> dict[str, Any]:
        """Return the settings with a new token, made with these options of `kafka.oauth.token`."""
        claims = {"scope": "orders", **options.pop("claims", {})}
        token = self.kafka.oauth.token("dave", claims=claims, is_signed=self._is_signed, **options)
        return self.kafka.client_settings(self._library, SASL, mechanism="OAUTHBEARER", token=token)

    def certificate(self, name: str | None) -> dict[str, Any]:
        """Return the settings of a client with a certificate, or without one."""
        certificate = None if name is None else self.kafka.tls.client(name)
        return self.kafka.client_settings(self._library, TLS, certificate=certificate)

    def play(self, do: str, settings: dict[str, Any], **others: str) -> dict[str, str]:
        """Play "round trip", "group" (a new one) or "transaction" (with a new id). Its names are those that every user
        may use, or `others`."""
        self.last, self._before = next(self._values), len(self._all_logins())
        play = {"do": do, "settings": self.redirect(settings), "value": self.last, "topic": TOPIC}
        names = {"group": f"{GROUP}-{self.last}", "transactional_id": f"{TRANSACTION}-{self.last}"}
        self._process.say(play | names | others)
        return self._process.hear()

    def values(self) -> list[str]:
        """Return the values in the logs of both topics."""
        raw_values = [value for topic in (TOPIC, DENIED) for _, value in read_log(self.kafka, topic)]
        return [value.decode() for value in raw_values if value is not None]

    def is_in_log(self) -> bool:
        """Return True if a record of the last play is in a log."""
        return self.last in self.values()

    def logins(self) -> set[tuple[str, str, str]]:
        """Return mechanism, principal and error of the logins of the last play."""
        return {(login.mechanism, login.principal, login.error) for login in self._all_logins()[self._before :]}

    def _all_logins(self) -> list[Login]:
        return [event for event in self.kafka.journal if isinstance(event, Login)]


def set_up(bootstrap: str) -> None:
    """Create the topics, the ACLs, the SCRAM credentials and the coordinators, over a listener in plain text."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    kinds, patterns, permissions = ResourceType, ResourcePatternType, AclPermissionType
    topics = [NewTopic(name, 1, 1) for name in (TOPIC, DENIED)]
    # All users may use the topic, except mallory, a certificate's name.
    acls = [_acl(kinds.TOPIC, TOPIC, patterns.LITERAL, "User:mallory", permissions.DENY)] + [
        _acl(kind, name, patterns.PREFIXED, "User:*", permissions.ALLOW)
        for kind, name in ((kinds.TOPIC, TOPIC), (kinds.GROUP, GROUP), (kinds.TRANSACTIONAL_ID, TRANSACTION))
    ]
    for made in [*admin.create_topics(topics).values(), *admin.create_acls(acls).values()]:
        made.result()
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        upsertion = UserScramCredentialUpsertion("carol", ScramCredentialInfo(mechanism, 4096), b"word")
        admin.alter_user_scram_credentials([upsertion])["carol"].result()
    for key_type in (0, 1):  # the coordinators of groups and of transactions are there before the first client asks
        wait_until(partial(_has_coordinator, bootstrap, key_type), "the coordinator")


def _acl(kind: Any, name: str, pattern: Any, principal: str, permission: Any) -> AclBinding:
    return AclBinding(kind, name, pattern, principal, "*", AclOperation.ALL, permission)


def _has_coordinator(bootstrap: str, key_type: int) -> bool:
    host, _, port = bootstrap.rpartition(":")
    with RawClient(NodeEndpoint(1, host, int(port))) as client:
        frame = request(_FIND_COORDINATOR, 4, {"key_type": key_type, "coordinator_keys": ["any"]})
        _, answer = decode_response(_FIND_COORDINATOR, 4, client.ask(frame))
    return bool(answer.coordinators[0].error_code == 0)
