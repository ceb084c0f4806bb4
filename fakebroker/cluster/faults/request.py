"""The plan of one request that faults match, from point to point.

Theory   The plan is a generator that stops where it has to wait: for time, `release`, the append, the response. Such an
         event only makes it due. It continues between two requests (`Faults.run`), or, before it is handled, as work of
         its connection. So no action runs inside a handler or another action. The connection is BUSY until the end: its
         next request waits, as in Kafka.
         An error before the work: the parts that it selects are removed from the request, and the rest is handled as
         usual. Then the parts are added to the response as in Kafka's `getErrorResponse`. A Fetch is instead handled
         whole and at once, and its response is changed: it has no side effects, and its session may contain more than
         the request.
         An error after the work changes its parts of the response; the work is kept. A parked request is completed if
         all of its parts failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from fakebroker.cluster.faults.asked import WHOLE, Asked, Place
from fakebroker.cluster.faults.host import Host
from fakebroker.cluster.faults.told import Told
from fakebroker.cluster.faults.tree import Path
from fakebroker.cluster.faults.waiting import GoOn
from fakebroker.core.broker.broker import Broker
from fakebroker.core.faults import points
from fakebroker.core.faults.acting import ChangeOfBytes, Waits
from fakebroker.core.faults.actions import STAY, Disconnect, Error, OfCluster
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.byte_actions import changed_by
from fakebroker.core.faults.points import AFTER_APPEND, AFTER_WATERMARK, BEFORE_WORK, REQUEST_READ
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.network.connection import Connection, Plan
from fakebroker.protocol.error_code import ErrorCode

_BEFORE: Final = (REQUEST_READ, BEFORE_WORK)
_AT_ONCE: Final = 32  # faults that act on a request in one turn


@final
class FaultyRequest(Plan):
    """A plan that receives the response. Actions act on it (core/faults/acting.py)."""

    def __init__(
        self, host: Host, broker: Broker, connection: Connection, asked: Asked, faults: Sequence[Armed]
    ) -> None:
        """`faults` are those that match the header, in the order of their installation."""
        self.connection, self.number = connection, connection.trail.request
        self.broker = broker
        self.broker_id = broker.broker_id
        self.asked = asked
        self.operation: object = None  # the operation in which the request is parked
        self._host = host
        self._faults = {at: [armed for armed in faults if armed.fault.when.at == at] for at in points.POINTS}
        # The fault that acts, its point, and the parts that it selects.
        self._armed: Armed
        self._point = ""
        self._here: list[Path] = WHOLE
        self._errors: list[tuple[Armed, Error, str]] = []
        self._byte_actions: list[ChangeOfBytes] = []
        self._collects_errors = False
        self._errors_frame: bytes | None = None  # a response in which every part has failed
        self._told: Told | None = None
        self._throttle_ms = 0
        self._is_answered = self._is_handled = self._is_over = self._is_going = False
        self._appended: set[Place] = set()
        self._way = self._go()

    # Calls from outside.

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
        if self._is_handled:
            self._host.is_due(self)
        else:
            self._host.sockets.goes_on(self.connection)

    def take(self, frame: bytes | None) -> None:
        if self._collects_errors:
            self._errors_frame = frame
            return
        self._is_answered = True
        self._told = None if frame is None else Told(self.asked, frame)
        self._host.is_due(self)

    def appended(self, topic: str, partition: int) -> None:
        """Note an append to a log of the request, or of its coordinator."""
        self._appended.add((topic, partition))
        if self._faults[AFTER_APPEND]:
            self._host.is_due(self)

    def has_ended(self) -> bool:
        """Return True if the plan is complete."""
        return self._is_over

    # Targets of the current fault.

    @property
    def partitions(self) -> list[Place]:
        return self.asked.partitions(self._here)

    @property
    def groups(self) -> list[str]:
        return self.asked.names("group", self._here)

    @property
    def transactional_ids(self) -> list[str]:
        return self.asked.names("transactional_id", self._here)

    @property
    def user(self) -> str:
        return self.connection.principal.name

    # What actions do.

    def wait(self, ms: int) -> Iterator[None]:
        return self._stand(self._host.after(ms, self.wake).has_ended)

    def hold(self) -> Iterator[None]:
        return self._stand(self._host.hold(self._armed, self.wake).has_ended)

    def fail(self, error: Error) -> None:
        self._errors.append((self._armed, error, self._point))

    def throttle(self, ms: int) -> None:
        self._throttle_ms = max(self._throttle_ms, ms)

    def drop(self) -> None:
        self._end()
        self._host.sockets.answer(self.connection, None)

    def disconnect(self, action: Disconnect) -> None:
        self._end()
        self._host.close(self.connection, f"fault {self._armed.name}: {action}", action.how)

    def blackhole(self) -> None:
        self._is_over = True  # the connection stays busy

    def change_cluster(self, action: OfCluster) -> None:
        self._host.change_cluster(self._armed, action, self)

    def change_bytes(self, action: ChangeOfBytes) -> None:
        self._byte_actions.append(action)

    def coalesce(self, answers: int, within_ms: int) -> None:
        self._host.coalesce(self.connection, answers, within_ms)

    def corrupt_batches(self) -> None:
        assert self._told is not None
        self._told.corrupt_batches(self._armed)

    # How actions write the response.

    @property
    def is_closed(self) -> bool:
        return self.connection.is_closed

    def write(self, data: bytes, size: int | None) -> None:
        self._host.write(self.connection, data, size)

    def position_of_part(self, part: int) -> int:
        assert self._told is not None
        return self._told.position_of_part(part)

    def end_with(self, then: str) -> None:
        self._is_over = True
        if then != STAY:
            self._end()
            self._host.close(self.connection, "a fault has cut its answer", then)

    # The steps of the plan.

    def _go(self) -> Iterator[None]:
        for point in _BEFORE:
            yield from self._at(point)
        if self.has_ended():
            return
        self._handle()
        while not self._is_answered and not (self._appended and self._faults[AFTER_APPEND]):
            yield
        if self._appended:
            yield from self._at(AFTER_APPEND)
            if not self.has_ended() and isinstance(self.operation, DelayedOperation) and self._fails_as_a_whole():
                self.operation.force_complete()
        while not self._is_answered and not self.has_ended():
            yield
        if not self.has_ended():
            yield from self._finish()

    def _finish(self) -> Iterator[None]:
        told = self._told
        if told is None:
            self._finish_unanswered()
            return
        if self._appended and self.asked.acks in (None, -1):
            yield from self._at(AFTER_WATERMARK)
        if not self.has_ended():
            yield from self._at(points.BEFORE_ANSWER)
        if not self.has_ended():
            yield from self._rewrite(told)
            yield from self._at(points.WITHIN_ANSWER)
        if not self.has_ended():
            yield from self._write(told)
        if not self.has_ended():
            yield from self._at(points.AFTER_ANSWER)
        if not self.has_ended():
            self._end()
            if not self.connection.is_closed:
                self._host.sockets.responded(self.connection)

    def _finish_unanswered(self) -> None:
        """Finish a Produce with acks=0: it gets no response, and an error closes the connection."""
        self._end()
        if self._errors:
            errors = [(armed, error.error) for armed, error, _ in self._errors]
            self._host.sockets.close(self.connection, self.asked.failed_unanswered(errors))
        else:
            self._host.sockets.answer(self.connection, None)

    def _end(self) -> None:
        self._is_over = True
        if self.connection.plan is self:
            self.connection.plan = None

    def _at(self, point: str) -> Iterator[None]:
        for number, armed in enumerate(self._faults[point], 1):
            if self.has_ended():
                return
            if number % _AT_ONCE == 0:
                yield from self._let_others()
            if armed.is_spent or not self._matches(armed, point) or not armed.fires():
                continue
            self._host.fired(armed, self.connection, point)
            for action in armed.fault.do:
                self._armed, self._point = armed, point
                yield from action.act(self)
                if self.has_ended():
                    return

    def _matches(self, armed: Armed, point: str) -> bool:
        """Return True if the selectors beyond the header match too, at this point."""
        when = armed.fault.when
        if point != REQUEST_READ and not self.asked.matches(armed):
            return False
        if point == AFTER_APPEND and when.entity_selectors and self.asked.api == "Produce":
            wanted = self.asked.partitions(self.asked.paths(armed))
            if wanted and self._appended.isdisjoint(wanted):
                return False
        if point == AFTER_WATERMARK and (self._told is None or not self._told.is_good(armed)):
            return False
        self._here = self.asked.paths(armed)
        if not all(action.has_target(self) for action in armed.fault.do if isinstance(action, OfCluster)):
            return False
        return when.predicate is None or self._host.asks(armed, self.asked.seen(self.connection))

    def _stand(self, has_ended: Callable[[], bool]) -> Iterator[None]:
        while not has_ended():
            if not self._is_handled:  # its memory stays reserved until it is handled
                self.connection.work = GoOn(self.connection, self)
            yield

    def _let_others(self) -> Iterator[None]:
        """Pause after a number of faults, so that other connections have their turn."""
        connection = self.connection
        if connection.work is None and not connection.is_closed:
            turn = connection.work = GoOn(connection, self)
            self._host.sockets.goes_on(connection)
            while connection.work is turn:
                yield

    # Handling, with errors before the work.

    def _handle(self) -> None:
        self._is_handled = True
        asked = self.asked
        code, paths = self._errors_before_work()
        frame: bytes | None = asked.frame
        if code is not None and asked.api == "Fetch" and paths is not None:
            frame = asked.frame_that_does_not_wait()
        elif code is not None:
            frame = None if paths is None else asked.frame_without(paths)
            if frame is not None and asked.acks != 0:
                self._collects_errors = True
                self._fail(code, is_template=True)
                self._collects_errors = False
        if frame is not None:
            self.connection.request = frame
            self._host.handle(self.broker, self.connection)
        elif code is not None:
            self._fail(code)

    def _fail(self, code: ErrorCode, is_template: bool = False) -> None:
        self._host.fail(self.broker, self.connection, self.asked, code, is_template)

    def _errors_before_work(self) -> tuple[ErrorCode | None, list[Path] | None]:
        """Return the first error, and its parts; None for all parts. Each part gets its own error later."""
        code: ErrorCode | None = None
        found: list[Path] = []
        for armed, error, point in self._errors:
            if point in _BEFORE:
                code = code or error.code
                paths = self.asked.paths(armed)
                if () in paths or error.level == "top":
                    return error.code, None
                found += paths
        return code, found

    # The response.

    def _fails_as_a_whole(self) -> bool:
        """Return True if every part has its error already, so that there is nothing to wait for."""
        failed = [path for armed, _, point in self._errors if point == AFTER_APPEND for path in self.asked.paths(armed)]
        return self.asked.is_covered(failed)

    def _rewrite(self, told: Told) -> Iterator[None]:
        for number, (armed, error, point) in enumerate(self._errors, 1):
            if number % _AT_ONCE == 0:
                yield from self._let_others()
            paths = self.asked.paths(armed)
            if point not in _BEFORE or not paths or (self.asked.api == "Fetch" and () not in paths):
                told.fail(armed, error)
            elif self._errors_frame is not None:  # None if every part has failed: the response says so already
                told.put_in(armed, error, self._errors_frame)
        if self._throttle_ms:
            told.throttle(self._throttle_ms)
            self._host.sockets.throttle(self.connection, self._throttle_ms)
        if self._errors and self.asked.api == "Produce":
            self.connection.trail.add_results(told.produce_topics())

    def _write(self, told: Told) -> Waits:
        frame = changed_by(self._byte_actions, told.frame)
        if self._byte_actions:
            return self._byte_actions[-1].write(frame, self)
        self.write(frame, len(frame))
        return ()
