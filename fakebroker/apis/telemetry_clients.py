"""The metadata of a client that telemetry subscriptions are matched against.

Source   server/.../metrics/ClientMetricsInstanceMetadata.java @ 4.2.
"""

from __future__ import annotations

from fakebroker.apis.context import RequestContext
from fakebroker.core.broker.client_metrics_manager import ClientMetadata


def client_metadata(ctx: RequestContext) -> ClientMetadata:
    """Return the metadata of the client of a request without a response yet."""
    name, version = ctx.software
    port = ctx.peer.rpartition(":")[2]
    return ClientMetadata(ctx.client_id, name, version, ctx.client_host[1:], port, ctx.connection, ctx.watch())
