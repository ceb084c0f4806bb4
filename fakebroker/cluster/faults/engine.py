"""The engine of faults: installs them, finds them for a request, runs their actions between two requests, counts and
releases.

Theory   Faults are indexed by API key, and those of Produce by topic as well, so that other requests cost next to
         nothing. Without faults there is no look-up. A request that some faults may match gets a plan (request.py),
         which also receives its response. An event that a plan waits for makes it due, and `run` continues all due
         plans. The cluster calls `run` after each request, each timer and each door, when no handler is running.
Units    monotonic milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.cluster.arising.arising import StateFaults
from fakebroker.cluster.dispatcher import Dispatcher, Interceptor
from fakebroker.cluster.faults.arrival import FaultyArrival
from fakebroker.cluster.faults.changes import ClusterChanges
from fakebroker.cluster.faults.decoded_request import DecodedRequest
from fakebroker.cluster.faults.host import Wait
from fakebroker.cluster.faults.index import Index
from fakebroker.cluster.faults.logins import FaultyLogins
from fakebroker.cluster.faults.request import FaultyRequest
from fakebroker.cluster.faults.tree import Tree
from fakebroker.cluster.faults.waiting import Alarm, CoalescedResponses
from fakebroker.cluster.lives import Lives
from fakebroker.cluster.members import Members
from fakebroker.core.broker.broker import Broker
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.errors import KafkaError
from fakebroker.core.faults.acting import ActionTarget
from fakebroker.core.faults.actions import RESET, Action, ClusterAction
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.check import check_brokers
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import CONNECT
from fakebroker.core.faults.seen import SeenRequest
from fakebroker.core.journal.events import Answer, Append, Event, Parked
from fakebroker.core.journal.fault_events import FaultAdded, FaultFired, FaultRemoved
from fakebroker.core.probe import Probe
from fakebroker.network.connection import ChannelMuteState, Connection, Plan
from fakebroker.network.effects import Effect, InternalError, Reset, Warn
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.slices import finish

_NOBODY: Final = Probe(HasNow(Now(0, 0)))


@final
class Faults(Interceptor):
    """The engine. `due` are the plans that the next `run` continues. While it `is_acting` no request is handled."""

    def __init__(
        self,
        members: Members,
        lives: Lives,
        sockets: SocketServer,
        dispatcher: Dispatcher,
        emit: Callable[[Effect], None],
        expire_sessions: Callable[[str], int],
    ) -> None:
        self.sockets = sockets
        self._changes = ClusterChanges(members, lives, expire_sessions)
        self.due: list[Plan] = []
        self.is_acting = False
        self.armed: list[Armed] = []  # all that were ever installed
        self.at_connect: list[Armed] = []
        self.arising = StateFaults(members, lives, self)
        self._members = members
        self._clock = members.clock
        self._dispatcher = dispatcher
        self._emit = emit
        self._index = Index(self._resolve)
        dispatcher.interceptor = self
        dispatcher.logins = FaultyLogins(self, self._tree, lambda: self._elapsed_ms)
        self._start_ms = self._clock.now.mono_ms
        self._apis = registry.load()
        self._held: dict[Armed, list[Wait]] = {}
        self._kept: dict[Connection, CoalescedResponses] = {}
        self._trees: dict[str, Tree] = {}
        self._failed: set[tuple[Armed, Action]] = set()  # each is reported once
        self._under_way: dict[int, FaultyRequest] = {}  # by their number

    # Calls from the user. The caller then calls `run`.

    def add(self, fault: Fault) -> Armed:
        """Install a fault. Raises ValueError if it names a broker that there is not."""
        check_brokers(fault.when, fault.do, self._members.registry.broker_ids)
        armed = Armed(len(self.armed) + 1, fault)
        self.armed.append(armed)
        if fault.when.at == CONNECT:
            self.at_connect.append(armed)
        else:
            self._index.add(armed)
            self._look_or_not()
        probe = self._members.probe
        if probe.listeners:
            probe.tell(FaultAdded(*probe.times, armed.name, str(fault)))
        return armed

    def remove(self, armed: Armed, why: str = "removed") -> None:
        """Remove a fault and release the requests that it holds. Do nothing if it is removed."""
        if not armed.is_removed:
            armed.is_removed = True
            armed.removed_why = why
            self._forget(armed)
            probe = self._members.probe
            if probe.listeners:
                probe.tell(FaultRemoved(*probe.times, armed.name, armed.hits, why))
            self.release(armed)
            armed.changed()

    def _forget(self, armed: Armed) -> None:
        if armed in self.at_connect:
            self.at_connect.remove(armed)
        self._index.remove(armed)
        self._look_or_not()

    def _look_or_not(self) -> None:
        """Switch the look-up off while there is nothing to find."""
        self._index.asks_always = bool(self._kept)
        self._dispatcher.faults = None if self._index.is_empty and not self._kept else self._index

    def release(self, armed: Armed, count: int | None = None) -> int:
        """Release the requests that it holds, or the first `count`. Return how many were released."""
        waits = self._held.get(armed, [])
        gone = waits[: len(waits) if count is None else count]
        del waits[: len(gone)]
        armed.held = len(waits)
        for wait in gone:
            wait.end()
        if gone:
            armed.changed()
        return len(gone)

    # Calls from the network.

    def connected(self, connection: Connection) -> None:
        """Start a plan for a new connection if faults match it."""
        if connection.state is not ChannelMuteState.READY:
            return
        where = connection.broker_id, connection.listener.name, connection.number, self._elapsed_ms
        faults = [armed for armed in self.at_connect if armed.fits_connection(*where)]
        if faults:
            FaultyArrival(self, connection, faults).go_on()

    def takes(
        self,
        broker: Broker,
        connection: Connection,
        header: RequestHeader,
        frame: bytes | LargeFrame,
        candidates: list[Armed],
    ) -> bool:
        where = broker.broker_id, connection.listener.name, connection.number, self._elapsed_ms
        faults = [
            armed for armed in candidates if armed.fits(header, connection.principal, connection.mechanism, *where)
        ]
        if not faults and connection not in self._kept:
            return False
        api = self._apis[header.api_key]
        if not api.serves(header.api_version):
            return False
        whole = frame if isinstance(frame, bytes) else frame.join()
        try:
            decoded = DecodedRequest(api.name, self._tree(api.name), header, whole)
        except ProtocolError:  # the dispatcher refuses it as usual
            return False
        request = FaultyRequest(self, broker, connection, decoded, faults)
        connection.plan = request
        if not self._under_way:
            self._members.probe.listen(self._hear, Append, Parked)
        self._under_way[connection.trail.request] = request
        self.go_on(request)
        return True

    def run(self) -> None:
        """Continue all plans that are due."""
        while self.due:
            self.go_on(self.due.pop(0))

    def go_on(self, plan: Plan) -> None:
        was_acting, self.is_acting = self.is_acting, True
        try:
            plan.go_on()
            if isinstance(plan, FaultyRequest) and plan.has_ended():
                self._has_ended(plan)
        except Exception as error:
            self._emit(InternalError("a fault", error))
            if isinstance(plan, FaultyRequest):
                plan.connection.plan = None
                self._has_ended(plan)
                self.sockets.close(plan.connection, "a bug in fakebroker: a fault failed")
        finally:
            self.is_acting = was_acting

    def _has_ended(self, request: FaultyRequest) -> None:
        """Remove the listener after the last request that needs it."""
        if self._under_way.pop(request.number, None) is not None and not self._under_way:
            self._members.probe.leave(self._hear)

    # Calls from the plans.

    def _tree(self, api: str) -> Tree:
        tree = self._trees.get(api)
        if tree is None:
            tree = self._trees[api] = Tree(api, self._resolve)
        return tree

    def is_due(self, plan: Plan) -> None:
        if plan not in self.due:
            self.due.append(plan)

    def fired(self, armed: Armed, connection: Connection, point: str, is_login: bool = False) -> None:
        probe = self._members.probe
        if probe.listeners:
            trail, done = connection.trail, ", ".join(map(str, armed.fault.do))
            if probe.hears(Answer) and not is_login:
                trail.faults.append(f"fault {armed.name}: {done} {point}")
            request = 0 if is_login else trail.request
            probe.tell(FaultFired(*probe.times, armed.name, request, connection.number, point, done))
        if armed.is_spent:
            self._forget(armed)
        armed.changed()

    def asks(self, armed: Armed, seen: SeenRequest) -> bool:
        predicate = armed.fault.when.predicate
        assert predicate is not None
        try:
            return bool(predicate(seen))
        except Exception as error:
            if not armed.has_broken:
                armed.has_broken = True
                self._emit(Warn(f"the predicate of fault {armed.name} failed, and so does not match: {error!r}"))
            return False

    def after(self, ms: int, wake: Callable[[], None]) -> Wait:
        wait = Wait(wake)
        self._members.timer.timer.add(Alarm(ms, wait.end), self._clock.now.mono_ms)
        return wait

    def hold(self, armed: Armed, wake: Callable[[], None]) -> Wait:
        wait = Wait(wake)
        waits = self._held.setdefault(armed, [])
        waits.append(wait)
        armed.held = len(waits)
        if armed.is_removed:
            self.release(armed)
        armed.changed()
        return wait

    def close(self, connection: Connection, why: str, how: str) -> None:
        if not connection.is_closed:
            if how == RESET:
                self._emit(Reset(connection))
            self.sockets.close(connection, why)

    def write(self, connection: Connection, data: bytes, size: int | None) -> None:
        if size is not None and self._members.probe.hears(Answer):
            self.sockets.tell_answer(connection, size)
        if connection.is_closed:
            self._kept.pop(connection, None)
            return
        kept = self._kept.get(connection)
        if kept is None:
            self.sockets.answers.add(connection, data)
            return
        kept.frames.append(data)
        if len(kept.frames) >= kept.wanted:
            self._flush(connection)

    def coalesce(self, connection: Connection, answers: int, within_ms: int) -> None:
        if connection not in self._kept:
            self._kept[connection] = CoalescedResponses(answers)
            self._look_or_not()
            self.after(within_ms, lambda: self._flush(connection))

    def _flush(self, connection: Connection) -> None:
        kept = self._kept.pop(connection, None)
        self._look_or_not()
        if kept is not None and kept.frames and not connection.is_closed:
            self.sockets.answers.add(connection, b"".join(kept.frames))

    def change_cluster(self, armed: Armed, action: ClusterAction, whom: ActionTarget) -> None:
        """Have an action change the cluster. If that is impossible, note it and warn, once for each fault and action:
        the next requests would mostly cause the same warning."""
        try:
            action.change(self._changes, whom)
        except (KafkaError, ValueError) as error:
            if (armed, action) not in self._failed:
                self._failed.add((armed, action))
                armed.problems.append(f"could not do {action.verb!r}: {error}")
                self._emit(Warn(f"fault {armed.name} {armed.problems[-1]}"))

    def fail(
        self, broker: Broker, connection: Connection, asked: DecodedRequest, code: ErrorCode, is_template: bool
    ) -> None:
        api, header = self._apis[asked.header.api_key], asked.header
        probe = _NOBODY if is_template else self._members.probe
        throttled_ms = 0 if is_template else -1
        size, now = len(asked.frame), self._clock.now
        context = RequestContext(
            broker, self.sockets, connection, header, size, api.throttled, now, probe, throttled_ms
        )
        request = api.decode(header.api_version, asked.frame, header.body_offset)  # decoded as its handler does it
        slices = api.error_response(context, request, code)
        if slices is not None:
            finish(slices)

    def handle(self, broker: Broker, connection: Connection) -> None:
        if broker.is_stopped:
            connection.request = None
            return
        self._members.probe.request = connection.trail.request
        self._dispatcher.handle(broker, connection, self._clock.now)

    # Internal methods.

    def _hear(self, event: Event, subject: object) -> None:
        """Note what becomes of the requests that have a plan."""
        if isinstance(event, Append | Parked) and (request := self._under_way.get(event.request)) is not None:
            if isinstance(event, Parked):
                request.operation = subject
            else:
                request.appended(event.topic, event.partition)

    @property
    def _elapsed_ms(self) -> int:
        return self._clock.now.mono_ms - self._start_ms

    def _resolve(self, topic_id: UUID | None, name: str | None) -> tuple[UUID | None, str | None]:
        """Return both the id and the name of a topic, as far as they are known."""
        if name:
            topic = self._members.metadata.topic(name)
            return (None if topic is None else topic.topic_id), name
        topic = None if topic_id is None else self._members.metadata.topic_by_id(topic_id)
        return topic_id, (None if topic is None else topic.name)
