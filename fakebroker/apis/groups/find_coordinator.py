"""FindCoordinator (API key 10), versions 0-6.

Behaviour      Returns the leader of the partition of __consumer_offsets for a group id, or of __transaction_state for a
               transactional id. The first request creates the topic. Until the partition has a leader all requests get
               COORDINATOR_NOT_AVAILABLE. Each key has its own result, whether such a group exists or not.
               An unknown key type: INVALID_REQUEST for all; share groups (2) before v6 and a key that is not
               group:topic id:partition: INVALID_REQUEST.
Version notes  v1 key_type and error_message; v3 flexible; v4 many keys at once (KIP-699), each with its error and, in
               Kafka, never a message; v6 share groups (KIP-932).
Not done       Share groups (key type 2): COORDINATOR_NOT_AVAILABLE.
Source         core/.../server/KafkaApis.scala handleFindCoordinatorRequest, getCoordinator; SharePartitionKey.java
               validate @ 4.2
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.core.controller.auto_creation import creatable_topic
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME

if TYPE_CHECKING:
    from kio.schema.find_coordinator.v6.request import FindCoordinatorRequest

KEY = 10
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_BATCHED_SINCE: Final = 4
_SHARE_SINCE: Final = 6
_KEYS_OF_A_SLICE: Final = 128
_UNAUTHORIZED: Final = {
    _GROUP: ErrorCode.group_authorization_failed,
    _TRANSACTION: ErrorCode.transactional_id_authorization_failed,
}
_NO_NODE: Final[dict[str, Any]] = {"node_id": -1, "host": "", "port": -1}
_MESSAGES: Final = {
    **ERROR_TEXTS,
    ErrorCode.coordinator_not_available: "The coordinator is not available.",
    ErrorCode.invalid_request: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    ),
    ErrorCode.unknown_server_error: "The server experienced an unexpected error when processing the request.",
}


def _respond(ctx: RequestContext, coordinators: list[dict[str, Any]]) -> Slices[None]:
    """Respond with the result of each key; before v4 there is one key."""
    values: dict[str, Any] = {"throttle_time": timedelta(0)}
    if ctx.api_version < _BATCHED_SINCE:
        values |= coordinators[0]
    else:
        values["coordinators"] = Each(dict, coordinators)
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def _keys(ctx: RequestContext, request: FindCoordinatorRequest) -> tuple[str, ...]:
    return request.coordinator_keys if ctx.api_version >= _BATCHED_SINCE else (getattr(request, "key"),)  # noqa: B009


def error_response(ctx: RequestContext, request: FindCoordinatorRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, [_found(key, code) | {"error_message": _text(code)} for key in _keys(ctx, request)])


@registry.api(
    KEY,
    0,
    6,
    error_response=error_response,
    authorization=in_handler(
        "GROUP DESCRIBE GROUP_AUTHORIZATION_FAILED key",
        "TRANSACTIONAL_ID DESCRIBE TRANSACTIONAL_ID_AUTHORIZATION_FAILED key",
        "CLUSTER CLUSTER_ACTION CLUSTER_AUTHORIZATION_FAILED request",
    ),
    errors=reads(
        "group transactional_id",
        "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE GROUP_AUTHORIZATION_FAILED INVALID_REQUEST "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED",
    ),
)
def handle(ctx: RequestContext, request: FindCoordinatorRequest) -> Slices[None]:
    key_type = request.key_type if ctx.api_version >= 1 else _GROUP
    coordinators: list[dict[str, Any]] = []
    for number, key in enumerate(_keys(ctx, request), 1):
        if not _is_authorized(ctx, key_type, key):
            coordinators.append(_found(key, _UNAUTHORIZED[key_type]))
        elif key_type == _GROUP:
            index = ctx.groups.partition_for(key)
            coordinators.append((yield from _coordinator(ctx, key, GROUP_METADATA_TOPIC_NAME, index)))
        elif key_type == _TRANSACTION:
            index = ctx.transactions.states.partition_for(key)
            coordinators.append((yield from _coordinator(ctx, key, TRANSACTION_STATE_TOPIC_NAME, index)))
        elif key_type == _SHARE and (ctx.api_version < _SHARE_SINCE or not _is_share_partition_key(key)):
            coordinators.append(_found(key, ErrorCode.invalid_request))
        elif key_type == _SHARE:
            coordinators.append(_found(key, ErrorCode.coordinator_not_available))
        else:
            raise KafkaError(ErrorCode.invalid_request, f"Unknown coordinator type received: {key_type}")
        if number % _KEYS_OF_A_SLICE == 0:
            yield
    if ctx.api_version < _BATCHED_SINCE:
        coordinators[0]["error_message"] = _text(coordinators[0]["error_code"])
    yield from _respond(ctx, coordinators)


def _is_authorized(ctx: RequestContext, key_type: int, key: str) -> bool:
    """Return True if the client may look up this coordinator. Raise KafkaError for one of a share group: only brokers
    look those up."""
    if key_type == _GROUP:
        return ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.GROUP, key)
    if key_type == _TRANSACTION:
        return ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, key)
    is_for_brokers = key_type == _SHARE and ctx.api_version >= _SHARE_SINCE
    if is_for_brokers and not ctx.is_authorized_for_cluster(AclOperation.CLUSTER_ACTION):
        raise KafkaError(ErrorCode.cluster_authorization_failed, "")
    return True


def _coordinator(ctx: RequestContext, key: str, topic: str, index: int) -> Slices[dict[str, Any]]:
    partition = ctx.metadata.find_partition(topic, index)
    if partition is None:
        new = creatable_topic(topic, ctx.controller.config)
        with suppress(KafkaError):  # the outcome is ignored
            yield from ctx.controller.create_topics_in_slices([new], lambda: ctx.now)
        return _found(key, ErrorCode.coordinator_not_available)
    if partition.leader_id < 0 or not ctx.metadata.is_registered(ctx.listener):
        return _found(key, ErrorCode.coordinator_not_available)
    return _found(key, ErrorCode.none, ctx.controller.registry[partition.leader_id].endpoint(ctx.listener))


def _found(key: str, code: ErrorCode, node: NodeEndpoint | None = None) -> dict[str, Any]:
    where = _NO_NODE if node is None else {"node_id": node.node_id, "host": node.host, "port": node.port}
    return {"key": key, "error_code": code, "error_message": "", **where}


def _text(code: ErrorCode) -> str | None:
    """Return Errors.message of Kafka."""
    return _MESSAGES.get(code, kafka_name(code))


def _is_share_partition_key(key: str) -> bool:
    """Return True for group:topic id:partition, the id in the base 64 of Kafka's Uuid."""
    tokens = key.rstrip(":").split(":")  # as Java's split, which drops empty parts at the end
    if len(tokens) != 3 or not tokens[0].strip():
        return False
    try:
        topic_id = urlsafe_b64decode(tokens[1] + "=" * (-len(tokens[1]) % 4))
        partition = int(tokens[2])
    except ValueError:
        return False
    return len(tokens[1]) <= 24 and len(topic_id) == 16 and -(1 << 31) <= partition < 1 << 31
