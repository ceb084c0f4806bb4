"""DescribeUserScramCredentials (API key 50), version 0.

Behaviour      Returns the mechanisms of each requested user, or of all users, with their iterations, but no secrets. A
               user without any: RESOURCE_NOT_FOUND; a user that is named twice: DUPLICATE_RESOURCE.
Source         metadata/.../image/ScramImage.java describe; core/.../server/KafkaApis.scala
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import UNANSWERED, because, reads
from fakebroker.core.security.scram_credentials import ScramCredentials
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_user_scram_credentials.v0.request import DescribeUserScramCredentialsRequest

KEY = 50


def _respond(ctx: RequestContext, **values: Any) -> Slices[None]:
    defaults: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "error_message": "",
        "results": (),
    }
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: DescribeUserScramCredentialsRequest, code: ErrorCode) -> Slices[None]:
    """Respond as Kafka: the users of the request have the error as well, but no names."""
    failed = {"user": "", "error_code": code, "error_message": None, "credential_infos": ()}
    return _respond(ctx, error_code=code, error_message=None, results=Each(lambda _: failed, request.users or ()))


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=cluster("DESCRIBE"),
    errors=reads(
        "",
        "CLUSTER_AUTHORIZATION_FAILED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNSUPPORTED_SASL_MECHANISM",
        unseen=because(UNSUPPORTED_SASL_MECHANISM=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: DescribeUserScramCredentialsRequest) -> Slices[None]:
    credentials = ctx.controller.scram_credentials
    times: dict[str, int] = {}
    for user in request.users or ():
        times[user.name] = times.get(user.name, 0) + 1
    times = times or dict.fromkeys(credentials.users(), 1)
    return _respond(ctx, results=Each(partial(_result, credentials), list(times.items())))


def _result(credentials: ScramCredentials, user_and_times: tuple[str, int]) -> dict[str, Any]:
    user, times = user_and_times
    by_mechanism = credentials.of(user)
    code, message = ErrorCode.none, ""
    if times > 1:
        code = ErrorCode.duplicate_resource
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    elif not by_mechanism:
        code = ErrorCode.resource_not_found
        message = f"Attempt to describe a user credential that does not exist: {user}"
    infos = [
        {"mechanism": mechanism, "iterations": credential.iterations} for mechanism, credential in by_mechanism.items()
    ]
    return {
        "user": user,
        "error_code": code,
        "error_message": message,
        "credential_infos": infos if code is ErrorCode.none else (),
    }
