"""The declaration of what a client must be allowed to do: `authorization=` of `registry.api`.

Theory   Each API names its rules: the type of the resource, the operation, the error without it, and the part of the
         response that has the error. Rules that Kafka checks for the whole request, before anything else, are checked
         by the dispatcher: `cluster`, `group` and `transactional_id`. Rules for parts of a request are in the handler,
         and declared by `in_handler`; the error "-" means that the rule alone causes none, or that what is not allowed
         is left out. An API that needs no permission says so, with `nothing`. So no API is without a declaration.
         Without an authorizer the checks cost one look at an attribute.
Source   core/.../server/{KafkaApis,ControllerApis}.scala; server/.../server/AuthHelper.java @ 4.4. tests/apis compares
         the declarations with a table of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fakebroker.apis.context import RequestContext
from fakebroker.core.security.acl_binding import CLUSTER_NAME, AclOperation, ResourceType
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

_LEFT_OUT: Final = "-"


class Rule(NamedTuple):
    """One permission. `error` is None if what is not allowed is left out. `place` is the part of the response with the
    error: "request", "topic", "partition", "group" or another."""

    resource_type: ResourceType
    operation: AclOperation
    error: ErrorCode | None
    place: str


@dataclass(frozen=True)
class Authorization:
    """The rules of an API: those that are checked before its handler, in order, and those in it."""

    before: tuple[Rule, ...] = ()
    in_handler: tuple[Rule, ...] = ()

    def and_(self, other: Authorization) -> Authorization:
        """Return the rules of both, these first."""
        return Authorization(self.before + other.before, self.in_handler + other.in_handler)

    def check(self, ctx: RequestContext, request: Any) -> None:
        """Raise KafkaError if the client lacks one of the permissions that are checked before the handler."""
        for rule in self.before:
            _require(ctx, rule, request)


def cluster(operation: str) -> Authorization:
    """Require an operation on the cluster; else the whole request has CLUSTER_AUTHORIZATION_FAILED."""
    return _whole(ResourceType.CLUSTER, operation, ErrorCode.cluster_authorization_failed)


def group(operation: str) -> Authorization:
    """Require an operation on `request.group_id`; else the whole request has GROUP_AUTHORIZATION_FAILED."""
    return _whole(ResourceType.GROUP, operation, ErrorCode.group_authorization_failed)


def transactional_id(operation: str) -> Authorization:
    """Require an operation on `request.transactional_id`; else the whole request has the error of it."""
    return _whole(ResourceType.TRANSACTIONAL_ID, operation, ErrorCode.transactional_id_authorization_failed)


def in_handler(*rules: str) -> Authorization:
    """Declare rules that the handler checks, each as "TOPIC READ TOPIC_AUTHORIZATION_FAILED partition"."""
    return Authorization(in_handler=tuple(map(_rule, rules)))


def nothing(reason: str) -> Authorization:
    """Declare an API that needs no permission, with the reason."""
    assert reason
    return Authorization()


def _whole(kind: ResourceType, operation: str, error: ErrorCode) -> Authorization:
    return Authorization((Rule(kind, AclOperation[operation], error, "request"),))


def _rule(text: str) -> Rule:
    kind, operation, error, place = text.split()
    code = None if error == _LEFT_OUT else ErrorCode[error.lower()]
    return Rule(ResourceType[kind], AclOperation[operation], code, place)


def _name(kind: ResourceType, request: Any) -> str:
    if kind is ResourceType.CLUSTER:
        return CLUSTER_NAME
    name: str = request.group_id if kind is ResourceType.GROUP else request.transactional_id
    return name


def require_cluster(ctx: RequestContext, request: Any, operation: AclOperation) -> None:
    """Raise KafkaError if the client may not do the operation on the cluster. For handlers that check something before
    that."""
    error = ErrorCode.cluster_authorization_failed
    _require(ctx, Rule(ResourceType.CLUSTER, operation, error, "request"), request)


def _require(ctx: RequestContext, rule: Rule, request: Any) -> None:
    kind, operation, error, _ = rule
    if not ctx.is_authorized(operation, kind, _name(kind, request)):
        ctx.refusal = f"Request {type(request).__name__} needs {operation.name} permission."
        assert error is not None
        raise KafkaError(error, ctx.refusal)
