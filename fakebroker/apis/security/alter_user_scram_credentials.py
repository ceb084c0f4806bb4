"""AlterUserScramCredentials (API key 51), version 0.

Behaviour      Sets and deletes credentials, each user's independently; a user may occur once. A SCRAM login
               uses the new credential from its next exchange on.
Not done       Authorization.
Source         metadata/.../controller/ScramControlManager.java alterCredentials
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONTROLLER, changes
from fakebroker.core.security.scram_credentials import ScramCredential
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.alter_user_scram_credentials.v0.request import AlterUserScramCredentialsRequest

KEY = 51


def _respond(ctx: RequestContext, results: list[tuple[str, KafkaError | None]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "results": Each(_result, results)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: AlterUserScramCredentialsRequest, code: ErrorCode) -> Slices[None]:
    users = dict.fromkeys(deletion.name for deletion in request.deletions)
    users |= dict.fromkeys(upsertion.name for upsertion in request.upsertions)
    return _respond(ctx, [(user, KafkaError(code, ctx.refusal)) for user in users])


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes(
        "",
        before=f"{CONTROLLER} RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL UNSUPPORTED_SASL_MECHANISM",
        after=CHANGED,
    ),
)
def handle(ctx: RequestContext, request: AlterUserScramCredentialsRequest) -> Slices[None]:
    deletions = [(deletion.name, int(deletion.mechanism)) for deletion in request.deletions]
    upsertions = yield from made_of(
        request.upsertions,
        lambda one: (one.name, int(one.mechanism), ScramCredential(one.iterations, one.salt, one.salted_password)),
    )
    results = yield from ctx.controller.scram_credentials.alter(deletions, upsertions)
    yield from _respond(ctx, list(results.items()))


def _result(named: tuple[str, KafkaError | None]) -> dict[str, Any]:
    user, error = named
    return {
        "user": user,
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
    }
