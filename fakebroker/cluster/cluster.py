"""The cluster: brokers, topics, followers, connections, and the doors through which time comes in.

Theory   The cluster changes only through its doors: `receive` (bytes), `advance_to` (time), `open_connection`,
         `set_write_blocked`, `connection_lost`, and the doors for users (lives.py, administrator.py). Each door leaves
         effects (`take_effects`) and a next deadline (`next_deadline_ms`). The same calls with the same times in the
         same life give the same effects. No code in here waits, reads a clock, or draws random numbers except from its
         life.
         A door does a bounded amount of work; the rest (`has_work`) is done by the next `advance_to`. That runs every
         event at its own time. In the same millisecond followers run first, then housekeeping, then timeouts, so a
         replication that is in time counts.
Units    milliseconds (`Now`).
Source   The roles of BrokerServer, KRaft's controller and ReplicaManager's scheduler, in one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, final

from fakebroker.cluster.administrator import Administrator
from fakebroker.cluster.dispatcher import Dispatcher
from fakebroker.cluster.faults.engine import Faults
from fakebroker.cluster.housekeeping import start_housekeeping
from fakebroker.cluster.lives import Lives
from fakebroker.cluster.members import Members
from fakebroker.cluster.reconfigurables import register_reconfigurables
from fakebroker.cluster.sasl.doubtful_settings import doubtful_settings
from fakebroker.cluster.sasl.sasl import Sasl
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.core.journal.events import NO_ERROR, Login, TimerFired
from fakebroker.core.journal.journal import Journal
from fakebroker.core.life import FIRST_LIFE, Life
from fakebroker.core.log.store import Store
from fakebroker.core.purgatory.deadlines import HOUSEKEEPING, ClientDeadlines
from fakebroker.core.replication.behaviour import INSTANT, Behaviour
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.security.identity import ANONYMOUS, PLAINTEXT, SSL, USER, KafkaPrincipal, Listener
from fakebroker.core.security.ssl_principal_mapper import mapped_name
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, InternalError, Warn
from fakebroker.network.socket_server import SocketServer
from fakebroker.network.turn import Turn

_TIMERS_AT_ONCE: Final = 64
_SLICE_IS_WORTH: Final = 8  # requests, as the turn counts them


@final
class Cluster(HasNow):
    """A Kafka cluster without a network. Events go to the journal and to the other listeners of `probe`.

    members  its brokers and what they share; the parts that are used most are attributes here as well
    lives    stops and starts brokers
    admin    changes topics, followers, settings and ACLs
    faults   the engine of faults
    sasl     the authentication of clients
    """

    def __init__(
        self,
        now: Now,
        brokers: int | Sequence[int] = 3,
        config: BrokerConfig | None = None,
        followers: Behaviour = INSTANT,
        life: Life = FIRST_LIFE,
        journal: Journal | None = None,
        store: Store | None = None,
        new_turn: Callable[[], Turn] = Turn,
        racks: Mapping[int, str] | None = None,
        order: Random | None = None,
    ) -> None:
        """`brokers` are their ids, or their number: ids from 1 on.
        `store` takes the records that exceed log.memory.bytes; the default is memory.
        `new_turn` makes the limit of the work in a door: one for requests, another for timers.
        `racks` are the racks of brokers by id; the others have `broker.rack`. `order`: core/schedule.py."""
        super().__init__(now)
        self._effects: list[Effect] = []
        broker_ids = list(range(1, brokers + 1) if isinstance(brokers, int) else brokers)
        given = config or BrokerConfig()
        members = Members(self, broker_ids, given, followers, life, store, racks or {}, order, self._report_bug)
        self.members = members
        self.brokers, self.registry, self.metadata = members.brokers, members.registry, members.metadata
        self.controller, self.followers, self.probe = members.controller, members.followers, members.probe
        self.deadlines, self.housekeeping, self._order = members.deadlines, members.housekeeping, order
        if journal is not None:
            self.probe.listen(journal.append)
        self.turn, self._timer_turn, self._has_due, self._advanced_ms = new_turn(), new_turn(), False, now.mono_ms
        self._is_handling = False
        self.on_taken: Callable[[], None] | None = None  # called before effects are handed out
        self.on_handling: Callable[[int], None] | None = None  # called with the connection of each request
        timer, idle_deadlines = members.timer.timer, ClientDeadlines(self, True)
        self.deadlines.add(idle_deadlines, (HOUSEKEEPING, 0, 0))
        emit = self._effects.append
        self.sockets = SocketServer(broker_ids, members.config, timer, idle_deadlines, emit, self, self.probe, order)
        members.client_quotas.on_ip_rate = self.sockets.connections.update_ip_connection_rate_quota
        self._dispatcher = Dispatcher(self.sockets, emit, self, self.probe)
        self.sasl = Sasl(members, self.sockets, self._dispatcher, life.nonces())
        self.lives = Lives(members, self.sockets, emit, self._handle_requests)
        self.admin = Administrator(members, self.sasl.expire_sessions, self._handle_requests)
        self.faults = Faults(members, self.lives, self.sockets, self._dispatcher, emit, self.sasl.expire_sessions)
        self._due = self.faults.due
        self.controller.log_memory.on_full = self._warn
        start_housekeeping(members)
        register_reconfigurables(members, self.sockets, emit)
        if names := members.config.without_effect:
            self._warn(f"kept and shown only, without effect here: {', '.join(names)}")
        for sentence in doubtful_settings(members.config):
            self._warn(sentence)

    # The doors.

    def open_connection(
        self, broker_id: int, peer: str, now: Now, address: str = "", listener: Listener = PLAINTEXT
    ) -> Connection:
        """Accept a client's connection from an IP address to a broker. If the broker has just stopped, the connection
        is closed at once."""
        self.now = now
        connection = self.sockets.open(broker_id, peer, address, listener)
        if not self.lives.takes_connections(broker_id):
            self.sockets.close(connection, f"broker {broker_id} has stopped")
        elif listener.has_sasl:
            self.sasl.begin(connection)
        if self.faults.at_connect:
            self.faults.connected(connection)
        self._handle_requests()
        return connection

    def take_certificate(self, connection: Connection, distinguished_name: str | None, now: Now) -> None:
        """Take the distinguished name of a client's certificate, None without one, when TLS is set up: its principal,
        unless it authenticates by SASL. Close the connection if no mapping rule matches, or if the rules cannot be
        read."""
        self.now = now
        if connection.listener.security_protocol != SSL:
            return
        config = self.controller.broker_configs.of_listener(connection.broker_id, connection.listener.name)
        reason = f"Failed to map name for '{(distinguished_name or '')[:1_000]}' based on SSL principal mapping rules."
        try:
            rules = config.ssl_principal_mapping_rules
            name = ANONYMOUS.name if distinguished_name is None else mapped_name(rules, distinguished_name)
        except ConfigError as error:
            name, reason = None, f"ssl.principal.mapping.rules: {error}"
        if name is None:
            self.sockets.close(connection, reason)
            return
        connection.principal = KafkaPrincipal(USER, name)
        if self.probe.listeners:
            where, listener = (connection.number, connection.broker_id), connection.listener.name
            principal = connection.principal.shown
            self.probe.tell(Login(*self.probe.times, *where, listener, "", principal, NO_ERROR, "", False))

    def handshake_failed(self, connection: Connection, reason: str, now: Now) -> None:
        """Close a connection at once after a failed handshake of TLS. It counts as a failed authentication."""
        self.now = now
        if self.probe.listeners:
            where, listener = (connection.number, connection.broker_id), connection.listener.name
            error = "SslAuthenticationException"
            self.probe.tell(Login(*self.probe.times, *where, listener, "", "", error, reason, False))
        self.sockets.close(connection, f"TLS handshake failed: {reason}")

    def receive_buffer(self, connection: Connection) -> memoryview | None:
        """Return the buffer for the next bytes of the connection, to be passed to `receive`; None if any buffer will
        do."""
        return connection.decoder.get_buffer()

    def receive(self, connection: Connection, data: bytes | memoryview, now: Now) -> None:
        """Receive bytes, possibly in the buffer of `receive_buffer`. Handle the requests that they complete, one at a
        time, within the turn's limit."""
        self.now = now
        self.sockets.receive(connection, data)
        if self._order is None:  # else after all connections are read
            self._handle_requests()
        self.sockets.received(connection)

    def set_write_blocked(self, connection: Connection, blocked: bool, now: Now) -> None:
        """Note that the peer has stopped reading, or that the last response is completely written."""
        self.now = now
        self.sockets.set_write_blocked(connection, blocked)
        self._handle_requests()

    def connection_lost(self, connection: Connection, now: Now) -> int:
        """Note that the peer has disconnected. Finished work stays; a parked request stays parked, and its response is
        dropped. Return the number of bytes of an unfinished request."""
        self.now = now
        unfinished = self.sockets.lost(connection)
        self._handle_requests()
        return unfinished

    def advance_to(self, now: Now, handled_at: Now | None = None) -> None:
        """Run everything that is due by `now`, each event at its own time, within the turn's limit.

        Then handle the requests that were left over, and those unblocked by responses, at `handled_at` (default:
        `now`). Their timeouts start then. If time is advanced late, that is later than the events that unblocked them.
        """
        self._has_due = self._run_timers(now)
        self.now = handled_at or now
        self._handle_requests()

    def _run_timers(self, now: Now) -> bool:
        """Run the due timers. Return True if some are left that are due by `now`."""
        turn = self._timer_turn
        turn.begin()
        turn.enter()
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now.mono_ms:
            if turn.is_over():
                return True
            # A timer that was due when it was added has a deadline in the past; time does not go back for it.
            step_ms = self._advanced_ms = max(deadline_ms, self._advanced_ms)
            self.now = now.at(step_ms)
            try:
                ran = self.deadlines.advance_clock(step_ms, _TIMERS_AT_ONCE)
                if self._due:
                    self.faults.run()
                turn.handled(max(ran, _SLICE_IS_WORTH), 0)  # a timer may be a slice of long work
                if ran and self.probe.listeners:
                    self.probe.tell(TimerFired(*self.probe.times, ran, now.mono_ms))
            except Exception as error:
                # The timers are consistent: the other due ones run in the next iteration.
                self._effects.append(InternalError("a timer's task", error))
        self._advanced_ms = max(now.mono_ms, self._advanced_ms)
        self.housekeeping.reached(self._advanced_ms)
        return False

    @property
    def has_work(self) -> bool:
        """Return True if work was left for the next `advance_to`, which should then be called at once."""
        return self._has_due or self.sockets.has_work

    def next_deadline_ms(self) -> int | None:
        """Return the time when `advance_to` has something to do."""
        return self.deadlines.next_deadline_ms()

    @property
    def is_awaited(self) -> bool:
        """Return True if skipping time would unblock a client. A polling consumer does not count: it polls for ever.
        Nor do the steps of a script: they wait for the user's own actions."""
        return self.deadlines.is_awaited()

    def next_skip_ms(self) -> int | None:
        """Return where a skip of the clock ends: at the next deadline, without those that clients have to meet. None if
        no client waits for anything."""
        return self.deadlines.next_deadline_ms(if_skipped=True) if self.is_awaited else None

    def skip(self, ms: int) -> None:
        """Note that the clock has skipped `ms`, which no client has lived through: the deadlines of clients move along.
        `advance_to` comes next."""
        self.skipped_ms += ms
        for partition in self.metadata.partitions():
            for replica in partition.replicas.values():
                replica.on_skip(ms)

    @property
    def has_deadlines(self) -> bool:
        """Return True if anything but housekeeping is pending: a parked request, a muted connection, a batch in flight
        to a follower, a step of a follower's script."""
        return self.deadlines.has_pending()

    def take_effects(self) -> list[Effect]:
        """Return the effects to perform outside, in order, responses first; each is returned once."""
        if self.on_taken is not None:
            self.on_taken()
        taken = self.sockets.take_answers()
        if self._effects:
            taken += self._effects
            self._effects.clear()
        return taken

    # Internal methods.

    def _handle_requests(self) -> None:
        """Handle the next requests within the turn's limit. Requests that one wakes join the queue, so completions
        never nest. A fault that acts between two requests may call a user's door; then nothing is handled inside it."""
        if self._is_handling:
            return
        self._is_handling = True
        try:
            self._take_turn()
        finally:
            self._is_handling = False

    def _take_turn(self) -> None:
        if self.faults.is_acting:  # the caller that runs the fault continues here
            return
        sockets, turn = self.sockets, self.turn
        turn.enter()
        if self._due:
            self.faults.run()
        while not turn.is_over() and (connection := sockets.poll()) is not None:
            self.housekeeping.changed(self.now.mono_ms)
            request = connection.request
            if request is None:
                self._dispatcher.go_on(connection)
                turn.handled(_SLICE_IS_WORTH, 0)
            else:
                if self.on_handling is not None:
                    self.on_handling(connection.number)
                self._dispatcher.handle(self.brokers[connection.broker_id], connection, self.now)
                turn.handled(1, len(request))
            if connection.work is None:
                sockets.handled(connection)
            if self._due:
                self.faults.run()
            broker = self.brokers.get(connection.broker_id)
            if broker is not None:
                self._complete_actions(broker.replicas)
            if self._due:
                self.faults.run()
        turn.leave()
        sockets.end_turn()

    def _complete_actions(self, replicas: ReplicaManager) -> None:
        while True:
            try:
                replicas.try_complete_actions(self.now)
            except Exception as error:
                self._effects.append(InternalError("completing requests that waited for an append", error))
            if not replicas.has_actions:
                return

    def _report_bug(self, where: str, error: Exception) -> None:
        self._effects.append(InternalError(where, error))

    def _warn(self, text: str) -> None:
        self._effects.append(Warn(text))

    def check_invariants(self) -> None:
        self.members.check_invariants()
        for broker_id in self.registry.broker_ids:
            assert self.lives.takes_connections(broker_id) or self.sockets.connections.last(broker_id) is None
        self.sockets.check_invariants()
