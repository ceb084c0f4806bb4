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
from fakebroker.cluster.faults.asked import Asked
from fakebroker.cluster.faults.host import Host, Wait
from fakebroker.cluster.faults.login_request import LoginRequest
from fakebroker.cluster.faults.told import Told
from fakebroker.cluster.faults.tree import Tree
from fakebroker.cluster.faults.waiting import Due
from fakebroker.core.faults import points
from fakebroker.core.faults.acting import ChangeOfBytes, Waits
from fakebroker.core.faults.actions import STAY, Disconnect, Error, OfCluster
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.byte_actions import changed_by
from fakebroker.network.connection import Plan
from fakebroker.protocol.errors import ProtocolError

_BEFORE: Final = (points.REQUEST_READ, points.BEFORE_WORK)
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

    def takes(self, login: LoginRequest, found: list[Armed]) -> bool:
        connection, header = login.connection, login.header
        claimed = login.claims() if any(armed.fault.when.principal for armed in found) else None
        where = connection.broker_id, connection.listener.name, connection.number, self._elapsed_ms()
        faults = [
            armed for armed in found if armed.fault.when.api and armed.fits(header, claimed, login.mechanism, *where)
        ]
        if not faults:
            return False
        name = self._apis[header.api_key].name
        try:
            asked = Asked(name, self._tree_of(name), header, login.frame)
        except ProtocolError:  # the authenticator refuses it as usual
            return False
        plan = connection.plan = FaultyLogin(self._host, login, asked, faults)
        self._host.go_on(plan)
        return True


@final
class FaultyLogin(Plan):
    """A plan that receives the response of the authenticator. Actions act on it (core/faults/acting.py)."""

    partitions = _NOWHERE
    groups = transactional_ids = _NONE

    def __init__(self, host: Host, login: LoginRequest, asked: Asked, faults: Sequence[Armed]) -> None:
        self.broker_id = login.connection.broker_id
        self._host = host
        self._login = login
        self._connection = login.connection
        self._asked = asked
        self._faults = faults
        self._armed: Armed  # the one that acts
        self._told: Told | None = None
        self._errors: list[tuple[Armed, Error]] = []
        self._byte_actions: list[ChangeOfBytes] = []
        self._throttle_ms = 0
        self._is_handled = self._is_over = False
        self._turn = Due(login.connection, self, host.is_due)
        self._way = self._go()

    def take(self, frame: bytes | None) -> None:
        assert frame is not None
        self._told = Told(self._asked, frame)

    def go_on(self) -> None:
        """Run until the next blocking action."""
        if not self._is_over and next(self._way, self) is self:
            self._is_over = True

    def _go(self) -> Iterator[None]:
        for point in _BEFORE:
            yield from self._at(point)
        while self._connection.broker_id in self._host.sockets.connections.standing and not self._has_ended():
            self._connection.work = self._turn  # an action has paused the broker: it goes on when it is resumed
            yield
        if self._has_ended():
            return
        if self._errors:
            armed, error = self._errors[0]
            self._login.refuse(error.code, error.message, f"fault {armed.name}")
        else:
            self._is_handled = True
            self._login.go_on()
        if self._told is not None:
            yield from self._respond(self._told)

    def _respond(self, told: Told) -> Iterator[None]:
        self._errors.clear()
        yield from self._at(points.BEFORE_ANSWER)
        if not self._has_ended():
            for armed, error in self._errors:
                told.fail(armed, error)
            if self._throttle_ms:
                told.throttle(self._throttle_ms)
                self._host.sockets.throttle(self._connection, self._throttle_ms)
            yield from self._at(points.WITHIN_ANSWER)
        if not self._has_ended():
            yield from self._write(told)
        if not self._has_ended():
            yield from self._at(points.AFTER_ANSWER)
        if not self._has_ended():
            self._end()
            self._host.sockets.responded(self._connection)

    def _write(self, told: Told) -> Waits:
        frame = changed_by(self._byte_actions, told.frame)
        if self._byte_actions:
            return self._byte_actions[-1].write(frame, self)
        self.write(frame, len(frame))
        return ()

    def _at(self, point: str) -> Iterator[None]:
        host = self._host
        for armed in self._faults:
            if self._has_ended():
                return
            when = armed.fault.when
            if when.at != point or armed.is_spent:
                continue
            if when.predicate is not None and not host.asks(armed, self._asked.seen(self._connection)):
                continue
            if not armed.fires():
                continue
            host.fired(armed, self._connection, point, is_login=True)
            for action in armed.fault.do:
                self._armed = armed
                yield from action.act(self)
                if self._has_ended():
                    return

    def _has_ended(self) -> bool:
        return self._is_over or self._connection.is_closed

    def _end(self) -> None:
        self._is_over = True
        if self._connection.plan is self:
            self._connection.plan = None

    # What actions do.

    @property
    def user(self) -> str:
        claimed = self._login.claims()
        return "" if claimed is None else claimed.name

    def wait(self, ms: int) -> Iterator[None]:
        return self._until(self._host.after(ms, self._wake))

    def hold(self) -> Iterator[None]:
        return self._until(self._host.hold(self._armed, self._wake))

    def _until(self, wait: Wait) -> Iterator[None]:
        while not wait.has_ended():
            yield

    def _wake(self) -> None:
        """Continue between two events. A request that is not handled waits for its turn: a paused broker has none."""
        if self._is_handled:
            self._host.is_due(self)
        else:
            self._connection.work = self._turn
            self._host.sockets.goes_on(self._connection)

    def fail(self, error: Error) -> None:
        self._errors.append((self._armed, error))

    def throttle(self, ms: int) -> None:
        self._throttle_ms = max(self._throttle_ms, ms)

    def drop(self) -> None:
        self._end()
        self._host.sockets.responded(self._connection)

    def disconnect(self, action: Disconnect) -> None:
        self._end()
        self._host.close(self._connection, f"fault {self._armed.name}: {action}", action.how)

    def blackhole(self) -> None:
        self._is_over = True  # the connection stays busy

    def change_cluster(self, action: OfCluster) -> None:
        self._host.change_cluster(self._armed, action, self)

    def change_bytes(self, action: ChangeOfBytes) -> None:
        self._byte_actions.append(action)

    def coalesce(self, answers: int, within_ms: int) -> None:
        self._host.coalesce(self._connection, answers, within_ms)

    def corrupt_batches(self) -> None:
        raise AssertionError("a login has no batches")

    # How actions write the response.

    @property
    def is_closed(self) -> bool:
        return self._connection.is_closed

    def write(self, data: bytes, size: int | None) -> None:
        self._host.write(self._connection, data, None)  # no event tells it

    def position_of_part(self, part: int) -> int:
        assert self._told is not None
        return self._told.position_of_part(part)

    def end_with(self, then: str) -> None:
        self._is_over = True
        if then != STAY:
            self._end()
            self._host.close(self._connection, "a fault has cut its answer", then)
