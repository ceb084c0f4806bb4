"""Users of SASL: from the arguments of a cluster, and by `kafka.users`."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from support.raw_login import login
from support.watchdog import run

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER

FAILED = 58  # SASL_AUTHENTICATION_FAILED
ALL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="old" user_carol="word";'
NO_DELAY = {"connection.failed.authentication.delay.ms": 0}


@pytest.mark.parametrize("mechanism", ALL)
def test_one_argument_makes_users_for_each_mechanism(mechanism: str) -> None:
    with FakeCluster(brokers=1, users={"alice": "secret", "bob": "wörd=,"}, config=NO_DELAY) as kafka:
        assert [listener.security_protocol for listener in kafka.listeners] == ["SASL_PLAINTEXT"]
        assert login(kafka, "alice", "secret", mechanism) == 0
        assert login(kafka, "bob", "wörd=,", mechanism) == 0
        assert login(kafka, "alice", "wörd=,", mechanism) == FAILED
        assert login(kafka, "carol", "secret", mechanism) == FAILED
        assert kafka.users.list() == {"alice": ALL, "bob": ALL}


def test_users_come_and_go_while_brokers_run() -> None:
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SASL_PLAINTEXT"], config=NO_DELAY) as kafka:
        kafka.users.add("alice", "secret")
        kafka.users.add("alice", "other", mechanisms=["scram-sha-512"])
        assert [login(kafka, "alice", "secret", mechanism) for mechanism in ALL] == [0, 0, FAILED]
        assert login(kafka, "alice", "other", "SCRAM-SHA-512") == 0
        assert kafka.users.remove("alice", mechanisms=["PLAIN", "SCRAM-SHA-512"])
        assert kafka.users.list() == {"alice": ("SCRAM-SHA-256",)}
        assert kafka.users.remove("alice")
        assert not kafka.users.remove("alice")
        assert kafka.users.list() == {}
        assert login(kafka, "alice", "secret") == FAILED


def test_a_cluster_without_a_listener_of_sasl_takes_no_users() -> None:
    with FakeCluster(brokers=1, listeners=["PLAINTEXT"]) as kafka:
        with pytest.raises(ValueError, match=r"'alice' cannot log in: no listener has SASL.*users=\{\}"):
            kafka.users.add("alice", "secret")
        assert kafka.users.list() == {}


def test_settings_of_a_client_have_the_password_of_a_known_user() -> None:
    with FakeCluster(brokers=1, users={"alice": "secret"}) as kafka:
        assert kafka.client_settings("confluent", user="alice")["sasl.password"] == "secret"
        assert kafka.client_settings("confluent", user="alice", password="wrong")["sasl.password"] == "wrong"
        kafka.users.remove("alice", mechanisms=["PLAIN"])
        with pytest.raises(ValueError, match="password"):
            kafka.client_settings("confluent", user="alice")


def test_a_reset_returns_to_the_users_of_the_argument() -> None:
    with FakeCluster(brokers=1, users={"alice": "secret"}) as kafka:
        kafka.users.remove("alice")
        kafka.users.add("bob", "word")
        kafka.reset()
        assert kafka.users.list() == {"alice": ALL}
        assert login(kafka, "alice", "secret") == 0


def test_a_user_counts_before_that_of_a_login_module() -> None:
    config = NO_DELAY | {"listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS}
    with FakeCluster(brokers=1, users={"alice": "new"}, config=config) as kafka:
        assert [login(kafka, "alice", password) for password in ("old", "new")] == [FAILED, 0]
        assert login(kafka, "carol", "word") == 0
        kafka.users.remove("alice")
        assert login(kafka, "alice", "old") == 0


def test_the_async_cluster_has_users_too() -> None:
    async def test() -> None:
        async with AsyncFakeCluster(brokers=1, users={"alice": "secret"}) as kafka:
            kafka.users.add("bob", "word", mechanisms=["PLAIN"])
            assert kafka.users.list() == {"alice": ALL, "bob": ("PLAIN",)}

    run(test())


def test_acls_of_the_argument_bring_their_authorizer() -> None:
    acls = [
        {"resource_type": "topic", "name": "orders", "operation": "write", "principal": "User:alice"},
        {"resource_type": "GROUP", "name": "g", "operation": "read", "permission": "deny", "pattern": "prefixed"},
    ]
    with FakeCluster(brokers=1, acls=acls) as kafka:
        assert [str(binding.principal) for binding in kafka.acls.list()] == ["User:alice", "User:*"]
        kafka.acls.remove()
        kafka.reset()
        assert len(kafka.acls.list()) == 2
    with FakeCluster(brokers=1, acls=[]) as kafka:
        assert kafka.acls.list() == []
    with FakeCluster(brokers=1) as kafka, pytest.raises(KafkaError, match="No Authorizer"):
        kafka.acls.list()


AN_ACL = {"resource_type": "topic", "name": "t", "operation": "read"}
A_FILTER = "an ACL with any or match is a filter: name one type, pattern, operation and permission"
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"users": ["alice"]},
        TypeError,
        r"users must be passwords by name, as in \{\"alice\": \"secret\"\}, not \['alice'",
    ),
    ({"users": {"alice": ""}}, ValueError, "the user 'alice' needs a password"),
    ({"users": {"a\0b": "x"}}, ValueError, r"the user 'a\\x00b' has a NUL character, which no client can send"),
    ({"users": {"alice": "\0"}}, ValueError, "the password of 'alice' has a NUL character"),
    ({"users": {"": "x"}}, ValueError, "a user needs a name"),
    ({"users": {"alice": 7}}, TypeError, "the password of 'alice' must be a string, not 7"),
    (
        {"users": {"a": "b"}, "listeners": ["SSL"]},
        ValueError,
        "a listener with SASL is missing, which users needs: add SASL_PLAINTEXT to listeners",
    ),
    ({"acls": AN_ACL}, TypeError, "acls must be a list of mappings"),
    ({"acls": ["x"]}, TypeError, r"acls\[0\]: an ACL is as in .*, not 'x'"),
    ({"acls": [AN_ACL, {"name": "t", "operation": "read"}]}, ValueError, r"acls\[1\]: 'resource_type' is missing"),
    ({"acls": [AN_ACL | {"principle": "User:a"}]}, ValueError, r"acls\[0\]: an ACL has no 'principle'; did you mean"),
    ({"acls": [AN_ACL | {"operation": "reed"}]}, ValueError, r"acls\[0\]: there is no AclOperation 'reed'"),
    ({"acls": [AN_ACL | {"operation": 7}]}, TypeError, r"acls\[0\]: AclOperation must be a string, not 7"),
    ({"acls": [AN_ACL | {"principal": "alice"}]}, KafkaError, r"acls\[0\]: Could not parse principal from `alice`"),
    ({"acls": [AN_ACL | {"operation": "any"}]}, KafkaError, rf"acls\[0\]: {A_FILTER}"),
    ({"acls": [AN_ACL | {"pattern": "match"}]}, KafkaError, rf"acls\[0\]: {A_FILTER}"),
    ({"acls": [AN_ACL | {"pattern": "any"}]}, KafkaError, rf"acls\[0\]: {A_FILTER}"),
    (
        {"acls": [AN_ACL], "config": {"authorizer.class.name": ""}},
        ValueError,
        "acls needs an authorizer: leave out authorizer.class.name",
    ),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), REFUSED, ids=range(len(REFUSED)))
def test_a_mistake_is_said_when_the_cluster_is_made(arguments: dict[str, Any], kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        FakeCluster(brokers=1, **arguments)


@pytest.mark.parametrize(
    ("mechanisms", "kind", "words"),
    [
        ("PLAIN", TypeError, "mechanisms must be a list of names"),
        ([], ValueError, "mechanisms must name one of PLAIN"),
        ([7], TypeError, "each of mechanisms must be a string, not 7"),
        (["OAUTHBEARER"], ValueError, "there is no mechanism with users 'OAUTHBEARER'"),
    ],
    ids=str,
)
def test_a_mechanism_without_users_is_refused(mechanisms: Any, kind: type, words: str) -> None:
    with FakeCluster(brokers=1, users={}) as kafka:
        for call in (
            lambda: kafka.users.add("alice", "secret", mechanisms=mechanisms),
            lambda: kafka.users.remove("alice", mechanisms=mechanisms),
        ):
            with pytest.raises(kind, match=words):
                call()
        assert kafka.users.list() == {}


def test_the_authorizer_may_be_named_beside_the_acls() -> None:
    config = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
    with FakeCluster(brokers=1, users={"admin": "x"}, acls=[AN_ACL], config=config) as kafka:
        assert len(kafka.acls.list()) == 1


def test_settings_of_a_client_have_the_password_of_the_mechanism() -> None:
    with FakeCluster(brokers=1, users={"alice": "secret"}, config=NO_DELAY) as kafka:
        kafka.users.add("alice", "other", mechanisms=["SCRAM-SHA-256"])
        kafka.users.add("carol", "word", mechanisms=["SCRAM-SHA-512"])
        passwords = {"PLAIN": "secret", "SCRAM-SHA-256": "other", "SCRAM-SHA-512": "secret"}
        for mechanism, password in passwords.items():
            settings = kafka.client_settings("confluent", user="alice", mechanism=mechanism)
            assert settings["sasl.password"] == password
            assert login(kafka, "alice", password, mechanism) == 0
        assert kafka.client_settings("confluent", user="carol", mechanism="SCRAM-SHA-512")["sasl.password"] == "word"
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            with pytest.raises(ValueError, match="'carol' is no user with a known password"):
                kafka.client_settings("confluent", user="carol", mechanism=mechanism)


def test_the_password_of_a_credential_that_a_client_has_changed_is_not_known() -> None:
    with FakeCluster(brokers=1, users={"alice": "secret"}) as kafka:
        settings = kafka.client_settings("confluent", user="alice")
        changed = UserScramCredentialUpsertion("alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"new")
        admin = AdminClient(settings)
        admin.alter_user_scram_credentials([changed])["alice"].result()
        with pytest.raises(ValueError, match="'alice' is no user with a known password"):
            kafka.client_settings("confluent", user="alice", mechanism="SCRAM-SHA-256")
        other = kafka.client_settings("confluent", user="alice", mechanism="SCRAM-SHA-512")
        assert other["sasl.password"] == "secret"


@pytest.mark.parametrize(("name", "password"), [("al\udcffice", "secret"), ("alice", "\udcff")])
def test_a_user_of_no_characters_is_refused_in_words(name: str, password: str) -> None:
    with pytest.raises(ValueError, match=r"has '\\udcff' at place \d, which is no character of Unicode"):
        FakeCluster(brokers=1, users={name: password})
