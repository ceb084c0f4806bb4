"""Requests of clients that are not authenticated: read here, and answered into a frame instead of the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, final

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.broker.broker import Broker
from fakebroker.core.clock import HasNow
from fakebroker.core.probe import Probe
from fakebroker.network.connection import Connection, Plan
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.slices import finish

_NO_THROTTLE_MS: Final = 0  # these requests count in no quota


@final
class RequestReader:
    """A reader of requests to the APIs that are served. `read_header` is the dispatcher's."""

    def __init__(self, read_header: Callable[[bytes | LargeFrame], RequestHeader]) -> None:
        self.read_header = read_header
        self._apis = registry.load()

    def name_of(self, header: RequestHeader) -> str:
        return self._apis[header.api_key].name

    def is_served(self, header: RequestHeader) -> bool:
        return self._apis[header.api_key].serves(header.api_version)

    def read_body(self, header: RequestHeader, frame: bytes) -> Any:
        """Return the request. Raise ProtocolError."""
        api = self._apis[header.api_key]
        if not api.serves(header.api_version):
            raise ProtocolError(f"{api.name} v{header.api_version} is not served.")
        return api.decode(header.api_version, frame, header.body_offset)


@final
class _CapturingPlan(Plan):
    """A plan that keeps the response."""

    def __init__(self) -> None:
        self.frame: bytes | None = None

    def take(self, frame: bytes | None) -> None:
        self.frame = frame

    def go_on(self) -> None:
        pass


@final
class Responses:
    """The responses to these requests, as frames."""

    def __init__(self, sockets: SocketServer, broker_of: Mapping[int, Broker], probe: Probe, clock: HasNow) -> None:
        self._sockets = sockets
        self._broker_of = broker_of
        self._probe = probe
        self._clock = clock
        self._apis = registry.load()

    def context(self, connection: Connection, header: RequestHeader, frame: bytes) -> RequestContext:
        broker, api, now = self._broker_of[connection.broker_id], self._apis[header.api_key], self._clock.now
        return RequestContext(
            broker, self._sockets, connection, header, len(frame), api.throttled, now, self._probe, _NO_THROTTLE_MS
        )

    def of(self, connection: Connection, respond: Callable[[], None]) -> bytes | None:
        """Return the response that `respond` makes; None if it makes none."""
        before, captured = connection.plan, _CapturingPlan()
        connection.plan = captured
        try:
            respond()
        finally:
            connection.plan = before
        return captured.frame

    def error(
        self,
        connection: Connection,
        context: RequestContext,
        header: RequestHeader,
        request: Any,
        code: ErrorCode = ErrorCode.illegal_sasl_state,
    ) -> bytes | None:
        """Return the error response to a request; None if it has none. The default is the error of one that may not
        come now."""
        api = self._apis[header.api_key]

        def respond() -> None:
            slices = api.error_response(context, request, code)
            if slices is not None:
                finish(slices)

        return self.of(connection, respond)
