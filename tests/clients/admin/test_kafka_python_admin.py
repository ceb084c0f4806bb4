"""kafka-python's administrator, unmodified: every call that it has for what is served, and what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.errors import (
    ElectionNotNeededError,
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    LogDirNotFoundError,
    NoError,
    OffsetOutOfRangeError,
    SecurityDisabledError,
    TopicAlreadyExistsError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata
from support.administered import COMMITTED, RECORDS, Administered, becomes

from fakebroker.apis import registry

pytestmark = pytest.mark.clients

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


@pytest.fixture
def admin(given: Administered) -> Iterator[KafkaAdminClient]:
    made = KafkaAdminClient(bootstrap_servers=given.bootstrap)
    yield made
    made.close()


def test_topics(given: Administered, admin: KafkaAdminClient) -> None:
    made = f"{given.topic}-made"

    def described() -> list[tuple[int, int, int]]:
        [topic] = admin.describe_topics([made])
        parts = topic["partitions"]
        return [(part["partition_index"], len(part["replica_nodes"]), len(part["isr_nodes"])) for part in parts]

    def page() -> list[int]:
        [topic] = admin.describe_topic_partitions([made])["topics"]
        return [partition["partition_index"] for partition in topic["partitions"]]

    def listed() -> set[str]:
        return {name for name in admin.list_topics() if name.startswith(given.topic)}

    [created] = admin.create_topics([NewTopic(made, 3, 2, topic_configs={"retention.ms": "60000"})])["topics"]
    assert (created["num_partitions"], created["replication_factor"]) == (3, 2)
    assert created["configs"]["retention.ms"]["value"] == "60000"
    admin.wait_for_topics([made])
    becomes(described, [(index, 2, 2) for index in range(3)])
    becomes(page, [0, 1, 2])
    becomes(listed, {given.topic, made})
    for error, topic in (
        (TopicAlreadyExistsError, NewTopic(made, 3, 2)),
        (InvalidTopicError, NewTopic("a b", 1, 1)),
        (InvalidReplicationFactorError, NewTopic("many", 1, 9)),
        (InvalidConfigurationError, NewTopic("set", 1, 1, topic_configs={"retention.ms": "never"})),
    ):
        with pytest.raises(error):
            admin.create_topics([topic])

    admin.create_partitions({made: NewPartitions(5)})
    becomes(page, [0, 1, 2, 3, 4])
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({made: NewPartitions(2)})
    admin.delete_topics([made])
    becomes(listed, {given.topic})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([made])


def test_settings(given: Administered, admin: KafkaAdminClient) -> None:
    def altered() -> dict[str, str]:
        configs = admin.describe_configs([ConfigResource(TOPIC, given.topic)])["topic"][given.topic]
        return {name: config["value"] for name, config in configs.items()}

    admin.alter_configs([ConfigResource(TOPIC, given.topic, {"retention.ms": "5000", "cleanup.policy": "compact"})])
    becomes(altered, {"retention.ms": "5000", "cleanup.policy": "compact"})
    admin.alter_configs([ConfigResource(TOPIC, given.topic, {"cleanup.policy": ("APPEND", "delete")})])
    becomes(altered, {"retention.ms": "5000", "cleanup.policy": "compact,delete"})
    admin.reset_configs([ConfigResource(TOPIC, given.topic, ["retention.ms"])])
    becomes(altered, {"cleanup.policy": "compact,delete"})
    old = ConfigResource(TOPIC, given.topic, {"retention.ms": "6000", "cleanup.policy": "delete"})
    admin.alter_configs([old], incremental=False)  # by AlterConfigs
    becomes(lambda: altered()["retention.ms"], "6000")
    broker = ConfigResource(BROKER, "2", ["node.id"])
    assert admin.describe_configs([broker], config_filter="all")["broker"]["2"]["node.id"]["value"] == "2"
    assert given.topic in admin.list_config_resources()["topic"]


def test_offsets_and_records(given: Administered, admin: KafkaAdminClient) -> None:
    first, second = (TopicPartition(given.topic, index) for index in range(2))

    def offsets(spec: Any) -> list[int]:
        offsets = admin.list_partition_offsets({first: spec, second: spec})
        return [offsets[first].offset, offsets[second].offset]

    assert offsets(OffsetSpec.EARLIEST) == [0, 0]
    assert offsets(OffsetSpec.LATEST) == [RECORDS, RECORDS]
    assert admin.delete_records({first: 4})[first]["low_watermark"] == 4
    assert offsets(OffsetSpec.EARLIEST) == [4, 0]
    with pytest.raises(OffsetOutOfRangeError):
        admin.delete_records({first: 99})
    assert admin.describe_producers([first])[first].active_producers == []


def test_groups(given: Administered, admin: KafkaAdminClient) -> None:
    first, second = (TopicPartition(given.topic, index) for index in range(2))

    def offsets() -> dict[int, int]:
        offsets = admin.list_group_offsets(given.group)[given.group]
        return {place.partition: offset.offset for place, offset in offsets.items()}

    def listed() -> list[tuple[str, str]]:
        groups = [group for group in admin.list_groups() if group["group_id"] == given.group]
        return [(group["group_state"], group["group_type"]) for group in groups]

    assert offsets() == COMMITTED
    becomes(listed, [("Empty", "classic")])
    description = admin.describe_groups([given.group])[given.group]
    assert (description["group_state"], description["members"], description["error"]) == ("Empty", [], None)
    admin.alter_group_offsets(given.group, {first: OffsetAndMetadata(1, "why", -1)})
    assert offsets() == COMMITTED | {0: 1}
    assert admin.reset_group_offsets(given.group, {second: OffsetSpec.LATEST})[second]["offset"] == RECORDS
    assert offsets() == {0: 1, 1: RECORDS}
    assert admin.delete_group_offsets(given.group, [first]) == {first: NoError}
    assert offsets() == {1: RECORDS}
    assert admin.delete_groups([given.group, f"{given.group}-none"]) == {
        given.group: "OK",
        f"{given.group}-none": "GroupIdNotFoundError",
    }
    assert listed() == []


def test_an_unknown_member_is_not_removed(given: Administered, admin: KafkaAdminClient) -> None:
    [error] = admin.remove_group_members(given.group, [MemberToRemove(group_instance_id="nobody")]).values()
    assert error is UnknownMemberIdError


def test_the_cluster(given: Administered, admin: KafkaAdminClient) -> None:
    cluster = admin.describe_cluster()
    assert {f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]} == set(given.bootstrap.split(","))
    assert sorted(broker["broker_id"] for broker in cluster["brokers"]) == [1, 2, 3]
    versions = admin.get_broker_version_data(2).api_versions  # api_versions() fails for Kafka's newest API keys
    assert {int(key) for key in versions} >= {key for key, api in registry.load().items() if api.is_advertised}
    assert admin.describe_features()["group.version"]["finalized"] == (1, 1)
    assert admin.update_features({"group.version": 1}, validate_only=True) == {"group.version": "OK"}
    [quorum] = admin.describe_metadata_quorum()["topics"]
    assert quorum["topic_name"] == "__cluster_metadata"
    assert quorum["partitions"][0]["leader_id"] == 1

    sizes = {
        (broker["broker"], partition["partition_index"]): partition["partition_size"]
        for broker in admin.describe_log_dirs([given.topic])
        for folder in broker["log_dirs"]
        for topic in folder["topics"]
        for partition in topic["partitions"]
    }
    assert set(sizes) == {(broker, index) for broker in (1, 2, 3) for index in range(2)}
    assert min(sizes.values()) > 0
    [error] = admin.alter_replica_log_dirs({(given.topic, 0, 2): "/nowhere"}).values()
    assert error is LogDirNotFoundError


def test_replicas_move(given: Administered, admin: KafkaAdminClient) -> None:
    partition = TopicPartition(given.topic, 0)

    def replicas() -> list[int]:
        [topic] = admin.describe_topics([given.topic])
        [first] = [part for part in topic["partitions"] if part["partition_index"] == 0]
        return list(first["replica_nodes"])

    [elected] = admin.elect_leaders(0, {given.topic: [0]}).replica_election_results
    [result] = elected.partition_result
    assert (elected.topic, result.partition_id, result.error_code) == (given.topic, 0, ElectionNotNeededError.errno)
    assert admin.alter_partition_reassignments({partition: [2, 3]}) == {partition: None}
    becomes(replicas, [2, 3])
    becomes(admin.list_partition_reassignments, {})


def test_credentials(given: Administered, admin: KafkaAdminClient) -> None:
    user, mechanism = given.topic, ScramMechanism.SCRAM_SHA_256

    def credentials() -> list[tuple[Any, int]]:
        credentials_ = admin.describe_user_scram_credentials([user])[user]["credential_infos"]
        return [(credential["mechanism"], credential["iterations"]) for credential in credentials_]

    change = UserScramCredentialUpsertion(user, mechanism, "secret", iterations=5000)
    assert admin.alter_user_scram_credentials([change]) == {user: None}
    becomes(credentials, [(mechanism, 5000)])
    assert admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)]) == {user: None}
    becomes(credentials, [])


def test_access_is_not_controlled(given: Administered, admin: KafkaAdminClient) -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, given.topic)
    acl = ACL("User:u", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)
    wanted = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    anything = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, wanted)
    assert admin.create_acls([acl]) == {"succeeded": [], "failed": [SecurityDisabledError]}
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls(anything)
    [(_, matching, error)] = admin.delete_acls([anything])
    assert (matching, error) == ([], SecurityDisabledError)
