"""The part that the plans of requests and of logins share: the actions of faults, and the way of a response.

Theory   A plan is a generator that stops where it has to wait. The event that ends the wait makes it due. It continues
         between two requests (`Faults.run`), or, before its request is handled, as work of its connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from fakebroker.cluster.faults.decoded_request import DecodedRequest
from fakebroker.cluster.faults.decoded_response import DecodedResponse
from fakebroker.cluster.faults.host import Host, Wait
from fakebroker.core.faults import points
from fakebroker.core.faults.acting import ChangeOfBytes, Waits
from fakebroker.core.faults.actions import STAY, ClusterAction, Disconnect, Error
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.byte_actions import changed_by
from fakebroker.network.connection import Connection, Plan, Work

BEFORE: Final = (points.REQUEST_READ, points.BEFORE_WORK)
AT_ONCE: Final = 32  # faults that act on a request in one turn


class FaultyPlan(Plan):
    """A plan that receives a response. Actions act on it (core/faults/acting.py).

    is_login      the request is none of the journal
    is_handled    the broker has the request
    """

    is_login: ClassVar[bool]

    def __init__(self, host: Host, connection: Connection, asked: DecodedRequest, faults: Sequence[Armed]) -> None:
        """`faults` are those that match the header, in the order of their installation."""
        self.connection = connection
        self.broker_id = connection.broker_id
        self.asked = asked
        self.is_handled = False
        self._host = host
        self._faults = {at: [armed for armed in faults if armed.fault.when.at == at] for at in points.POINTS}
        self._armed: Armed  # the one that acts
        self._point = ""  # where it acts
        self._errors: list[tuple[Armed, Error, str]] = []
        self._byte_actions: list[ChangeOfBytes] = []
        self._told: DecodedResponse | None = None
        self._throttle_ms = 0
        self._is_over = self._is_going = False
        self._way = self._go()

    # What the plans differ in.

    def _go(self) -> Iterator[None]:
        """Take the request from its first point to its last."""
        raise NotImplementedError

    def _matches(self, armed: Armed, point: str) -> bool:
        """Return True if the selectors beyond the header match too, at this point."""
        raise NotImplementedError

    def _rewrite(self, response: DecodedResponse) -> Iterator[None]:
        """Change the response by the errors and the throttling."""
        raise NotImplementedError

    def _new_turn(self) -> Work:
        """Return work of the connection that continues the plan."""
        raise NotImplementedError

    def _write_none(self) -> None:
        """End a request that gets no response."""
        raise NotImplementedError

    def _has_written(self) -> None:
        """End a request after its response is written."""
        raise NotImplementedError

    def write(self, data: bytes, size: int | None) -> None:
        raise NotImplementedError

    # The steps of the plan.

    def go_on(self) -> None:
        """Run until the next wait."""
        if not self._is_going and not self.has_ended():
            self._is_going = True
            try:
                if next(self._way, self) is self:
                    self._is_over = True
            finally:
                self._is_going = False

    def wake(self) -> None:
        """Continue between two events: a wait has ended."""
        if self.is_handled:
            self._host.is_due(self)
        else:
            self._host.sockets.goes_on(self.connection)

    def has_ended(self) -> bool:
        """Return True if the plan is complete."""
        return self._is_over

    def _at(self, point: str) -> Iterator[None]:
        for number, armed in enumerate(self._faults[point], 1):
            if self.has_ended():
                return
            if number % AT_ONCE == 0:
                yield from self._let_others()
            if armed.is_spent or not self._matches(armed, point) or not armed.fires():
                continue
            self._host.fired(armed, self.connection, point, self.is_login)
            for action in armed.fault.do:
                self._armed, self._point = armed, point
                yield from action.act(self)
                if self.has_ended():
                    return

    def _respond(self, response: DecodedResponse) -> Iterator[None]:
        yield from self._at(points.BEFORE_ANSWER)
        if not self.has_ended():
            yield from self._rewrite(response)
            yield from self._at(points.WITHIN_ANSWER)
        if not self.has_ended():
            yield from self._write(response)
        if not self.has_ended():
            yield from self._at(points.AFTER_ANSWER)
        if not self.has_ended():
            self._end()
            self._has_written()

    def _throttled(self, response: DecodedResponse) -> None:
        if self._throttle_ms:
            response.throttle(self._throttle_ms)
            self._host.sockets.throttle(self.connection, self._throttle_ms)

    def _write(self, response: DecodedResponse) -> Waits:
        frame = changed_by(self._byte_actions, response.frame)
        if self._byte_actions:
            return self._byte_actions[-1].write(frame, self)
        self.write(frame, len(frame))
        return ()

    def _end(self) -> None:
        self._is_over = True
        if self.connection.plan is self:
            self.connection.plan = None

    def _until(self, wait: Wait) -> Iterator[None]:
        while not wait.has_ended():
            if not self.is_handled:  # its memory stays reserved until it is handled
                self.connection.work = self._new_turn()
            yield

    def _let_others(self) -> Iterator[None]:
        """Pause after a number of faults, so that other connections have their turn."""
        connection = self.connection
        if connection.work is None and not connection.is_closed:
            turn = connection.work = self._new_turn()
            self._host.sockets.goes_on(connection)
            while connection.work is turn:
                yield

    # What actions do.

    def wait(self, ms: int) -> Iterator[None]:
        return self._until(self._host.after(ms, self.wake))

    def hold(self) -> Iterator[None]:
        return self._until(self._host.hold(self._armed, self.wake))

    def fail(self, error: Error) -> None:
        self._errors.append((self._armed, error, self._point))

    def throttle(self, ms: int) -> None:
        self._throttle_ms = max(self._throttle_ms, ms)

    def drop(self) -> None:
        self._end()
        self._write_none()

    def disconnect(self, action: Disconnect) -> None:
        self._end()
        self._host.close(self.connection, f"fault {self._armed.name}: {action}", action.how)

    def blackhole(self) -> None:
        self._is_over = True  # the connection stays busy

    def change_cluster(self, action: ClusterAction) -> None:
        self._host.change_cluster(self._armed, action, self)

    def change_bytes(self, action: ChangeOfBytes) -> None:
        self._byte_actions.append(action)

    def coalesce(self, answers: int, within_ms: int) -> None:
        self._host.coalesce(self.connection, answers, within_ms)

    def corrupt_batches(self) -> None:
        assert self._told is not None
        self._told.corrupt_batches(self._armed)

    # The default targets of actions.

    @property
    def partitions(self) -> Sequence[tuple[str, int]]:
        raise NotImplementedError

    @property
    def groups(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def transactional_ids(self) -> Sequence[str]:
        raise NotImplementedError

    @property
    def user(self) -> str:
        raise NotImplementedError

    # How actions write the response.

    @property
    def is_closed(self) -> bool:
        return self.connection.is_closed

    def position_of_part(self, part: int) -> int:
        assert self._told is not None
        return self._told.position_of_part(part)

    def end_with(self, then: str) -> None:
        self._is_over = True
        if then != STAY:
            self._end()
            self._host.close(self.connection, "a fault has cut its answer", then)
