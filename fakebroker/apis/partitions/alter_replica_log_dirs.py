"""AlterReplicaLogDirs (API key 34), versions 1-2: move replicas of one broker to another log directory (KIP-113).

Behaviour      Handles each partition independently; if one is named for two directories, the last entry counts. Checks
               in this order: a name that is too long for the files of a move: INVALID_TOPIC_EXCEPTION; a directory that
               is not configured: LOG_DIR_NOT_FOUND; an unknown partition: UNKNOWN_TOPIC_OR_PARTITION; no replica here:
               REPLICA_NOT_AVAILABLE.
Version notes  v2 flexible.
Not done       The copying, and so the future replica that DescribeLogDirs would show: there are no files.
Source         core/.../server/KafkaApis.scala handleAlterReplicaLogDirsRequest; ReplicaManager.scala
               alterReplicaLogDirs; clients/.../AlterReplicaLogDirsRequest.java partitionDirs, getErrorResponse @ 4.0
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import PARTITION, UNANSWERED, because, changes
from fakebroker.core.broker.log_dirs import alter_replica_log_dir
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.alter_replica_log_dirs.v2.request import AlterReplicaLogDirsRequest, AlterReplicaLogDirTopic

KEY = 34
_PARTITIONS_OF_A_SLICE: Final = 256


def _respond(ctx: RequestContext, results: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "results": results}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: AlterReplicaLogDirsRequest, code: ErrorCode) -> Slices[None]:
    def failed(topic: AlterReplicaLogDirTopic) -> dict[str, Any]:
        return {
            "topic_name": topic.name,
            "partitions": Each(lambda index: _result((index, code)), topic.partitions),
        }

    return _respond(ctx, Each(failed, [topic for log_dir in request.dirs for topic in log_dir.topics]))


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes(
        PARTITION,
        before="CLUSTER_AUTHORIZATION_FAILED LOG_DIR_NOT_FOUND KAFKA_STORAGE_ERROR UNKNOWN_TOPIC_OR_PARTITION "
        "REPLICA_NOT_AVAILABLE INVALID_TOPIC_EXCEPTION",
        unseen=because(UNKNOWN_TOPIC_OR_PARTITION=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: AlterReplicaLogDirsRequest) -> Slices[None]:
    destinations: dict[str, dict[int, str]] = {}
    done = 0
    for log_dir in request.dirs:
        for topic in log_dir.topics:
            for index in topic.partitions:
                destinations.setdefault(topic.name, {})[index] = log_dir.path
                done += 1
                if done % _PARTITIONS_OF_A_SLICE == 0:
                    yield
    results: dict[str, list[tuple[int, ErrorCode]]] = {}
    for name, partitions in destinations.items():
        results[name] = []
        for number, path in partitions.items():
            code = ErrorCode.none
            partition = ctx.metadata.find_partition(name, number)
            named = TopicPartition(name, number)
            try:
                alter_replica_log_dir(ctx.controller.config, named, partition, ctx.broker.broker_id, path)
            except KafkaError as error:
                code = error.code
            results[name].append((number, code))
            done += 1
            if done % _PARTITIONS_OF_A_SLICE == 0:
                yield
    yield from _respond(ctx, Each(_topic, results.items()))


def _topic(item: tuple[str, list[tuple[int, ErrorCode]]]) -> dict[str, Any]:
    name, partitions = item
    return {"topic_name": name, "partitions": Each(_result, partitions)}


def _result(item: tuple[int, ErrorCode]) -> dict[str, Any]:
    return {"partition_index": item[0], "error_code": item[1]}
