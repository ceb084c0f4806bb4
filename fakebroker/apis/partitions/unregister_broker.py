"""UnregisterBroker (API key 64), version 0: remove a broker's registration (KIP-500).

Behaviour      An unknown broker: BROKER_ID_NOT_REGISTERED. A running broker leaves every ISR, and loses each leadership
               that another replica can take. It is back at once in a new epoch: its heartbeats fail, and it registers
               again. For a stopped broker nothing changes.
Not done       A stopped broker that was unregistered may still be assigned replicas, which Kafka refuses.
Source         core/.../server/ControllerApis.scala handleUnregisterBroker; metadata/.../ReplicationControlManager.java
               unregisterBroker, handleBrokerUnregistered; clients/.../UnregisterBrokerRequest.java @ 4.0
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONTROLLER, changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest

KEY = 64


def _respond(ctx: RequestContext, code: ErrorCode, message: str | None) -> None:
    values: dict[str, Any] = {"throttle_time": timedelta(0), "error_code": code, "error_message": message}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: UnregisterBrokerRequest, code: ErrorCode) -> None:
    _respond(ctx, code, ctx.refusal or None)


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes("", before=f"{CONTROLLER} BROKER_ID_NOT_REGISTERED", after=CHANGED),
)
def handle(ctx: RequestContext, request: UnregisterBrokerRequest) -> None:
    broker_id = request.broker_id
    if broker_id not in ctx.controller.registry.broker_ids:
        message = f"Broker ID {broker_id} is not currently registered"
        _respond(ctx, ErrorCode.broker_id_not_registered, message)
        return
    if ctx.controller.registry.is_alive(broker_id):
        ctx.controller.cluster_control.unregister(broker_id)
    _respond(ctx, ErrorCode.none, None)
