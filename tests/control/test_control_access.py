"""ACLs, users and sessions over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from support.controlled import Controlled
from support.raw_login import login, login_at
from support.slices import most_calls_of_a_slice
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.control.routes.access import _list_acls
from fakebroker.core.journal.events import ConnectionClosed
from fakebroker.core.security.acl_binding import AclBindingFilter

ALL = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
FAILED = 58  # SASL_AUTHENTICATION_FAILED
NO_DELAY = {"connection.failed.authentication.delay.ms": 0}
WRITE = {"resource_type": "topic", "name": "orders", "operation": "write", "principal": "User:alice"}
WHOLE = WRITE | {"host": "*", "permission": "allow", "pattern": "literal"}


@pytest.fixture
def controlled() -> Iterator[Controlled]:
    with Controlled(brokers=1, users={"alice": "secret"}, acls=[], config=NO_DELAY) as made:
        yield made


def test_acls_are_added_listed_and_removed(controlled: Controlled) -> None:
    http = controlled.http
    made = http.post("/v1/acls", json=WRITE)
    assert (made.status_code, made.json()) == (201, WHOLE)
    read = WHOLE | {"operation": "read", "principal": "User:*", "pattern": "prefixed"}
    http.post("/v1/acls", json={"resource_type": "TOPIC", "name": "orders", "operation": "Read", "pattern": "prefixed"})
    assert http.get("/v1/acls").json() == {"acls": [WHOLE, read]}
    assert http.get("/v1/acls", params={"principal": "User:alice"}).json() == {"acls": [WHOLE]}
    assert http.get("/v1/acls", params={"name": "orders-1", "pattern": "match"}).json() == {"acls": [read]}
    assert http.request("DELETE", "/v1/acls", json={"operation": "write"}).json() == {"acls": [WHOLE]}
    assert http.request("DELETE", "/v1/acls", json={}).json() == {"acls": [read]}
    assert controlled.kafka.acls.list() == []


def test_an_acl_of_the_control_is_in_force_for_a_stock_client(controlled: Controlled) -> None:
    kafka = controlled.kafka
    kafka.create_topic("orders", partitions=1)
    settings = kafka.client_settings("confluent", user="alice", password="secret")
    errors: list[Any] = []
    for change in (lambda: None, lambda: controlled.http.post("/v1/acls", json=WRITE).raise_for_status()):
        change()
        producer = Producer(settings | {"enable.idempotence": False})
        producer.produce("orders", b"1", on_delivery=lambda error, _: errors.append(error and error.name()))
        producer.flush()
    assert errors == ["TOPIC_AUTHORIZATION_FAILED", None]


def test_users_are_put_listed_and_removed(controlled: Controlled) -> None:
    http, kafka = controlled.http, controlled.kafka
    put = http.put("/v1/users", json={"name": "bob", "password": "word", "mechanisms": ["PLAIN", "SCRAM-SHA-512"]})
    listed = {
        "users": [{"name": "alice", "mechanisms": ALL}, {"name": "bob", "mechanisms": ["PLAIN", "SCRAM-SHA-512"]}]
    }
    assert (put.status_code, put.json()) == (200, listed)
    assert http.get("/v1/users").json() == listed
    assert [login(kafka, "bob", "word", mechanism) for mechanism in ALL] == [0, FAILED, 0]
    assert http.request("DELETE", "/v1/users", json={"name": "bob"}).json() == {"users": listed["users"][:1]}
    assert login(kafka, "bob", "word") == FAILED


def connected(controlled: Controlled) -> Producer:
    """Return a producer with a connection to the broker that lives. One with the bootstrap connection only may close
    it."""
    controlled.kafka.create_topic("orders", partitions=1)
    controlled.kafka.acls.add("topic", "orders", "write", principal="User:alice")
    settings = controlled.kafka.client_settings("confluent", user="alice", password="secret")
    producer = Producer(settings | {"enable.idempotence": False})
    producer.produce("orders", b"1")
    assert producer.flush(LIMIT_S) == 0
    return producer


def test_sessions_end(controlled: Controlled) -> None:
    producer = connected(controlled)
    assert controlled.http.post("/v1/sessions/expire", json={"user": "bob"}).json() == {"expired": 0}
    assert controlled.http.post("/v1/sessions/expire", json={"user": "alice"}).json()["expired"] >= 1
    with suppress(KafkaException):  # it closes the connection
        producer.list_topics(timeout=LIMIT_S)
    reasons = [event.reason for event in controlled.kafka.journal if isinstance(event, ConnectionClosed)]
    assert "the session of the client has expired" in reasons


def test_sessions_of_all_users_end(controlled: Controlled) -> None:
    producer = connected(controlled)
    assert controlled.http.post("/v1/sessions/expire", json={}).json()["expired"] >= 1
    assert len(producer) == 0  # it lived until now


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/v1/acls", WRITE | {"operation": "reed"}, 422, "there is no AclOperation 'reed'"),
        ("POST", "/v1/acls", WRITE | {"principal": "alice"}, 400, "Could not parse principal"),
        ("POST", "/v1/acls", WRITE | {"operation": "any"}, 400, "is a filter"),
        ("POST", "/v1/acls", {"name": "t", "operation": "read"}, 422, "resource_type is missing"),
        ("POST", "/v1/acls", WRITE | {"hots": "*"}, 422, "did you mean host?"),
        ("GET", "/v1/acls?pattern=litteral", None, 422, "there is no PatternType 'litteral'"),
        ("GET", "/v1/acls?patern=any", None, 422, "did you mean pattern?"),
        ("DELETE", "/v1/acls", {"permission": "x"}, 422, "there is no AclPermissionType 'x'"),
        ("PUT", "/v1/users", {"name": "bob", "password": ""}, 422, "the user 'bob' needs a password"),
        ("PUT", "/v1/users", {"name": "bob"}, 422, "password is missing"),
        (
            "PUT",
            "/v1/users",
            {"name": "b", "password": "p", "mechanisms": ["GSSAPI"]},
            422,
            "mechanism with users 'GSSAPI'",
        ),
        ("DELETE", "/v1/users", {"name": "carol"}, 404, "there is no user 'carol'"),
        ("POST", "/v1/sessions/expire", {"usr": "x"}, 422, "did you mean user?"),
    ],
)
def test_what_cannot_be_is_said(
    controlled: Controlled, method: str, path: str, body: object, status: int, words: str
) -> None:
    answer = controlled.http.request(method, path, json=body)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert controlled.kafka.users.list() == {"alice": tuple(ALL)}


def test_without_an_authorizer_there_are_no_acls() -> None:
    with Controlled(brokers=1) as controlled:
        for method in ("GET", "POST", "DELETE"):
            body = None if method == "GET" else WRITE
            answer = controlled.http.request(method, "/v1/acls", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "SECURITY_DISABLED")


def test_a_cluster_of_the_control_has_users_and_acls() -> None:
    with Controlled(brokers=1) as controlled:
        new = {"brokers": 1, "users": {"dave": "word"}, "acls": [WRITE]}
        made = controlled.http.post("/v1/clusters", json=new).json()
        assert [listener["protocol"] for listener in made["listeners"]] == ["SASL_PLAINTEXT"]
        assert login_at(made["bootstrap_servers"], "dave", "word", "SCRAM-SHA-256") == 0
        assert controlled.http.get(f"/v1/clusters/{made['id']}/acls").json() == {"acls": [WHOLE]}
        refused = controlled.http.post("/v1/clusters", json=new | {"acls": [WRITE | {"operation": "reed"}]})
        assert (refused.status_code, "acls[0]: there is no AclOperation" in refused.text) == (422, True)


def test_many_acls_are_listed_and_removed_in_slices() -> None:
    def longest(count: int) -> tuple[int, int, int]:
        acls = [WRITE | {"name": f"t{number}"} for number in range(count)]
        with FakeCluster(brokers=1, acls=acls) as kafka:
            core, every = kafka._cluster.server.driver.cluster, AclBindingFilter()
            bindings = core.admin.acls(every)
            return (
                most_calls_of_a_slice(lambda: core.admin.acls_in_slices(every)),
                most_calls_of_a_slice(lambda: _list_acls(bindings)),
                most_calls_of_a_slice(lambda: core.admin.delete_acls_in_slices(every)),
            )

    few, many = longest(1_000), longest(4_000)
    assert [b <= 1.2 * a for a, b in zip(few, many, strict=True)] == [True] * 3, (few, many)
