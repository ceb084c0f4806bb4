"""A cluster with TLS, SASL and ACLs, and the programs of other languages that connect to it (conformance/clients).

Theory   A program reads plays and prints results, line by line. A play has the settings of `kafka.client_settings` as
         JSON, so that what is tested is what a user gets. One cluster serves all tests of a library. Each play sends a
         value of its own, and the log is read over a listener in plain text, as a super user.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from conformance.clients.builds import SECURED
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster
from fakebroker.core.journal.events import Login
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
_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_CONFIG: Mapping[str, str | int | bool] = {
    "auto.create.topics.enable": False,
    "group.initial.rebalance.delay.ms": 0,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.name.ssl.ssl.client.auth": "required",
    "listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/$1/",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": _JAAS,
    "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class": _HANDLER,
}


class Secured:
    """A cluster, and the program of one library. Every play returns the program's result: `value`, or `error` (its name
    in the library) and `text`."""

    def __init__(self, kafka: FakeCluster, process: ClientProcess, library: str) -> None:
        self.kafka = kafka
        self._process = process
        self._library = library
        self._values = (f"{library}-{number}" for number in itertools.count())
        self.last = ""  # the value of the last play
        self._before = 0  # so many logins were there before it

    @classmethod
    @contextmanager
    def of(cls, library: str) -> Iterator[Self]:
        """Start both. Skip the test if the program cannot be built here."""
        [client] = [each for each in SECURED if each.name == library]
        command, folder = program(client)
        with FakeCluster(brokers=1, listeners=[PLAINTEXT, SASL, TLS], config=_CONFIG) as kafka:
            _set_up(kafka)
            with ClientProcess(command, folder, {"do": "nothing"}, 20 * LIMIT_S) as process:
                assert "value" not in process.hear(), "it knows no such play"
                yield cls(kafka, process, library)

    def password(self, mechanism: str, password: str | None = None) -> dict[str, Any]:
        """Return the settings of the right user of a mechanism, or of one with that password."""
        user, right = USERS[mechanism]
        return self.kafka.client_settings(
            self._library, SASL, mechanism=mechanism, user=user, password=password or right
        )

    def token(self, **options: Any) -> dict[str, Any]:
        """Return the settings with a new token, made with these options of `kafka.oauth.token`."""
        token = self.kafka.oauth.token("dave", claims={"scope": "orders", **options.pop("claims", {})}, **options)
        return self.kafka.client_settings(self._library, SASL, mechanism="OAUTHBEARER", token=token)

    def certificate(self, name: str | None) -> dict[str, Any]:
        """Return the settings of a client with a certificate, or without one."""
        certificate = None if name is None else self.kafka.tls.client(name)
        return self.kafka.client_settings(self._library, TLS, certificate=certificate)

    def play(self, do: str, settings: dict[str, Any], **others: str) -> dict[str, str]:
        """Play "round trip", "group" (a new one) or "transaction", with names that every user may use or with
        `others`."""
        self.last, self._before = next(self._values), len(self._all_logins())
        play = {"do": do, "settings": settings, "value": self.last}
        self._process.say(
            play | {"topic": TOPIC, "group": f"{GROUP}-{self.last}", "transactional_id": TRANSACTION} | others
        )
        return self._process.hear()

    def values(self) -> list[str]:
        """Return the values in the logs of both topics."""
        found = [value for topic in (TOPIC, DENIED) for _, value in read_log(self.kafka, topic)]
        return [value.decode() for value in found if value is not None]

    def is_in_log(self) -> bool:
        """Return True if a record of the last play is in a log."""
        return self.last in self.values()

    def logins(self) -> set[tuple[str, str, str]]:
        """Return mechanism, principal and error of the logins of the last play."""
        return {(each.mechanism, each.principal, each.error) for each in self._all_logins()[self._before :]}

    def _all_logins(self) -> list[Login]:
        return [event for event in self.kafka.journal if isinstance(event, Login)]


def _set_up(kafka: FakeCluster) -> None:
    for topic in (TOPIC, DENIED):
        kafka.create_topic(topic, partitions=1)
    # All users may use the topic, except mallory, a certificate's name.
    kafka.acls.add("topic", TOPIC, "all", principal="User:mallory", permission="deny")
    for kind, name in (("topic", TOPIC), ("group", GROUP), ("transactional_id", TRANSACTION)):
        kafka.acls.add(kind, name, "all", principal="User:*", pattern="prefixed")
    kafka.acls.add("cluster", "kafka-cluster", "idempotent_write", principal="User:*")
    for key_type in (0, 1):  # the coordinators of groups and of transactions are there before the first client asks
        wait_until(partial(_has_coordinator, kafka, key_type), "the coordinator")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap(PLAINTEXT)})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        upsertion = UserScramCredentialUpsertion("carol", ScramCredentialInfo(mechanism, 4096), b"word")
        admin.alter_user_scram_credentials([upsertion])["carol"].result()


def _has_coordinator(kafka: FakeCluster, key_type: int) -> bool:
    with RawClient(kafka.endpoints[0]) as client:
        frame = request(_FIND_COORDINATOR, 4, {"key_type": key_type, "coordinator_keys": ["any"]})
        _, answer = decode_response(_FIND_COORDINATOR, 4, client.ask(frame))
    return bool(answer.coordinators[0].error_code == 0)
