"""The authentication of one connection by SASL, and the end of its session (KIP-368).

Theory   states.py has what may come when. A client that has failed gets its response after the delay of failures, and
         is disconnected. Anything else that is wrong closes the connection at once and without a response.
         A session lasts as long as its credential, and at most `connections.max.reauth.ms`. A session of an expired
         credential has ended before its first request: in Kafka nanoseconds have passed by then. A client that sends a
         SaslHandshake begins again, with the same mechanism and principal, at most once in a second. Any other request
         after the end of the session closes the connection. Without an end the authenticator is dropped.
         These requests are no requests of the journal and of quotas; each outcome is a `Login` event. Faults that name
         their APIs act on them (cluster/faults/logins.py).
Source   clients/.../security/authenticator/SaslServerAuthenticator.java; clients/.../network/KafkaChannel.java
         maybeBeginServerReauthentication, serverAuthenticationSessionExpired @ 4.4; core/.../network/SocketServer.scala
         processCompletedReceives @ 4.0.
Differs  In the state AUTHENTICATE another request of 4 KiB or more closes the connection; Kafka reads it to the end and
         responds with its error. The error responses of these requests have no message.
         A session lasts at most 2.7 million years.
Units    milliseconds: the end of a session counts as clients measure time, that of a credential is wall time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple, final

from fakebroker.apis import registry
from fakebroker.apis.cluster import api_versions
from fakebroker.apis.context import RequestContext
from fakebroker.apis.security import sasl_authenticate, sasl_handshake
from fakebroker.cluster.faults.login_request import LoginRequest
from fakebroker.cluster.sasl.mechanisms import SaslMechanisms
from fakebroker.cluster.sasl.requests import RequestReader, Responses
from fakebroker.cluster.sasl.states import STEPS, TRANSITIONS, SaslArrival, SaslEvent, SaslState, SaslStep
from fakebroker.core.clock import HasNow
from fakebroker.core.errors import ConfigError
from fakebroker.core.journal.events import NO_ERROR, Login
from fakebroker.core.probe import Probe
from fakebroker.core.security.identity import USER, KafkaPrincipal
from fakebroker.core.security.sasl.sasl_server import (
    SaslAuthenticationError,
    SaslError,
    SaslServer,
    UnexpectedTokenError,
)
from fakebroker.network.connection import Authenticator, Connection
from fakebroker.network.socket_server import SocketServer
from fakebroker.network.strangers import in_place_of_header
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import encode_frame
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame

_ARRIVALS: Final = {
    api_versions.KEY: SaslArrival.API_VERSIONS,
    sasl_handshake.KEY: SaslArrival.SASL_HANDSHAKE,
    sasl_authenticate.KEY: SaslArrival.SASL_AUTHENTICATE,
}
_MIN_REAUTH_INTERVAL_MS: Final = 1_000
_LONGEST_MS: Final = timedelta.max // timedelta(milliseconds=1)  # that a response has room for, here
_REASON_CHARACTERS: Final = 1_000  # a client may choose a part of a reason
_NO_KAFKA_REQUEST: Final = (
    "Invalid request, potential reasons: kafka client configured with the wrong security protocol, it does not support "
    "KIP-43 or it is not a kafka client."
)
_INVALID_SIZE: Final = "Failing SASL authentication due to invalid receive size"


class SaslServices(NamedTuple):
    """The parts that the authenticators of a cluster share."""

    sockets: SocketServer
    mechanisms: SaslMechanisms
    reader: RequestReader
    responses: Responses
    takes_login: Callable[[LoginRequest], bool]  # for faults
    probe: Probe
    clock: HasNow


@final
class SaslServerAuthenticator(Authenticator):
    """The authenticator of one connection.

    state        the state of the exchange, or COMPLETE for the session
    mechanism    of the exchange or session; empty before it is chosen
    expires_ms   the end of the session, as the client measures time; None if it has none
    """

    def __init__(self, services: SaslServices, connection: Connection, max_request_bytes: int) -> None:
        """`max_request_bytes` is the limit of frames once the client is authenticated."""
        self._services = services
        self._connection = connection
        self._max_request_bytes = max_request_bytes
        self.state = SaslState.INITIAL_REQUEST
        self.mechanism = ""
        self.expires_ms: int | None = None
        self._server: SaslServer | None = None
        self._has_headers = False  # tokens come as SaslAuthenticate
        self._is_again = False  # it is a re-authentication
        self._wrong_mechanism = ""
        self._again_since_ms: int | None = None
        self._set_limit()

    @classmethod
    def of_session(
        cls, services: SaslServices, connection: Connection, max_request_bytes: int
    ) -> SaslServerAuthenticator:
        """Return the authenticator of a client that is authenticated already, for a session that has an end now."""
        authenticator = cls(services, connection, max_request_bytes)
        authenticator.state, authenticator.mechanism = SaslState.COMPLETE, connection.mechanism
        authenticator._set_limit()
        return authenticator

    def expire(self) -> None:
        """End the session with the present millisecond: the next request closes the connection."""
        self.expires_ms = self._services.clock.client_ms - 1

    @property
    def is_complete(self) -> bool:
        return self.state is SaslState.COMPLETE

    def takes(self, frame: bytes | LargeFrame) -> bool:
        if self.state is SaslState.COMPLETE:
            return self._ends_session(frame)
        try:
            self._take(frame.join() if isinstance(frame, LargeFrame) else frame)
        except ProtocolError as error:
            self._close(f"{_NO_KAFKA_REQUEST} {error}" if self.state is SaslState.INITIAL_REQUEST else str(error))
        except (UnexpectedTokenError, ConfigError) as error:
            self._close(str(error))
        return True

    def refuse_frame(self) -> None:
        self._fail(_INVALID_SIZE, ErrorCode.sasl_authentication_failed)

    # The session.

    def _ends_session(self, frame: bytes | LargeFrame) -> bool:
        """Begin a re-authentication with this frame, or close an expired connection. Return False for a request."""
        now_ms, since_ms = self._services.clock.client_ms, self._again_since_ms
        header = self._services.reader.read_header(frame)
        if header.api_key == sasl_handshake.KEY and (since_ms is None or now_ms - since_ms >= _MIN_REAUTH_INTERVAL_MS):
            self._again_since_ms = now_ms
            self._is_again, self._has_headers, self._server = True, False, None
            self._on(SaslEvent.HANDSHAKE_AGAIN)
            return self.takes(frame)
        if self.expires_ms is not None and now_ms > self.expires_ms:
            self._services.sockets.close(self._connection, "the session of the client has expired")
            return True
        return False

    def _complete(self, server: SaslServer) -> int:
        """End an exchange that is complete. Return the lifetime of its session; 0 if it has no end."""
        connection, now = self._connection, self._services.clock.now
        most_ms = self._services.mechanisms.max_reauth_ms(connection.broker_id, connection.listener, self.mechanism)
        lifetime_ms = _lifetime_ms(server, most_ms, now.wall_ms)
        self.expires_ms = None if lifetime_ms is None else self._services.clock.client_ms + (lifetime_ms or -1)
        connection.principal = _principal_of(server)
        connection.by_token = server.by_token
        connection.mechanism = self.mechanism
        self._tell(connection.principal.shown, NO_ERROR, "")
        self._on(SaslEvent.COMPLETED)
        if self.expires_ms is None:
            connection.authenticator = None
        return lifetime_ms or 0

    # The exchange.

    def _take(self, frame: bytes) -> None:
        if self.state is SaslState.REAUTH_BAD_MECHANISM:
            self._fail(self._wrong_mechanism, ErrorCode.sasl_authentication_failed)
            return
        if self.state is SaslState.AUTHENTICATE and not self._has_headers:
            self._evaluate_bare(frame)
            return
        header = self._read_header(frame)
        arrival = _ARRIVALS.get(header.api_key, SaslArrival.OTHER_REQUEST)
        step = STEPS.get((self.state, arrival))
        if step is None:
            raise ProtocolError(
                f"Unexpected Kafka request of type {self._services.reader.name_of(header)} during SASL handshake."
            )
        if step is SaslStep.REFUSE_REQUEST and len(frame) >= registry.SLICED_FRAME_BYTES:
            raise ProtocolError(f"Unexpected Kafka request of {len(frame)} bytes during SASL authentication.")
        is_readable = arrival is not SaslArrival.API_VERSIONS or self._services.reader.is_served(header)
        request = self._services.reader.read_body(header, frame) if is_readable else None
        if self.state is SaslState.INITIAL_REQUEST:
            self._on(SaslEvent.REQUEST_READ)
        if request is not None and step is not SaslStep.REFUSE_REQUEST and self._is_taken(step, header, frame, request):
            return
        context = self._services.responses.context(self._connection, header, frame)
        match step:
            case SaslStep.ANSWER_VERSIONS:
                self._answer_versions(context, request)
            case SaslStep.CHOOSE_MECHANISM:
                self._choose_mechanism(context, request)
            case SaslStep.EVALUATE:
                self._evaluate(context, request)
            case SaslStep.REFUSE_REQUEST:
                self._refuse_request(context, header, request)

    def _is_taken(self, step: SaslStep, header: RequestHeader, frame: bytes, request: Any) -> bool:
        """Return True if faults act on the request. It comes again if they let it through."""
        if self._connection.plan is not None:
            return False
        login = LoginRequest(
            self._connection,
            header,
            frame,
            request.mechanism if step is SaslStep.CHOOSE_MECHANISM else self.mechanism,
            lambda: self._claimed(step, request),
            lambda: self.takes(frame),
            lambda code, message, fault: self._refuse(step, header, frame, request, code, message, fault),
        )
        return self._services.takes_login(login)

    def _claimed(self, step: SaslStep, request: Any) -> KafkaPrincipal | None:
        server = self._server
        name = "" if step is not SaslStep.EVALUATE or server is None else server.claims(bytes(request.auth_bytes))
        return KafkaPrincipal(USER, name) if name else None

    def _refuse(
        self,
        step: SaslStep,
        header: RequestHeader,
        frame: bytes,
        request: Any,
        code: ErrorCode,
        message: str,
        fault: str,
    ) -> None:
        """Refuse a request because of a fault. Without a message the client gets Kafka's."""
        context = self._services.responses.context(self._connection, header, frame)
        if step is SaslStep.ANSWER_VERSIONS:
            self._send(self._services.responses.error(self._connection, context, header, request, code))
            return
        if step is SaslStep.CHOOSE_MECHANISM:
            message = f"Unsupported SASL mechanism {request.mechanism}"
            response = _other_mechanisms(self._services, self._connection, context, code, request.mechanism)
        else:
            assert self._server is not None
            message = message or self._server.refusal or self._invalid_credentials
            response = _failure(self._services, self._connection, context, code, message)
        self._fail(f"{message} ({fault})", code, response)

    @property
    def _invalid_credentials(self) -> str:
        during = "re-authentication" if self._is_again else "authentication"
        return f"Authentication failed during {during} due to invalid credentials with SASL mechanism {self.mechanism}"

    def _read_header(self, frame: bytes) -> RequestHeader:
        try:
            return self._services.reader.read_header(frame)
        except ProtocolError as error:
            raise ProtocolError(f"{error}{in_place_of_header(frame)}") from None

    def _answer_versions(self, context: RequestContext, request: Any) -> None:
        """`request` is None if its version is not served."""
        response = self._services.responses.of(
            self._connection, lambda: api_versions.respond_before_authentication(context, request)
        )
        self._send(response)
        if request is not None and api_versions.is_valid(context.api_version, request):
            self._on(SaslEvent.VERSIONS_ANSWERED)

    def _choose_mechanism(self, context: RequestContext, request: Any) -> None:
        services, connection, mechanism = self._services, self._connection, request.mechanism
        self._has_headers = context.api_version >= 1
        enabled = services.mechanisms.enabled(connection.broker_id, connection.listener)
        code = ErrorCode.none if mechanism in enabled else ErrorCode.unsupported_sasl_mechanism
        response = services.responses.of(connection, lambda: sasl_handshake.respond(context, code, enabled))
        if code is not ErrorCode.none:
            self._fail(f"Unsupported SASL mechanism {mechanism}", code, response)
        elif self._is_again and mechanism != self.mechanism:
            self._wrong_mechanism = (
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of mechanism "
                f"'{self.mechanism}'"
            )
            self._on(SaslEvent.MECHANISM_CHANGED)
            self._send(response)
        else:
            self._server = services.mechanisms.new_server(connection.broker_id, connection.listener, mechanism)
            self.mechanism = mechanism
            self._on(SaslEvent.MECHANISM_CHOSEN)
            self._send(response)

    def _evaluate(self, context: RequestContext, request: Any) -> None:
        responses, connection, code = self._services.responses, self._connection, ErrorCode.sasl_authentication_failed
        try:
            server, challenge = self._challenge(bytes(request.auth_bytes))
        except SaslAuthenticationError as error:
            text, reason = str(error), str(error)
        except SaslError as error:
            text = self._invalid_credentials
            reason = f"{text}: {error}"
        else:
            lifetime_ms = self._complete(server) if server.is_complete else 0
            self._send(
                responses.of(connection, lambda: sasl_authenticate.respond_challenge(context, challenge, lifetime_ms))
            )
            return
        self._fail(reason, code, _failure(self._services, connection, context, code, text))

    def _evaluate_bare(self, token: bytes) -> None:
        """Take a token without a header, after SaslHandshake v0."""
        try:
            server, challenge = self._challenge(token)
        except SaslAuthenticationError as error:
            self._fail(str(error), ErrorCode.sasl_authentication_failed)
        except SaslError as error:
            self._tell("", kafka_name(ErrorCode.sasl_authentication_failed), str(error))
            self._close(str(error))
        else:
            if server.is_complete:
                self._complete(server)
            self._send(encode_frame(challenge))

    def _challenge(self, token: bytes) -> tuple[SaslServer, bytes]:
        server = self._server
        assert server is not None
        challenge = server.evaluate_response(token)
        if self._is_again and server.is_complete and _principal_of(server) != self._connection.principal:
            before, after = (f"{kind}.{name}" for kind, name in (self._connection.principal, _principal_of(server)))
            raise SaslAuthenticationError(f"Cannot change principals during re-authentication from {before}: {after}")
        return server, challenge

    def _refuse_request(self, context: RequestContext, header: RequestHeader, request: Any) -> None:
        response = self._services.responses.error(self._connection, context, header, request)
        reason = f"Unexpected Kafka request of type {self._services.reader.name_of(header)} during SASL authentication."
        if response is None:
            self._close(reason)
        else:
            self._fail(reason, ErrorCode.illegal_sasl_state, response)

    # The ends.

    def _on(self, event: SaslEvent) -> None:
        self.state = TRANSITIONS[self.state, event]
        self._set_limit()

    def _set_limit(self) -> None:
        connection = self._connection
        limit = self._max_request_bytes
        if not self.is_complete:
            limit = self._services.mechanisms.max_receive_size(connection.broker_id, connection.listener)
        connection.decoder.set_limit(limit)

    def _send(self, frame: bytes | None) -> None:
        assert frame is not None
        if self._connection.plan is not None:
            self._connection.plan.take(frame)
        else:
            self._services.sockets.send(self._connection, frame)

    def _fail(self, reason: str, code: ErrorCode, response: bytes | None = None) -> None:
        """Refuse the client, after the delay of failures. The handshake of a re-authentication is read as a request, so
        its failure closes the connection at once and without a response."""
        self._tell("", kafka_name(code), reason)
        if self.state is SaslState.REAUTH_PROCESS_HANDSHAKE:
            self._close(reason)
            return
        if response is None:
            self._connection.plan = None
        self._on(SaslEvent.FAILED)
        why = f"failed authentication: {reason[:_REASON_CHARACTERS]}"
        self._services.sockets.close_failed(self._connection, why, response)

    def _close(self, reason: str) -> None:
        """Close the connection at once, without a response."""
        self._connection.plan = None
        self._on(SaslEvent.FAILED)
        why = f"failed authentication: {reason[:_REASON_CHARACTERS]}"
        self._services.sockets.close(self._connection, why)

    def _tell(self, principal: str, error: str, reason: str) -> None:
        probe, connection = self._services.probe, self._connection
        if probe.listeners:
            reason = reason[:_REASON_CHARACTERS]
            where, listener = (connection.number, connection.broker_id), connection.listener.name
            probe.tell(Login(*probe.times, *where, listener, self.mechanism, principal, error, reason, self._is_again))


def _lifetime_ms(server: SaslServer, most_ms: int, now_ms: int) -> int | None:
    """Return how long a session lasts, at most `most_ms` unless that is 0; None if it has no end."""
    ends = [most_ms] if most_ms else []
    if server.expires_ms is not None:
        ends.append(server.expires_ms - now_ms)
    return max(min(*ends, _LONGEST_MS), 0) if ends else None


def _principal_of(server: SaslServer) -> KafkaPrincipal:
    return KafkaPrincipal(USER, server.authorization_id)


def _failure(
    services: SaslServices, connection: Connection, context: RequestContext, code: ErrorCode, text: str
) -> bytes | None:
    """Return the response to a token that is refused."""
    return services.responses.of(connection, lambda: sasl_authenticate.respond_failure(context, code, text))


def _other_mechanisms(
    services: SaslServices, connection: Connection, context: RequestContext, code: ErrorCode, refused: str
) -> bytes | None:
    """Return the response to a mechanism that is refused, with the others that the listener offers."""
    enabled = services.mechanisms.enabled(connection.broker_id, connection.listener)
    others = [name for name in enabled if name != refused]
    return services.responses.of(connection, lambda: sasl_handshake.respond(context, code, others))
