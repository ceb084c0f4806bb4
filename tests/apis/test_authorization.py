"""The declared authorization of each API is Kafka's.

The table was read out of Kafka's source at aa6460d (4.0): each rule with the line of its check. `k` is
core/.../server/KafkaApis.scala, `c` ControllerApis.scala, `a` AclApis.scala, `g` ConfigHelper.scala, `h`
AuthHelper.scala, `t` DescribeTopicPartitionsRequestHandler.java. What 4.4 added to it is marked by `+`, and was read
out of the released jars.
"""

from __future__ import annotations

import pytest
from support.simulation import Simulation

from fakebroker.apis import registry
from fakebroker.apis.authorization import Authorization, Rule, group, in_handler, nothing, transactional_id
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.error_code import ErrorCode

# By API: source and line, resource, operation, error ("-": none by itself), place.
KAFKA = """
Produce                      k619   TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED request
Produce                      k631   TOPIC            WRITE            TOPIC_AUTHORIZATION_FAILED            partition
Fetch                        k790   CLUSTER          CLUSTER_ACTION   TOPIC_AUTHORIZATION_FAILED            partition
Fetch                        k813   TOPIC            READ             TOPIC_AUTHORIZATION_FAILED            partition
ListOffsets                  k1172  TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            partition
Metadata                     k1285  TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            topic
Metadata                     k1293  CLUSTER          CREATE           -                                     topic
Metadata                     k1294  TOPIC            CREATE           TOPIC_AUTHORIZATION_FAILED            topic
Metadata                     k1337  CLUSTER          DESCRIBE         -                                     operations
OffsetCommit                 k459   GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
OffsetCommit                 k469   TOPIC            READ             TOPIC_AUTHORIZATION_FAILED            partition
OffsetFetch                  k1465  GROUP            DESCRIBE         GROUP_AUTHORIZATION_FAILED            group
OffsetFetch                  k1526  TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            partition
FindCoordinator              k1634  GROUP            DESCRIBE         GROUP_AUTHORIZATION_FAILED            key
FindCoordinator              k1637  TRANSACTIONAL_ID DESCRIBE         TRANSACTIONAL_ID_AUTHORIZATION_FAILED key
FindCoordinator              k1643  CLUSTER          CLUSTER_ACTION   CLUSTER_AUTHORIZATION_FAILED          request
JoinGroup                    k1773  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
Heartbeat                    k1872  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
LeaveGroup                   k1892  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
SyncGroup                    k1807  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
DescribeGroups               k1694  GROUP            DESCRIBE         GROUP_AUTHORIZATION_FAILED            group
ListGroups                   k1737  CLUSTER          DESCRIBE         -                                     group
ListGroups                   k1752  GROUP            DESCRIBE         -                                     group
SaslHandshake                k1909
ApiVersions                  k1921
CreateTopics                 c369   CLUSTER          CREATE           -                                     topic
CreateTopics                 c370   TOPIC            CREATE           TOPIC_AUTHORIZATION_FAILED            topic
CreateTopics                 c371   TOPIC            DESCRIBE_CONFIGS TOPIC_AUTHORIZATION_FAILED            configs
DeleteTopics                 c206   CLUSTER          DELETE           -                                     topic
DeleteTopics                 c207   TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            topic
DeleteTopics                 c208   TOPIC            DELETE           TOPIC_AUTHORIZATION_FAILED            topic
DeleteRecords                k2188  TOPIC            DELETE           TOPIC_AUTHORIZATION_FAILED            partition
InitProducerId               k2250  TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED request
InitProducerId               k2254  CLUSTER          IDEMPOTENT_WRITE CLUSTER_AUTHORIZATION_FAILED          request
InitProducerId               k2255  TOPIC            WRITE            CLUSTER_AUTHORIZATION_FAILED          request
OffsetForLeaderEpoch         k2793  CLUSTER          CLUSTER_ACTION   -                                     request
OffsetForLeaderEpoch         k2795  TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            partition
AddPartitionsToTxn           k2557  TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED partition
AddPartitionsToTxn           k2567  TOPIC            WRITE            TOPIC_AUTHORIZATION_FAILED            partition
AddPartitionsToTxn           k2519  CLUSTER          CLUSTER_ACTION   CLUSTER_AUTHORIZATION_FAILED          request
AddOffsetsToTxn              k2626  TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED request
AddOffsetsToTxn              k2631  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
EndTxn                       k2300  TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED request
WriteTxnMarkers              k2346  CLUSTER          ALTER            -                                     request
WriteTxnMarkers              k2347  CLUSTER          CLUSTER_ACTION   CLUSTER_AUTHORIZATION_FAILED          request
TxnOffsetCommit              k2697  TRANSACTIONAL_ID WRITE            TRANSACTIONAL_ID_AUTHORIZATION_FAILED request
TxnOffsetCommit              k2700  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
TxnOffsetCommit              k2704  TOPIC            READ             TOPIC_AUTHORIZATION_FAILED            partition
DescribeAcls                 a59    CLUSTER          DESCRIBE         CLUSTER_AUTHORIZATION_FAILED          request
CreateAcls                   a81    CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DeleteAcls                   a137   CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DescribeConfigs              g59    CLUSTER          DESCRIBE_CONFIGS CLUSTER_AUTHORIZATION_FAILED          resource
DescribeConfigs              g61    TOPIC            DESCRIBE_CONFIGS TOPIC_AUTHORIZATION_FAILED            resource
DescribeConfigs              g63    GROUP            DESCRIBE_CONFIGS GROUP_AUTHORIZATION_FAILED            resource
AlterConfigs                 c473   CLUSTER          ALTER_CONFIGS    CLUSTER_AUTHORIZATION_FAILED          resource
AlterConfigs                 c479   TOPIC            ALTER_CONFIGS    TOPIC_AUTHORIZATION_FAILED            resource
AlterConfigs                 c485   GROUP            ALTER_CONFIGS    GROUP_AUTHORIZATION_FAILED            resource
AlterReplicaLogDirs          k3054  CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DescribeLogDirs              k3077  CLUSTER          DESCRIBE         CLUSTER_AUTHORIZATION_FAILED          request
SaslAuthenticate             k1914
CreatePartitions             c797   TOPIC            ALTER            TOPIC_AUTHORIZATION_FAILED            topic
CreateDelegationToken        k3114  USER             CREATE_TOKENS    DELEGATION_TOKEN_AUTHORIZATION_FAILED request
RenewDelegationToken         k3167
ExpireDelegationToken        k3213
DescribeDelegationToken      k3285  DELEGATION_TOKEN DESCRIBE         -                                     token
DescribeDelegationToken      k3286  USER             DESCRIBE_TOKENS  -                                     token
DeleteGroups                 k1833  GROUP            DELETE           GROUP_AUTHORIZATION_FAILED            group
ElectLeaders                 c574   CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
IncrementalAlterConfigs      c473   CLUSTER          ALTER_CONFIGS    CLUSTER_AUTHORIZATION_FAILED          resource
IncrementalAlterConfigs      c479   TOPIC            ALTER_CONFIGS    TOPIC_AUTHORIZATION_FAILED            resource
IncrementalAlterConfigs      c485   GROUP            ALTER_CONFIGS    GROUP_AUTHORIZATION_FAILED            resource
AlterPartitionReassignments  c879   CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
ListPartitionReassignments   c1015  CLUSTER          DESCRIBE         CLUSTER_AUTHORIZATION_FAILED          request
OffsetDelete                 k3383  GROUP            DELETE           GROUP_AUTHORIZATION_FAILED            request
OffsetDelete                 k3387  TOPIC            READ             TOPIC_AUTHORIZATION_FAILED            partition
DescribeClientQuotas         k3446  CLUSTER          DESCRIBE_CONFIGS CLUSTER_AUTHORIZATION_FAILED          request
AlterClientQuotas            c700   CLUSTER          ALTER_CONFIGS    CLUSTER_AUTHORIZATION_FAILED          request
DescribeUserScramCredentials k3520  CLUSTER          DESCRIBE         CLUSTER_AUTHORIZATION_FAILED          request
AlterUserScramCredentials    c891   CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DescribeQuorum               c569   CLUSTER          DESCRIBE         CLUSTER_AUTHORIZATION_FAILED          request
UpdateFeatures               c1045  CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DescribeCluster              h151   CLUSTER          DESCRIBE         -                                     operations
DescribeProducers            k3684  TOPIC            READ             TOPIC_AUTHORIZATION_FAILED            partition
UnregisterBroker             c637   CLUSTER          ALTER            CLUSTER_AUTHORIZATION_FAILED          request
DescribeTransactions         k3723  TRANSACTIONAL_ID DESCRIBE         TRANSACTIONAL_ID_AUTHORIZATION_FAILED transaction
DescribeTransactions         k3735  TOPIC            DESCRIBE         -                                     topic
ListTransactions             k3758  TRANSACTIONAL_ID DESCRIBE         -                                     transaction
ConsumerGroupHeartbeat       k3801  GROUP            READ             GROUP_AUTHORIZATION_FAILED            request
ConsumerGroupHeartbeat       +      TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            request
ConsumerGroupDescribe        k3832  GROUP            DESCRIBE         GROUP_AUTHORIZATION_FAILED            group
ConsumerGroupDescribe        +      TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            group
GetTelemetrySubscriptions    k3875
PushTelemetry                k3892
ListConfigResources          k3912  CLUSTER          DESCRIBE_CONFIGS CLUSTER_AUTHORIZATION_FAILED          request
DescribeTopicPartitions      t96    TOPIC            DESCRIBE         TOPIC_AUTHORIZATION_FAILED            topic
"""

Told = tuple[str, str, str, str]


def kafkas() -> dict[str, set[Told]]:
    table: dict[str, set[Told]] = {}
    for line in KAFKA.strip().splitlines():
        api, _, *rule = line.split()
        rules = table.setdefault(api, set())
        if rule:
            kind, operation, error, place = rule
            rules.add((kind, operation, error, place))
    return table


def told(rule: Rule) -> Told:
    error = "-" if rule.error is None else rule.error.name.upper()
    return rule.resource_type.name, rule.operation.name, error, rule.place


def test_each_api_declares_the_rules_of_kafka() -> None:
    declared = {
        api.name: {told(rule) for rule in (*api.authorization.before, *api.authorization.in_handler)}
        for api in registry.load().values()
    }
    assert declared == kafkas()


def test_a_rule_for_the_whole_request_is_checked_before_the_handler() -> None:
    for api in registry.load().values():
        for rule in api.authorization.before:
            assert rule.place == "request", api.name
            assert rule.error is not None, api.name


def test_the_declared_errors_of_an_api_have_those_of_its_authorization() -> None:
    for api in registry.load().values():
        for rule in (*api.authorization.before, *api.authorization.in_handler):
            if rule.error is not None:
                assert rule.error.name.upper() in api.errors.before, (api.name, rule)


def test_rules_are_joined_in_order() -> None:
    both = transactional_id("WRITE").and_(group("READ")).and_(in_handler("TOPIC READ TOPIC_AUTHORIZATION_FAILED topic"))

    assert [rule.resource_type for rule in both.before] == [ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP]
    assert both.in_handler == (
        Rule(ResourceType.TOPIC, AclOperation.READ, ErrorCode.topic_authorization_failed, "topic"),
    )
    assert nothing("open to all") == Authorization()


@pytest.mark.parametrize("declared", ["TOPIC READ", "TOPIC NO_OPERATION - topic", "NOWHERE READ - topic"])
def test_a_rule_that_names_nothing_of_kafkas_is_refused(declared: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        in_handler(declared)


def test_a_cluster_without_the_setting_has_no_authorizer() -> None:
    assert Simulation().cluster.controller.authorizer is None
    config = {"authorizer.class.name": STANDARD_AUTHORIZER}
    assert Simulation(config=config).cluster.controller.authorizer is not None
