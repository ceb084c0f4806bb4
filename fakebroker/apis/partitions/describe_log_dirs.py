"""DescribeLogDirs (API key 35), versions 1-5: the sizes of one broker's replicas, by log directory.

Behaviour      Returns each of log.dirs with its replicas of the requested partitions or of all (null). Each has the
               size in bytes of its log (in memory or out of it), and a lag of 0 behind its own high watermark. A
               partition that is unknown, or not here, is left out. The volume is as large as log.memory.bytes if the
               logs may not grow further (log.memory.full=delete). Otherwise it is 2^63 - 1 bytes, as Kafka reports
               larger volumes.
Version notes  v2 flexible; v3 error of its own; v4 sizes of the volume (KIP-827); v5 cordoned directories (KIP-1066).
Not done       There are no such directories on disk. New replicas go to the first directory, Kafka's to the one with
               the fewest. Directories do not fail.
Source         core/.../server/KafkaApis.scala handleDescribeLogDirsRequest; ReplicaManager.scala describeLogDirs,
               getLogEndOffsetLag, adjustForLargeFileSystems @ 4.0
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import PARTITION, UNANSWERED, because, reads
from fakebroker.core.broker.log_dirs import all_log_dirs
from fakebroker.core.log.memory import DELETE
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_log_dirs.v5.request import DescribeLogDirsRequest

KEY = 35
_PARTITIONS_OF_A_SLICE: Final = 512
_MAX_BYTES: Final = 2**63 - 1

_Found = dict[str, dict[int, Replica]]  # by topic and partition


def _respond(ctx: RequestContext, code: ErrorCode, results: list[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "error_code": code, "results": results}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeLogDirsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, code, [])


@registry.api(
    KEY,
    1,
    5,
    error_response=error_response,
    authorization=cluster("DESCRIBE"),
    errors=reads(
        PARTITION,
        "CLUSTER_AUTHORIZATION_FAILED KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND",
        unseen=because(LOG_DIR_NOT_FOUND=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: DescribeLogDirsRequest) -> Slices[None]:
    broker_id = ctx.broker.broker_id
    log_dirs = all_log_dirs(ctx.controller.config)
    by_log_dir: dict[str, _Found] = {log_dir: {} for log_dir in log_dirs}
    seen = 0
    if request.topics is None:
        requested: list[tuple[str, Any]] = [(name, None) for name in ctx.metadata.topic_names()]
    else:
        requested = [(topic.topic, topic.partitions) for topic in request.topics]
    for name, indexes in requested:
        seen += 1
        if seen % _PARTITIONS_OF_A_SLICE == 0:
            yield
        topic = ctx.metadata.topic(name)
        if topic is None:
            continue
        for index in range(len(topic.partitions)) if indexes is None else indexes:
            if 0 <= index < len(topic.partitions):
                replica = topic.partitions[index].replicas.get(broker_id)
                if replica is not None:
                    log_dir = replica.log_dir if replica.log_dir in by_log_dir else log_dirs[0]
                    by_log_dir[log_dir].setdefault(name, {})[index] = replica
            seen += 1
            if seen % _PARTITIONS_OF_A_SLICE == 0:
                yield
    yield from _respond(ctx, ErrorCode.none, [_log_dir(ctx, path, topics) for path, topics in by_log_dir.items()])


def _log_dir(ctx: RequestContext, path: str, topics: _Found) -> dict[str, Any]:
    memory, cordoned = ctx.controller.log_memory, ctx.controller.config.cordoned_log_dirs
    total = usable = _MAX_BYTES
    if memory.max_bytes >= 0 and memory.policy == DELETE:
        total, usable = memory.max_bytes, max(memory.max_bytes - memory.used_bytes, 0)
    return {
        "error_code": ErrorCode.none,
        "log_dir": path,
        "topics": Each(_topic, topics.items()),
        "total_bytes": total,
        "usable_bytes": usable,
        "is_cordoned": path in cordoned or "*" in cordoned,
    }


def _topic(item: tuple[str, dict[int, Replica]]) -> dict[str, Any]:
    name, replicas = item
    return {"name": name, "partitions": Each(partial(_replica), replicas.items())}


def _replica(item: tuple[int, Replica]) -> dict[str, Any]:
    index, replica = item
    log = replica.log
    return {
        "partition_index": index,
        "partition_size": log.size_in_bytes,
        "offset_lag": max(log.high_watermark - log.log_end_offset, 0),
        "is_future_key": False,
    }
