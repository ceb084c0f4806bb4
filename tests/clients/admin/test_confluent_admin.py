"""confluent-kafka's administrator, unmodified: every call that it has, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from support.administered import COMMITTED, RECORDS, Administered, becomes
from support.watchdog import LIMIT_S

pytestmark = pytest.mark.clients

SPEC: Any = OffsetSpec  # its methods have no types
TOPIC, BROKER = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER


@pytest.fixture
def admin(given: Administered) -> AdminClient:
    return given.brokers.admin


def only(asked: Mapping[Any, Any]) -> Any:
    """The answer for the one thing that was asked."""
    [future] = asked.values()
    return future.result(LIMIT_S)


def refused(call: Callable[[], Any]) -> str:
    """The name of the error. Raises AssertionError if there is none."""
    try:
        answer = call()
    except KafkaException as refusal:
        error = refusal.args[0]
        assert isinstance(error, KafkaError)
        return error.name()
    raise AssertionError(f"it was answered {answer}")


def settings(admin: AdminClient, kind: Any, name: str, *names: str) -> dict[str, str]:
    configs = only(admin.describe_configs([ConfigResource(kind, name)]))
    return {config_name: configs[config_name].value for config_name in names}


def test_topics(given: Administered, admin: AdminClient) -> None:
    made = f"{given.topic}-made"

    def described() -> list[tuple[int, int, int]]:
        topic = only(admin.describe_topics(TopicCollection([made])))
        assert topic.name == made
        return [(partition.id, len(partition.replicas), len(partition.isr)) for partition in topic.partitions]

    def listed() -> set[str]:
        return {name for name in admin.list_topics(timeout=LIMIT_S).topics if name.startswith(given.topic)}

    only(admin.create_topics([NewTopic(made, 3, 2, config={"retention.ms": "60000"})]))
    becomes(described, [(index, 2, 2) for index in range(3)])
    becomes(listed, {given.topic, made})
    assert settings(admin, TOPIC, made, "retention.ms", "cleanup.policy") == {
        "retention.ms": "60000",
        "cleanup.policy": "delete",
    }
    assert refused(lambda: only(admin.create_topics([NewTopic(made, 3, 2)]))) == "TOPIC_ALREADY_EXISTS"
    assert refused(lambda: only(admin.create_topics([NewTopic("a b", 1, 1)]))) == "TOPIC_EXCEPTION"
    assert refused(lambda: only(admin.create_topics([NewTopic("many", 1, 9)]))) == "INVALID_REPLICATION_FACTOR"
    only(admin.create_topics([NewTopic(f"{made}-not", 1, 1)], validate_only=True))

    only(admin.create_partitions([NewPartitions(made, 5)]))
    becomes(described, [(index, 2, 2) for index in range(5)])
    assert refused(lambda: only(admin.create_partitions([NewPartitions(made, 2)]))) == "INVALID_PARTITIONS"

    only(admin.delete_topics([made]))
    becomes(listed, {given.topic})
    assert refused(lambda: only(admin.delete_topics([made]))) == "UNKNOWN_TOPIC_OR_PART"
    assert refused(lambda: only(admin.describe_topics(TopicCollection([made])))) == "UNKNOWN_TOPIC_OR_PART"


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_settings(given: Administered, admin: AdminClient) -> None:
    def altered(key: str, value: str | None, kind: AlterConfigOpType) -> None:
        entry = ConfigEntry(key, value, incremental_operation=kind)
        only(admin.incremental_alter_configs([ConfigResource(TOPIC, given.topic, incremental_configs=[entry])]))

    def shown() -> dict[str, str]:
        return settings(admin, TOPIC, given.topic, "cleanup.policy", "max.message.bytes")

    altered("max.message.bytes", "5000", AlterConfigOpType.SET)
    altered("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    becomes(shown, {"cleanup.policy": "delete,compact", "max.message.bytes": "5000"})
    altered("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    altered("max.message.bytes", None, AlterConfigOpType.DELETE)
    becomes(shown, {"cleanup.policy": "compact", "max.message.bytes": "1048588"})
    assert refused(lambda: altered("max.message.bytes", "never", AlterConfigOpType.SET)) == "INVALID_CONFIG"

    old = ConfigResource(
        TOPIC, given.topic, set_config={"max.message.bytes": "6000"}
    )  # AlterConfigs sets the rest back
    only(admin.alter_configs([old]))
    becomes(shown, {"cleanup.policy": "delete", "max.message.bytes": "6000"})
    assert settings(admin, BROKER, "2", "node.id", "auto.create.topics.enable")["node.id"] == "2"


def test_offsets_and_records(given: Administered, admin: AdminClient) -> None:
    def offset(partition: int, spec: Any) -> int:
        return int(only(admin.list_offsets({TopicPartition(given.topic, partition): spec})).offset)

    assert [offset(0, SPEC.earliest()), offset(0, SPEC.latest())] == [0, RECORDS]
    assert offset(0, SPEC.for_timestamp(1)) == 0
    assert 0 <= offset(0, SPEC.max_timestamp()) < RECORDS
    assert only(admin.delete_records([TopicPartition(given.topic, 0, 4)])).low_watermark == 4
    assert [offset(0, SPEC.earliest()), offset(1, SPEC.earliest())] == [4, 0]
    assert refused(lambda: only(admin.delete_records([TopicPartition(given.topic, 0, 99)]))) == "OFFSET_OUT_OF_RANGE"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what list_groups() imports
def test_groups(given: Administered, admin: AdminClient) -> None:
    def offsets() -> dict[int, int]:
        group = only(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(given.group)]))
        return {topic_partition.partition: topic_partition.offset for topic_partition in group.topic_partitions}

    def listed() -> dict[str, tuple[str, str]]:
        listing = admin.list_consumer_groups().result(LIMIT_S)
        assert not listing.errors
        mine = [listing_ for listing_ in listing.valid if listing_.group_id == given.group]
        return {group.group_id: (group.state.name, group.type.name) for group in mine}

    assert offsets() == COMMITTED
    becomes(listed, {given.group: ("EMPTY", "CLASSIC")})
    assert [group.id for group in admin.list_groups(given.group, timeout=LIMIT_S)] == [given.group]
    description = only(admin.describe_consumer_groups([given.group]))
    assert (description.state.name, description.members, description.is_simple_consumer_group) == ("EMPTY", [], True)

    alteration = ConsumerGroupTopicPartitions(given.group, [TopicPartition(given.topic, 0, 1)])
    only(admin.alter_consumer_group_offsets([alteration]))
    assert offsets() == COMMITTED | {0: 1}
    only(admin.delete_consumer_groups([given.group]))
    assert listed() == {}
    assert refused(lambda: only(admin.delete_consumer_groups([given.group]))) == "GROUP_ID_NOT_FOUND"


def test_the_cluster(given: Administered, admin: AdminClient) -> None:
    cluster = admin.describe_cluster().result(LIMIT_S)
    addresses = {f"{node.host}:{node.port}" for node in cluster.nodes}
    assert sorted(node.id for node in cluster.nodes) == [1, 2, 3]
    assert addresses == set(given.bootstrap.split(","))
    assert cluster.cluster_id == admin.cluster_id()
    assert cluster.controller.id in {1, 2, 3}
    partition = TopicPartition(given.topic, 0)
    [(elected, error)] = admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(LIMIT_S).items()
    assert (elected.topic, elected.partition, error.name()) == (given.topic, 0, "ELECTION_NOT_NEEDED")


def test_credentials(given: Administered, admin: AdminClient) -> None:
    user = given.topic

    def credentials() -> list[tuple[str, int]]:
        futures: Any = admin.describe_user_scram_credentials([user])
        credentials_ = futures[user].result(LIMIT_S).scram_credential_infos
        return [(credential.mechanism.name, credential.iterations) for credential in credentials_]

    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 5000)
    only(admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, b"secret", b"salt")]))
    becomes(credentials, [("SCRAM_SHA_512", 5000)])
    deletion = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512)
    only(admin.alter_user_scram_credentials([deletion]))
    becomes(lambda: refused(credentials), "RESOURCE_NOT_FOUND")


def test_access_is_not_controlled(given: Administered, admin: AdminClient) -> None:
    binding = (ResourceType.TOPIC, given.topic, ResourcePatternType.LITERAL, "User:u", "*")
    rights = (AclOperation.READ, AclPermissionType.ALLOW)
    assert refused(lambda: only(admin.create_acls([AclBinding(*binding, *rights)]))) == "SECURITY_DISABLED"
    assert refused(lambda: only(admin.delete_acls([AclBindingFilter(*binding, *rights)]))) == "SECURITY_DISABLED"
