"""The plan of one request of a login that faults match.

Theory   Only faults that name the API of the request act on a login: a fault for all APIs would keep a client from
         connecting at all. An error before the work refuses the client as Kafka does, with the delay of failed
         authentications. Any other action acts as on other requests. The plan continues between two requests, and the
         connection is not read meanwhile.
         A login is no request of the journal, so `FaultFired` has no number of one, and there is no `Answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from fakebroker.apis import registry
from fakebroker.cluster.dispatcher import LoginInterceptor
from fakebroker.cluster.faults.decoded_request import DecodedRequest
from fakebroker.cluster.faults.decoded_response import DecodedResponse
from fakebroker.cluster.faults.host import Host
from fakebroker.cluster.faults.login_request import LoginRequest
from fakebroker.cluster.faults.plan import BEFORE, FaultyPlan
from fakebroker.cluster.faults.tree import Tree
from fakebroker.cluster.faults.waiting import PlanTurn
from fakebroker.core.faults.armed import Armed
from fakebroker.network.connection import Work
from fakebroker.protocol.errors import ProtocolError

_NONE: Final[tuple[str, ...]] = ()
_NOWHERE: Final[tuple[tuple[str, int], ...]] = ()


@final
class FaultyLogins(LoginInterceptor):
    """The faults of logins.

    tree_of     returns the parts of an API's messages
    elapsed_ms  returns the time since the cluster started
    """

    def __init__(self, host: Host, tree_of: Callable[[str], Tree], elapsed_ms: Callable[[], int]) -> None:
        self._host = host
        self._tree_of = tree_of
        self._elapsed_ms = elapsed_ms
        self._apis = registry.load()

    def takes(self, login: LoginRequest, candidates: list[Armed]) -> bool:
        connection, header = login.connection, login.header
        claimed = login.claims() if any(armed.fault.when.principal for armed in candidates) else None
        where = connection.broker_id, connection.listener.name, connection.number, self._elapsed_ms()
        faults = [
            armed
            for armed in candidates
            if armed.fault.when.api and armed.fits(header, claimed, login.mechanism, *where)
        ]
        if not faults:
            return False
        name = self._apis[header.api_key].name
        try:
            decoded = DecodedRequest(name, self._tree_of(name), header, login.frame)
        except ProtocolError:  # the authenticator refuses it as usual
            return False
        plan = connection.plan = FaultyLogin(self._host, login, decoded, faults)
        self._host.go_on(plan)
        return True


@final
class FaultyLogin(FaultyPlan):
    """The plan of a request of a login. The authenticator responds, or refuses the client.

    refused   why the connection is closed after the response; empty for one that goes on
    """

    is_login = True
    partitions = _NOWHERE
    groups = transactional_ids = _NONE

    def __init__(self, host: Host, login: LoginRequest, asked: DecodedRequest, faults: Sequence[Armed]) -> None:
        self.refused = ""
        self._login = login
        self._turn = PlanTurn(login.connection, self, host.is_due)
        super().__init__(host, login.connection, asked, faults)

    def take(self, frame: bytes | None) -> None:
        assert frame is not None
        self._told = DecodedResponse(self.asked, frame)

    def take_last(self, frame: bytes, reason: str) -> None:
        self.refused = reason
        self.take(frame)
        self._host.is_due(self)

    def has_ended(self) -> bool:
        return self._is_over or self.connection.is_closed

    @property
    def user(self) -> str:
        claimed = self._login.claims()
        return "" if claimed is None else claimed.name

    def _go(self) -> Iterator[None]:
        connection = self.connection
        for point in BEFORE:
            yield from self._at(point)
        while connection.broker_id in self._host.sockets.connections.standing and not self.has_ended():
            connection.work = self._turn  # an action has paused the broker: it goes on when it is resumed
            yield
        if self.has_ended():
            return
        self.is_handled = True
        if self._errors:
            armed, error, _ = self._errors[0]
            self._login.refuse(error.code, error.message, f"fault {armed.name}")
        else:
            self._login.go_on()
        while self._told is None and connection.plan is self:
            yield  # a refusal has its response after the delay of failures
        if self._told is not None:
            self._errors.clear()
            yield from self._respond(self._told)

    def _matches(self, armed: Armed, point: str) -> bool:
        return armed.fault.when.predicate is None or self._host.asks(armed, self.asked.seen(self.connection))

    def _rewrite(self, response: DecodedResponse) -> Iterator[None]:
        for armed, error, _ in self._errors:
            response.fail(armed, error)
        self._throttled(response)
        return iter(())

    def _new_turn(self) -> Work:
        return self._turn

    def write(self, data: bytes, size: int | None) -> None:
        self._host.write(self.connection, data, None)  # no event tells it

    def coalesce(self, answers: int, within_ms: int) -> None:
        if not self.refused:  # a response that is the last one is not kept
            super().coalesce(answers, within_ms)

    def _write_none(self) -> None:
        self._has_written()

    def _has_written(self) -> None:
        if self.refused:
            self._host.sockets.close(self.connection, self.refused)
        else:
            self._host.sockets.responded(self.connection)
