"""The plan of one request that faults match, from point to point.

Theory   The plan (plan.py) waits for time, `release`, the append or the response. No action runs inside a handler or
         another action. The connection is BUSY until the end: its next request waits, as in Kafka.
         An error before the work: the parts that it selects are removed from the request, and the rest is handled as
         usual. Then the parts are added to the response as in Kafka's `getErrorResponse`. A Fetch is instead handled
         whole and at once, and its response is changed: it has no side effects, and its session may contain more than
         the request.
         An error after the work changes its parts of the response; the work is kept. A parked request is completed if
         all of its parts failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from fakebroker.cluster.faults.decoded_request import WHOLE, DecodedRequest, Place
from fakebroker.cluster.faults.decoded_response import DecodedResponse
from fakebroker.cluster.faults.host import Host
from fakebroker.cluster.faults.plan import AT_ONCE, BEFORE, FaultyPlan
from fakebroker.cluster.faults.tree import Path
from fakebroker.cluster.faults.waiting import GoOn
from fakebroker.core.broker.broker import Broker
from fakebroker.core.faults.actions import ClusterAction
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.points import AFTER_APPEND, AFTER_WATERMARK, REQUEST_READ
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.network.connection import Connection, Work
from fakebroker.protocol.error_code import ErrorCode


@final
class FaultyRequest(FaultyPlan):
    """The plan of a request of the journal."""

    is_login = False

    def __init__(
        self, host: Host, broker: Broker, connection: Connection, asked: DecodedRequest, faults: Sequence[Armed]
    ) -> None:
        self.number = connection.trail.request
        self.broker = broker
        self.operation: object = None  # the operation in which the request is parked
        self._here: list[Path] = WHOLE  # the parts that the fault which acts selects
        self._collects_errors = False
        self._errors_frame: bytes | None = None  # a response in which every part has failed
        self._is_answered = False
        self._appended: set[Place] = set()
        super().__init__(host, connection, asked, faults)

    # Calls from outside.

    def take(self, frame: bytes | None) -> None:
        if self._collects_errors:
            self._errors_frame = frame
            return
        self._is_answered = True
        self._told = None if frame is None else DecodedResponse(self.asked, frame)
        self._host.is_due(self)

    def appended(self, topic: str, partition: int) -> None:
        """Note an append to a log of the request, or of its coordinator."""
        self._appended.add((topic, partition))
        if self._faults[AFTER_APPEND]:
            self._host.is_due(self)

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

    # How the response is written.

    def write(self, data: bytes, size: int | None) -> None:
        self._host.write(self.connection, data, size)

    def _write_none(self) -> None:
        self._host.sockets.answer(self.connection, None)

    def _has_written(self) -> None:
        if not self.connection.is_closed:
            self._host.sockets.responded(self.connection)

    # The steps of the plan.

    def _go(self) -> Iterator[None]:
        for point in BEFORE:
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
        response = self._told
        if response is None:
            self._finish_unanswered()
            return
        if self._appended and self.asked.acks in (None, -1):
            yield from self._at(AFTER_WATERMARK)
        if not self.has_ended():
            yield from self._respond(response)

    def _finish_unanswered(self) -> None:
        """Finish a Produce with acks=0: it gets no response, and an error closes the connection."""
        self._end()
        if self._errors:
            errors = [(armed, error.error) for armed, error, _ in self._errors]
            self._host.sockets.close(self.connection, self.asked.failed_unanswered(errors))
        else:
            self._host.sockets.answer(self.connection, None)

    def _matches(self, armed: Armed, point: str) -> bool:
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
        if not all(action.has_target(self) for action in armed.fault.do if isinstance(action, ClusterAction)):
            return False
        return when.predicate is None or self._host.asks(armed, self.asked.seen(self.connection))

    def _new_turn(self) -> Work:
        return GoOn(self.connection, self)

    # Handling, with errors before the work.

    def _handle(self) -> None:
        self.is_handled = True
        decoded = self.asked
        code, paths = self._errors_before_work()
        frame: bytes | None = decoded.frame
        if code is not None and decoded.api == "Fetch" and paths is not None:
            frame = decoded.frame_that_does_not_wait()
        elif code is not None:
            frame = None if paths is None else decoded.frame_without(paths)
            if frame is not None and decoded.acks != 0:
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
        failed_paths: list[Path] = []
        for armed, error, point in self._errors:
            if point in BEFORE:
                code = code or error.code
                paths = self.asked.paths(armed)
                if () in paths or error.level == "top":
                    return error.code, None
                failed_paths += paths
        return code, failed_paths

    # The response.

    def _fails_as_a_whole(self) -> bool:
        """Return True if every part has its error already, so that there is nothing to wait for."""
        failed = [path for armed, _, point in self._errors if point == AFTER_APPEND for path in self.asked.paths(armed)]
        return self.asked.is_covered(failed)

    def _rewrite(self, response: DecodedResponse) -> Iterator[None]:
        for number, (armed, error, point) in enumerate(self._errors, 1):
            if number % AT_ONCE == 0:
                yield from self._let_others()
            paths = self.asked.paths(armed)
            if point not in BEFORE or not paths or (self.asked.api == "Fetch" and () not in paths):
                response.fail(armed, error)
            elif self._errors_frame is not None:  # None if every part has failed: the response says so already
                response.put_in(armed, error, self._errors_frame)
        self._throttled(response)
        if self._errors and self.asked.api == "Produce":
            self.connection.trail.add_results(response.produce_topics())
