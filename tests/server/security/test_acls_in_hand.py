"""`kafka.acls`: ACLs of a cluster from Python, in force over sockets for a stock client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from support.watchdog import run

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.protocol.error_code import ErrorCode

GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(1, config=GUARDED) as cluster:
        cluster.create_topic("orders", partitions=1, replication_factor=1)
        yield cluster


def error_of_a_send(kafka: FakeCluster, topic: str) -> int | None:
    """Return the error code of a record that confluent-kafka sends."""
    codes: list[Any] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": False})
    producer.produce(topic, b"v", on_delivery=lambda error, _: codes.append(error and error.code()))
    producer.flush()
    code: int | None = codes[0]
    return code


def test_a_client_may_do_what_an_acl_allows_and_no_more(kafka: FakeCluster) -> None:
    assert error_of_a_send(kafka, "orders") == ClientError.TOPIC_AUTHORIZATION_FAILED

    kafka.acls.add("topic", "ord", "write", principal="User:ANONYMOUS", pattern="prefixed")
    assert error_of_a_send(kafka, "orders") is None

    kafka.acls.add("topic", "orders", "write", permission="deny")
    assert error_of_a_send(kafka, "orders") == ClientError.TOPIC_AUTHORIZATION_FAILED


def test_acls_are_listed_and_removed(kafka: FakeCluster) -> None:
    kafka.acls.add("topic", "orders", "read", principal="User:alice")
    kafka.acls.add("transactional-id", "*", "Write")
    kafka.acls.add("cluster", "kafka-cluster", "idempotent-write", host="10.0.0.0/8")

    assert [binding.resource_name for binding in kafka.acls.list()] == ["orders", "*", "kafka-cluster"]
    assert [binding.principal for binding in kafka.acls.list("topic", "orders", pattern="match")] == ["User:alice"]
    assert [binding.host for binding in kafka.acls.remove("cluster")] == ["10.0.0.0/8"]
    assert len(kafka.acls.remove()) == 2
    assert kafka.acls.list() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("topik", "orders", "read"), "there is no ResourceType 'topik': did you mean 'TOPIC'"),
        (("topic", "orders", "reed"), "there is no AclOperation 'reed': did you mean 'READ'"),
        (("unknown", "orders", "read"), "there is no ResourceType 'unknown'"),
    ],
)
def test_a_name_that_kafka_does_not_have_is_refused(kafka: FakeCluster, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kafka.acls.add(*arguments)


@pytest.mark.parametrize("part", [{"pattern": "match"}, {"pattern": "any"}, {"permission": "any"}])
def test_a_filter_is_no_acl(kafka: FakeCluster, part: dict[str, str]) -> None:
    with pytest.raises(KafkaError, match="an ACL with any or match is a filter: name one type, pattern, op") as refused:
        kafka.acls.add("topic", "orders", "read", **part)
    assert refused.value.code == ErrorCode.invalid_request
    assert kafka.acls.list() == []


def test_an_acl_that_kafka_would_refuse_is_refused(kafka: FakeCluster) -> None:
    with pytest.raises(KafkaError, match="no colon is present"):
        kafka.acls.add("topic", "orders", "read", principal="alice")
    with pytest.raises(KafkaError, match="The only valid name"):
        kafka.acls.add("cluster", "orders", "read")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("localhost", "a host is an address, a network as in '10.0.0.0/8', or '*'"),
        ("10.0.0.1,10.0.0.2", "a host is an address"),
        ("10.0.0.01", "a host is an address"),
        ("[::1]", "a host is an address"),
        ("::1", "write '0:0:0:0:0:0:0:1', as Kafka does"),
        ("::ffff:10.0.0.1", "write '10.0.0.1', as Kafka does"),
        ("FE80:0:0:0:0:0:0:1%eth0", "write 'fe80:0:0:0:0:0:0:1%eth0', as Kafka does"),
    ],
)
def test_a_host_that_matches_no_client_is_refused_at_the_start(host: str, words: str) -> None:
    acl = {"resource_type": "topic", "name": "orders", "operation": "read", "host": host}
    with pytest.raises(ValueError, match=r"^acls\[0\]: the host ") as refused:
        FakeCluster(1, acls=[acl])
    assert f"{host!r} matches no client: {words}" in str(refused.value)


@pytest.mark.parametrize(
    "host", ["*", "10.0.0.1", "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1%eth0", "10.0.0.0/8", "::1/128"]
)
def test_a_host_is_an_address_as_kafka_writes_it_or_a_network(host: str) -> None:
    acl = {"resource_type": "topic", "name": "orders", "operation": "read", "host": host}
    with FakeCluster(1, acls=[acl]) as kafka:
        assert [binding.host for binding in kafka.acls.list()] == [host]


def test_a_host_of_a_request_is_any_text_as_in_kafka(kafka: FakeCluster) -> None:
    wanted = AclBinding(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        "User:alice",
        "localhost",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    kafka.acls.add("cluster", "kafka-cluster", "alter")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    [created] = admin.create_acls([wanted]).values()
    assert created.result() is None
    assert "localhost" in [binding.host for binding in kafka.acls.list()]


def test_without_an_authorizer_there_are_no_acls() -> None:
    with FakeCluster(1) as kafka, pytest.raises(KafkaError, match="No Authorizer is configured"):
        kafka.acls.list()


def test_a_reset_forgets_all_acls(kafka: FakeCluster) -> None:
    kafka.acls.add("topic", "orders", "read")
    kafka.reset()

    assert kafka.acls.list() == []


def test_an_async_cluster_has_them_too() -> None:
    async def added() -> int:
        async with AsyncFakeCluster(1, config=GUARDED) as kafka:
            kafka.acls.add("group", "g", "read")
            return len(kafka.acls.list("group"))

    assert run(added()) == 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}, "the only one here is"),
        (
            GUARDED | {"super.users": "admin"},
            "Invalid value admin .* expected a string in format principalType:principalName",
        ),
    ],
)
def test_a_wrong_setting_is_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError, match=message):
        FakeCluster(1, config=config)


def test_a_super_user_may_do_everything() -> None:
    with FakeCluster(1, config=GUARDED | {"super.users": " User:a ;User:ANONYMOUS"}) as kafka:
        kafka.create_topic("orders", partitions=1, replication_factor=1)
        assert error_of_a_send(kafka, "orders") is None


def test_a_stock_admin_client_manages_acls() -> None:
    with FakeCluster(1, config=GUARDED | {"super.users": "User:ANONYMOUS"}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        binding = AclBinding(
            ResourceType.TOPIC,
            "orders",
            ResourcePatternType.PREFIXED,
            "User:alice",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        for created in admin.create_acls([binding]).values():
            created.result()
        anything: Any = None  # of the name, the principal, the host
        everything = AclBindingFilter(
            ResourceType.ANY,
            anything,
            ResourcePatternType.ANY,
            anything,
            anything,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )

        assert admin.describe_acls(everything).result() == [binding]
        assert [acl.principal for acl in kafka.acls.list("topic", "orders-2", pattern="match")] == ["User:alice"]
        [deleted] = admin.delete_acls([everything]).values()
        assert deleted.result() == [binding]
        assert admin.describe_acls(everything).result() == []
