"""librdkafka as an administrator: one call for each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, ElectionType, KafkaException, TopicCollection, TopicPartition
from confluent_kafka import admin as library
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from conformance.clients.python.lines import NotThere, answer_calls

_LIMIT_S = 30.0

Call = dict[str, Any]


def administer(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def do(call: Call) -> object:
        if call["call"] not in _CALLS:
            raise NotThere
        return _CALLS[call["call"]](admin, call)

    answer_calls(do, _named)


def _named(error: Exception) -> str:
    return str(error.args[0].name()) if isinstance(error, KafkaException) else type(error).__name__


def _only(futures: Mapping[Any, Any]) -> Any:
    """The answer for the one thing that was asked."""
    [future] = futures.values()
    return future.result(_LIMIT_S)


def _done(futures: Mapping[Any, Any]) -> bool:
    _only(futures)
    return True


def _of(call: Call) -> TopicPartition:
    return TopicPartition(call["topic"], call["partition"])


def _offsets(call: Call) -> list[TopicPartition]:
    return [TopicPartition(call["topic"], int(index), offset) for index, offset in call["offsets"].items()]


def _create_topic(admin: AdminClient, call: Call) -> object:
    return _done(
        admin.create_topics([NewTopic(call["topic"], call["partitions"], call["replicas"], config=call["configs"])])
    )


def _describe_topic(admin: AdminClient, call: Call) -> object:
    partitions = _only(admin.describe_topics(TopicCollection([call["topic"]]))).partitions
    return {"partitions": len(partitions), "replicas": len(partitions[0].replicas)}


def _list_topics(admin: AdminClient, call: Call) -> object:
    return sorted(name for name in admin.list_topics(timeout=_LIMIT_S).topics if name.startswith(call["prefix"]))


def _alter(admin: AdminClient, call: Call) -> object:
    changes = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in call["set"].items()
    ]
    changes += [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in call["delete"]]
    resource = ConfigResource(ConfigResource.Type.TOPIC, call["topic"], incremental_configs=changes)
    return _done(admin.incremental_alter_configs([resource]))


def _describe(admin: AdminClient, call: Call) -> object:
    kind = ConfigResource.Type.BROKER if "broker" in call else ConfigResource.Type.TOPIC
    configs = _only(admin.describe_configs([ConfigResource(kind, str(call.get("broker", call.get("topic"))))]))
    return {name: configs[name].value for name in call["names"]}


def _list_offsets(admin: AdminClient, call: Call) -> object:
    spec: Any = library.OffsetSpec
    wanted = spec.earliest() if call["spec"] == "earliest" else spec.latest()
    return _only(admin.list_offsets({_of(call): wanted})).offset


def _delete_records(admin: AdminClient, call: Call) -> object:
    done = admin.delete_records(_offsets(call))
    return {
        str(topic_partition.partition): future.result(_LIMIT_S).low_watermark
        for topic_partition, future in done.items()
    }


def _elect_leader(admin: AdminClient, call: Call) -> object:
    [error] = admin.elect_leaders(ElectionType.PREFERRED, [_of(call)]).result(_LIMIT_S).values()
    return error.name() if error else "elected"


def _alter_group_offsets(admin: AdminClient, call: Call) -> object:
    wanted = ConsumerGroupTopicPartitions(call["group"], _offsets(call))
    return _done(admin.alter_consumer_group_offsets([wanted]))


def _group_offsets(admin: AdminClient, call: Call) -> object:
    offsets = _only(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(call["group"])]))
    return {str(topic_partition.partition): topic_partition.offset for topic_partition in offsets.topic_partitions}


def _list_groups(admin: AdminClient, call: Call) -> object:
    groups = admin.list_consumer_groups().result(_LIMIT_S).valid
    return sorted(group.group_id for group in groups if group.group_id.startswith(call["prefix"]))


def _describe_group(admin: AdminClient, call: Call) -> object:
    group = _only(admin.describe_consumer_groups([call["group"]]))
    return {"state": group.state.name, "members": len(group.members)}


def _describe_cluster(admin: AdminClient, _: Call) -> object:
    return sorted(node.id for node in admin.describe_cluster().result(_LIMIT_S).nodes)


def _alter_scram(admin: AdminClient, call: Call) -> object:
    info = library.ScramCredentialInfo(library.ScramMechanism.SCRAM_SHA_256, call["iterations"])
    change = library.UserScramCredentialUpsertion(call["user"], info, b"secret")
    return _done(admin.alter_user_scram_credentials([change]))


def _describe_scram(admin: AdminClient, call: Call) -> object:
    futures: Any = admin.describe_user_scram_credentials([call["user"]])
    return futures[call["user"]].result(_LIMIT_S).scram_credential_infos[0].iterations


def _describe_acls(admin: AdminClient, _: Call) -> object:
    kind, pattern = library.ResourceType.ANY, library.ResourcePatternType.ANY
    rights = library.AclOperation.ANY, library.AclPermissionType.ANY
    anything: Any = library.AclBindingFilter  # its types forbid None, which means any
    return len(admin.describe_acls(anything(kind, None, pattern, None, None, *rights)).result(_LIMIT_S))


_CALLS: dict[str, Callable[[AdminClient, Call], object]] = {
    "create_topic": _create_topic,
    "create_partitions": lambda admin, call: _done(
        admin.create_partitions([NewPartitions(call["topic"], call["total"])])
    ),
    "delete_topic": lambda admin, call: _done(admin.delete_topics([call["topic"]])),
    "list_topics": _list_topics,
    "describe_topic": _describe_topic,
    "alter_topic_configs": _alter,
    "describe_topic_configs": _describe,
    "describe_broker_configs": _describe,
    "list_offsets": _list_offsets,
    "delete_records": _delete_records,
    "elect_leader": _elect_leader,
    "alter_group_offsets": _alter_group_offsets,
    "group_offsets": _group_offsets,
    "list_groups": _list_groups,
    "describe_group": _describe_group,
    "delete_group": lambda admin, call: _done(admin.delete_consumer_groups([call["group"]])),
    "describe_cluster": _describe_cluster,
    "alter_scram": _alter_scram,
    "describe_scram": _describe_scram,
    "describe_acls": _describe_acls,
}
