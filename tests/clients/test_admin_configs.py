"""Administrators, unmodified: settings, credentials and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.admin import ConfigResource as PythonResource
from kafka.admin import ConfigResourceType, KafkaAdminClient
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=2) as cluster:
        cluster.create_topic("t", partitions=1)
        yield cluster


def described(admin: AdminClient, kind: Any, name: str) -> dict[str, Any]:
    resource = ConfigResource(kind, name)
    return dict(admin.describe_configs([resource])[resource].result(LIMIT_S))


def test_confluent_kafka_alters_topics_and_brokers(kafka: FakeCluster) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for kind, name, key, value in (
        (ConfigResource.Type.TOPIC, "t", "retention.ms", "5000"),
        (ConfigResource.Type.BROKER, "2", "message.max.bytes", "6000"),
    ):
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
        assert described(admin, kind, name)[key].value == value
    assert described(admin, ConfigResource.Type.BROKER, "1")["message.max.bytes"].value == "1048588"
    assert described(admin, ConfigResource.Type.BROKER, "2")["node.id"].value == "2"


def test_confluent_kafka_keeps_credentials(kafka: FakeCluster) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 5000)
    for done in admin.alter_user_scram_credentials([UserScramCredentialUpsertion("u", info, b"pw", b"salt")]).values():
        done.result(LIMIT_S)
    futures: Any = admin.describe_user_scram_credentials(["u"])
    (credential,) = futures["u"].result(LIMIT_S).scram_credential_infos
    assert (credential.mechanism, credential.iterations) == (ScramMechanism.SCRAM_SHA_256, 5000)


def test_kafka_python_alters_a_topic(kafka: FakeCluster) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    try:
        admin.alter_configs([PythonResource(ConfigResourceType.TOPIC, "t", {"retention.ms": "6000"})])
        assert "'6000'" in str(admin.describe_configs([PythonResource(ConfigResourceType.TOPIC, "t")]))
    finally:
        admin.close()
