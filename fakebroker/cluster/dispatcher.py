"""The dispatcher of requests: from a frame to its handler.

Theory   The first four bytes of the header decide how to read the rest. A request that cannot be read closes the
         connection with a reason. One exception: an ApiVersions request of a version that is not served gets a response
         in a layout that every client can read (KIP-511). If a handler fails, the response carries the error of its
         request. Quotas are computed when the response is built: it is sent at once, and says for how long the
         connection is muted (KIP-219).
Source   core/.../network/SocketServer.scala processCompletedReceives; clients/.../requests/RequestContext.java;
         core/.../server/KafkaApis.scala handle; RequestHandlerHelper.scala handleError @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from fakebroker.apis import registry
from fakebroker.apis.cluster import api_versions
from fakebroker.apis.context import RequestContext
from fakebroker.cluster.faults.index import Index
from fakebroker.cluster.faults.login_request import LoginRequest
from fakebroker.core.broker.broker import Broker
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.faults.armed import Armed
from fakebroker.core.journal.events import Request
from fakebroker.core.probe import Probe
from fakebroker.network.connection import Connection, Work
from fakebroker.network.effects import Effect, InternalError
from fakebroker.network.socket_server import SocketServer
from fakebroker.network.strangers import in_place_of_header
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError, ProtocolError
from fakebroker.protocol.headers import RequestHeader, decode_request_header, peek_api
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import api_name, is_flexible
from fakebroker.protocol.slices import Slices
from timingwheel.mypyc import mypyc_attr


@final
class _SlicedRequest(Work):
    """A request that is read and handled in slices, each at its own time. If its peer has disconnected meanwhile, it is
    finished all the same, as in Kafka. If the broker has stopped, it is dropped."""

    __slots__ = ("_clock", "_context", "_slices")

    def __init__(self, slices: Slices[None], context: RequestContext, clock: HasNow) -> None:
        self._slices = slices
        self._context = context
        self._clock = clock

    def go_on(self) -> bool:
        if self._context.broker.is_stopped:
            return False
        context = self._context
        context.now = self._clock.now
        context.probe.request = context.trail.request
        try:
            next(self._slices)
            while context.answered:  # the work after the response is small, and the next request waits for it
                next(self._slices)
        except StopIteration:
            return False
        return True


@mypyc_attr(allow_interpreted_subclasses=True)
class Interceptor:
    """An observer of requests before they are handled."""

    def takes(
        self,
        broker: Broker,
        connection: Connection,
        header: RequestHeader,
        frame: bytes | LargeFrame,
        candidates: list[Armed],
    ) -> bool:
        """Return True if the interceptor takes over the request: it gives the connection a plan, and has it handled.
        `candidates` are the faults that may match."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class LoginInterceptor:
    """An observer of the requests of logins before they are handled."""

    def takes(self, login: LoginRequest, candidates: list[Armed]) -> bool:
        """Return True if the interceptor takes over the request, and has it handled. `candidates` are the faults
        that may match."""
        raise NotImplementedError


@final
class Dispatcher:
    """The dispatcher of the requests of all connections."""

    def __init__(self, sockets: SocketServer, emit: Callable[[Effect], None], clock: HasNow, probe: Probe) -> None:
        self._sockets = sockets
        self._emit = emit
        self._clock = clock
        self._probe = probe
        self._apis = registry.load()
        self._flexible: dict[int, bool] = {}  # True or False by API key and version, combined into one number
        self.faults: Index | None = None  # None while no fault can match
        self.interceptor: Interceptor | None = None
        self.logins: LoginInterceptor | None = None

    def handle(self, broker: Broker, connection: Connection, now: Now) -> None:
        """Handle the request of a connection at its turn; the connection is BUSY with it."""
        frame, connection.request = connection.request, None
        assert frame is not None
        try:
            if connection.authenticator is not None and connection.authenticator.takes(frame):
                if connection.plan is not None and connection.is_closed:
                    connection.plan.take(None)  # its session has ended meanwhile
                return
            header = self.read_any_header(frame)
            if connection.plan is None:
                connection.trail.request = self._probe.begin_request()
                if self._probe.listeners and self._probe.hears(Request):
                    self._tell(connection, header, len(frame))
                if self.faults is not None and self._is_taken(self.faults, broker, connection, header, frame):
                    return
            api = self._apis[header.api_key]
            context = RequestContext(
                broker, self._sockets, connection, header, len(frame), api.throttled, now, self._probe
            )
            if not api.min_version <= header.api_version <= api.max_version:
                if api.key == api_versions.KEY:
                    api_versions.respond_unsupported_version(context)
                    return
                raise ProtocolError(
                    f"{api.name} v{header.api_version} is not served, only v{api.min_version} to v{api.max_version}."
                )
            version, offset = header.api_version, header.body_offset
            if len(frame) < registry.SLICED_FRAME_BYTES:
                rest = self._call(api, context, api.decode(version, frame, offset))
            else:
                request = None if api.decode_by_hand is None else api.decode_by_hand(version, frame, offset)
                if request is not None:
                    rest = self._call(api, context, request)
                else:
                    most = broker.controller.config.fakebroker_request_max_elements
                    rest = self._read_and_call(api.decode_in_slices(version, frame, offset, most), api, context)
        except ProtocolError as error:
            hint = in_place_of_header(frame) if isinstance(frame, bytes) else ""
            self._sockets.close(connection, f"bad request: {error}{hint}")
            return
        except Exception as error:
            self._sockets.close(connection, self._why_not_read(error, connection.peer))
            return
        if rest is not None:
            connection.work = _SlicedRequest(rest, context, self._clock)
            self.go_on(connection)

    def _tell(self, connection: Connection, header: RequestHeader, size: int) -> None:
        probe, trail = self._probe, connection.trail
        received_ms = trail.take(connection.decoder.buffered, self._clock.now.mono_ms)
        where = trail.request, connection.number, connection.broker_id
        api, id_ = (api_name(header.api_key), header.api_version), header.correlation_id
        principal = connection.principal.shown
        probe.tell(Request(*probe.times, *where, *api, id_, header.client_id, received_ms, size, principal))

    def _is_taken(
        self, faults: Index, broker: Broker, connection: Connection, header: RequestHeader, frame: bytes | LargeFrame
    ) -> bool:
        candidates = faults.find(header, frame)
        if not candidates and not faults.asks_always:
            return False
        return self.interceptor is not None and self.interceptor.takes(broker, connection, header, frame, candidates)

    def takes_login(self, login: LoginRequest) -> bool:
        """Return True if faults act on the request of a login, and have it handled."""
        if self.faults is None or self.logins is None:
            return False
        candidates = self.faults.find(login.header, login.frame)
        return bool(candidates) and self.logins.takes(login, candidates)

    def read_any_header(self, frame: bytes | LargeFrame) -> RequestHeader:
        """Read the header of a frame. Raise ProtocolError."""
        if isinstance(frame, bytes):
            return self._read_header(frame)
        try:
            return self._read_header(frame.beginning)
        except ProtocolError:  # otherwise it is just longer than that
            return self._read_header(frame.join())

    def _read_header(self, frame: bytes) -> RequestHeader:
        """Read the header at the beginning of a request to an API that is served."""
        api_key, api_version = peek_api(frame)
        version = api_key << 16 | api_version
        flexible = self._flexible.get(version)
        if flexible is None:
            api = self._apis.get(api_key)
            if api is None:
                raise ProtocolError(f"API key {api_key} ({api_name(api_key)}) is not served.")
            flexible = is_flexible(api_key, api_version)
            if api.min_version <= api_version <= api.max_version:
                self._flexible[version] = flexible
        return decode_request_header(frame, flexible)

    def go_on(self, connection: Connection) -> None:
        """Run the next slice of the work of a connection."""
        work = connection.work
        assert work is not None
        if work.go_on():
            self._sockets.goes_on(connection)
        elif connection.work is work:
            connection.work = None

    def _read_and_call(self, reading: Slices[Any], api: registry.Api, context: RequestContext) -> Slices[None]:
        try:
            request = yield from reading
        except ProtocolError as error:
            context.close(f"bad request: {error}")
            return
        except Exception as error:
            context.close(self._why_not_read(error, context.peer))
            return
        rest = self._call(api, context, request)
        if rest is not None:
            yield from rest

    def _why_not_read(self, error: Exception, peer: str) -> str:
        """Return the reason to close the connection: its client would wait for ever otherwise."""
        if isinstance(error, OSError):  # the classes of messages are read from files
            return f"a request cannot be read here: {error}"
        self._emit(InternalError(f"reading a request from {peer}", error))
        return "a bug in fakebroker: a request could not be read"

    def _call(self, api: registry.Api, context: RequestContext, request: Any) -> Slices[None] | None:
        """Check the permissions and call the handler. Return the rest of its work, if it is done in slices."""
        try:
            if context.broker.authorizer is not None:
                api.authorization.check(context, request)
            slices = api.handle(context, request)
        except Exception as error:
            return self._failed(api, context, request, error)
        return None if slices is None else self._go_on_calling(slices, api, context, request)

    def _go_on_calling(
        self, slices: Slices[None], api: registry.Api, context: RequestContext, request: Any
    ) -> Slices[None]:
        try:
            yield from slices
        except Exception as error:
            rest = self._failed(api, context, request, error)
            if rest is not None:
                yield from rest

    def _failed(
        self, api: registry.Api, context: RequestContext, request: Any, error: Exception
    ) -> Slices[None] | None:
        """Respond with the error of the request. A bug of ours must be loud: in the log, and for the client."""
        code = error.code if isinstance(error, KafkaError) else ErrorCode.unknown_server_error
        if context.answered or not isinstance(error, KafkaError):
            self._report(api, context, error)
        if context.answered:
            return None
        try:
            slices = api.error_response(context, request, code)
        except Exception as another:
            self._give_up(api, context, another)
            return None
        return None if slices is None else self._go_on_failing(slices, api, context)

    def _go_on_failing(self, slices: Slices[None], api: registry.Api, context: RequestContext) -> Slices[None]:
        try:
            yield from slices
        except Exception as error:
            self._give_up(api, context, error)

    def _give_up(self, api: registry.Api, context: RequestContext, error: Exception) -> None:
        self._report(api, context, error)
        if not context.answered:
            context.close("a bug in fakebroker: not even an error can be answered")

    def _report(self, api: registry.Api, context: RequestContext, error: Exception) -> None:
        request_id = f"{api.name} v{context.api_version}, correlation id {context.correlation_id}"
        self._emit(InternalError(f"{request_id}, from {context.peer}", error))
