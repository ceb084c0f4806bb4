"""Fetch (API key 1), versions 4-18, for consumers and for followers over the wire.

Behaviour      A consumer reads below the high watermark. So it sees no record of a pending or timed-out acks=all
               request before that is replicated. The last batch is cut at the limit. A replica id marks the fetch of a
               follower: it reads up to the leader's log end and tells the leader its own, which moves the high
               watermark. Waits in the fetch purgatory up to MaxWaitMs for MinBytes. An unknown partition has an error
               in the response, which still waits for the others.
Version notes  v5 log start offset; v7 sessions (KIP-227), core/fetch_sessions/; v9 leader epoch; v10 zstd; v11 a
               consumer sends its rack; the leader may send it to a follower, where it reads up to the high watermark
               known there (KIP-392); v12 flexible, last fetched and diverging epochs (KIP-595); v13 topic ids; v15
               replica state (KIP-903); v16 node endpoints (KIP-951); v17 and v18 are for controllers.
Not done       Nothing.
Source         core/.../server/KafkaApis.scala handleFetchRequest @ 4.4
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import DISK, EPOCH, KNOWN, LEADER, MOMENT, PARTITION_BY_ID, because, reads
from fakebroker.apis.reading.fetch_answer import FetchAnswer, respond_error
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.fetch_sessions.context import FetchContext
from fakebroker.core.fetch_sessions.manager import FIRST_VERSION_WITH_IDS
from fakebroker.core.fetch_sessions.session import CachedPartition, Key
from fakebroker.core.replication.fetch import FetchParams, FetchPartition
from fakebroker.core.replication.reads import PARTITIONS_OF_A_SLICE
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.fetch.by_hand import read_by_hand
from fakebroker.protocol.fetch.reader import read_fetch_request, read_fetch_request_in_slices
from fakebroker.protocol.fetch.request import FetchRequest, FetchTopicData
from fakebroker.protocol.slices import Slices, begin

KEY: Final = 1
_FIRST_VERSION_WITH_RACKS: Final = 11
_NOBODY: Final[list[Key]] = []  # never changed, like the next one
_NO_RESULTS: Final[list[PartitionFetchResponse]] = []
_UNKNOWN_ID: Final = ErrorCode.unknown_topic_id
_UNKNOWN: Final = ErrorCode.unknown_topic_or_partition
_UNAUTHORIZED: Final = ErrorCode.topic_authorization_failed
_INCONSISTENT: Final = ErrorCode.inconsistent_topic_id


def error_response(ctx: RequestContext, request: FetchRequest, code: ErrorCode) -> None:
    respond_error(ctx, request, code)


@registry.api(
    KEY,
    4,
    18,
    error_response=error_response,
    decode=read_fetch_request,
    decode_in_slices=read_fetch_request_in_slices,
    decode_by_hand=read_by_hand,
    authorization=in_handler(
        "CLUSTER CLUSTER_ACTION TOPIC_AUTHORIZATION_FAILED partition", "TOPIC READ TOPIC_AUTHORIZATION_FAILED partition"
    ),
    errors=reads(
        PARTITION_BY_ID,
        f"{LEADER} {EPOCH} OFFSET_OUT_OF_RANGE UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID FETCH_SESSION_ID_NOT_FOUND "
        "INVALID_FETCH_SESSION_EPOCH FETCH_SESSION_TOPIC_ID_ERROR CORRUPT_MESSAGE UNSUPPORTED_COMPRESSION_TYPE "
        "OFFSET_NOT_AVAILABLE",
        unseen=because(CORRUPT_MESSAGE=DISK, UNSUPPORTED_COMPRESSION_TYPE=KNOWN, OFFSET_NOT_AVAILABLE=MOMENT),
    ),
)
def handle(ctx: RequestContext, request: FetchRequest) -> Slices[None] | None:
    named = len(request.topics) + len(request.forgotten)
    for topic in request.topics:
        named += len(topic.partitions)
    for gone in request.forgotten:
        named += len(gone.partitions)
    if named >= PARTITIONS_OF_A_SLICE:
        return begin(_handle(ctx, request))
    wanted: dict[Key, CachedPartition] = {}
    for topic in request.topics:
        _add_topic(ctx, topic, wanted)
    context = ctx.broker.fetch_manager.new_context(
        ctx.api_version,
        request.session_id,
        request.session_epoch,
        request.replica_id >= 0,
        wanted,
        _forgotten(ctx, request) if request.forgotten else _NOBODY,
        ctx.client_ms,
    )
    if len(context.partitions) >= PARTITIONS_OF_A_SLICE:
        return begin(_read(ctx, request, context))
    finding = _Finding(ctx, request, context)
    for cached in context.partitions:
        finding.find(cached)
    params = finding.params()
    if params is None:
        finding.answer.complete(_NO_RESULTS)
    else:
        ctx.replicas.fetch_messages(params, finding.wanted, finding.answer.complete, ctx.now)
    finding.answer.send_or_wait()
    return None


def _handle(ctx: RequestContext, request: FetchRequest) -> Slices[None]:
    """Handle a large request in slices."""
    wanted: dict[Key, CachedPartition] = {}
    for topic in request.topics:
        yield from _add_topic_in_slices(ctx, topic, wanted)
    context = yield from ctx.broker.fetch_manager.new_context_in_slices(
        ctx.api_version,
        request.session_id,
        request.session_epoch,
        request.replica_id >= 0,
        wanted,
        _forgotten(ctx, request),
        ctx.client_ms,
    )
    yield from _read(ctx, request, context)


def _read(ctx: RequestContext, request: FetchRequest, context: FetchContext) -> Slices[None]:
    finding = _Finding(ctx, request, context)
    for number, cached in enumerate(context.partitions, 1):
        finding.find(cached)
        if number % PARTITIONS_OF_A_SLICE == 0:
            yield
    params = finding.params()
    answer = finding.answer
    if params is None:
        answer.complete(_NO_RESULTS)
    else:
        yield from ctx.replicas.fetch_messages_in_slices(params, finding.wanted, answer.complete, ctx.now)
    if answer.is_complete:
        yield from answer.in_slices()
    else:
        answer.is_awaited = True


def _add_topic(ctx: RequestContext, topic: FetchTopicData, wanted: dict[Key, CachedPartition]) -> None:
    """Add the partitions of a topic. If one is named twice, the last entry counts, at the place of the first."""
    by_id = ctx.api_version >= FIRST_VERSION_WITH_IDS
    name = _name_of(ctx.metadata, topic) if by_id else topic.name
    for partition in topic.partitions:
        cached = CachedPartition(name, topic.topic_id, partition)
        wanted[cached.key(by_id)] = cached


def _add_topic_in_slices(
    ctx: RequestContext, topic: FetchTopicData, wanted: dict[Key, CachedPartition]
) -> Slices[None]:
    by_id = ctx.api_version >= FIRST_VERSION_WITH_IDS
    name = _name_of(ctx.metadata, topic) if by_id else topic.name
    for partition in topic.partitions:
        cached = CachedPartition(name, topic.topic_id, partition)
        wanted[cached.key(by_id)] = cached
        if len(wanted) % PARTITIONS_OF_A_SLICE == 0:
            yield
    yield


def _forgotten(ctx: RequestContext, request: FetchRequest) -> list[Key]:
    by_id = ctx.api_version >= FIRST_VERSION_WITH_IDS
    forgotten: list[Key] = []
    for gone in request.forgotten:
        for index in gone.partitions:
            forgotten.append((gone.topic_id, index) if by_id else (gone.name, index))
    return forgotten


@final
class _Finding:
    """The look-up of a context's partitions: `wanted` are those to read, the others go to the `answer` as errors."""

    __slots__ = ("_authorized", "_by_id", "_ctx", "_is_from_follower", "_request", "answer", "wanted")

    def __init__(self, ctx: RequestContext, request: FetchRequest, context: FetchContext) -> None:
        self._ctx = ctx
        self._request = request
        self._by_id = ctx.api_version >= FIRST_VERSION_WITH_IDS
        self._is_from_follower = request.replica_id >= 0
        # The decisions so far, by name; None if everything is allowed.
        self._authorized: dict[str, bool] | None = None if ctx.broker.authorizer is None else {}
        self.answer = FetchAnswer(ctx, request, context)
        self.wanted: list[FetchPartition] = []

    def find(self, cached: CachedPartition) -> None:
        metadata, answer = self._ctx.metadata, self.answer
        fetch_partition = _find(metadata, cached) if self._by_id else _find_by_name(metadata, cached)
        if self._authorized is not None and not self._is_authorized(self._authorized, cached.name):
            answer.not_found(cached, _UNAUTHORIZED)
        elif fetch_partition is not None:
            self.wanted.append(fetch_partition)
            answer.interesting.append(cached)
        elif cached.name is not None:
            answer.not_found(cached, _UNKNOWN)
        elif self._is_from_follower:
            answer.not_found(cached, _UNKNOWN_ID)
        else:  # they come first: Kafka checks authorization by name in a later pass
            answer.nameless(cached, _UNKNOWN_ID)

    def _is_authorized(self, decisions: dict[str, bool], name: str | None) -> bool:
        """Return True if the client may read the topic. A consumer gets another error for an unknown id (None)."""
        if name is None and not self._is_from_follower:
            return True
        key = "" if self._is_from_follower or name is None else name
        decision = decisions.get(key)
        if decision is None:
            if self._is_from_follower:
                decision = self._ctx.is_authorized_for_cluster(AclOperation.CLUSTER_ACTION)
            else:
                decision = self._ctx.is_authorized(AclOperation.READ, ResourceType.TOPIC, key)
            decisions[key] = decision
        return decision

    def params(self) -> FetchParams | None:
        """Return the parameters of the read; None if there is nothing to read."""
        if not self.wanted:
            return None
        request = self._request
        if not 0 <= request.isolation_level <= 1:
            raise KafkaError(ErrorCode.unknown_server_error, f"Unknown isolation level {request.isolation_level}")
        return _params(self._ctx, request)


def _name_of(metadata: MetadataCache, topic: FetchTopicData) -> str | None:
    known = metadata.topic_by_raw_id(topic.topic_id)
    return None if known is None else known.name


def _find_by_name(metadata: MetadataCache, cached: CachedPartition) -> FetchPartition | None:
    name = cached.name
    partition = None if name is None else metadata.find_partition(name, cached.index)
    if partition is None:
        return None
    requested = cached.asked
    return FetchPartition(
        partition,
        requested.fetch_offset,
        requested.max_bytes,
        _epoch(requested.current_leader_epoch),
        _epoch(requested.last_fetched_epoch),
    )


def _find(metadata: MetadataCache, cached: CachedPartition) -> FetchPartition | None:
    """Find a partition by topic id. A session remembers the topic's name, even when another topic has that name now."""
    known = metadata.topic_by_raw_id(cached.topic_id)
    if known is not None and cached.name is None:
        cached.name = known.name
    fetch_partition = _find_by_name(metadata, cached)
    if fetch_partition is not None and known is None:
        fetch_partition.error = _INCONSISTENT
    return fetch_partition


def _epoch(epoch: int) -> int:
    return -1 if epoch < 0 else epoch  # every negative epoch means none


def _params(ctx: RequestContext, request: FetchRequest) -> FetchParams:
    """Return the parameters of a read. The size of a consumer's fetch is limited by what its quota could ever allow."""
    max_bytes = request.max_bytes
    quotas = ctx.broker.quotas.fetch
    if quotas.quotas_enabled and request.replica_id < 0:
        max_bytes = int(min(max_bytes, quotas.max_value_in_quota_window(ctx.principal.name, ctx.client_id)))
    return FetchParams(
        request.max_wait_ms,
        request.min_bytes,
        max_bytes,
        request.replica_id,
        request.replica_epoch,
        request.isolation_level == 1,
        ctx.api_version >= _FIRST_VERSION_WITH_RACKS,
        request.rack_id,
    )
