"""The lifecycle of brokers: controlled shutdown, crash, pause, restart.

Theory   stop    the controller moves the leaders away, and parked requests get NOT_LEADER_OR_FOLLOWER (6); then the
                 broker is fenced, and its connections close.
         kill    the process and its connections are gone, without responses. For the controller it stays in sync and
                 leading until its session expires (broker.session.timeout.ms).
         pause   the process is frozen (SIGSTOP) with its sockets open. It reads no requests, sends no responses, and no
                 timer fires. There is no replication from or to it. Its session runs on.
         resume  it continues where it was: first what is in its sockets (core/replication/standing_still/), then late
                 timers, then requests of clients. It learns missed metadata after `fakebroker.metadata.delay.ms`, and
                 believes until then that it leads.
         start   it registers in a new epoch, as soon as its last life has no session, and a stop has ended. Its log is
                 as it was, except what the crash lost (core/crash_loss.py).
         flush   its records are on disk; a controlled shutdown does that.
         The controller's part is in core/controller/cluster_control.py. A broker that does not reach the controller has
         stale metadata as well: core/controller/stale_views.py.
         Each change is an event of the controller (core/controller_events.py), in slices with very many partitions. A
         broker that is killed or paused serves clients up to the last one; its fetches end partition by partition.
Units    monotonic milliseconds.
Source   core/.../server/BrokerServer.scala startup, shutdown; BrokerLifecycleManager.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from fakebroker.cluster.members import Members
from fakebroker.cluster.metadata_catch_up import MetadataCatchUp
from fakebroker.core.broker.broker import Broker
from fakebroker.core.broker_registry import ids_in_words
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.crash_loss import CrashLoss
from fakebroker.core.journal import broker_events
from fakebroker.core.journal.events import Event
from fakebroker.core.replication.partition import Partition
from fakebroker.network.effects import Effect, Listen, StopListening
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.slices import Slices

RUNNING, STOPPING, STOPPED, KILLED, PAUSED, STARTING = "running", "stopping", "stopped", "killed", "paused", "starting"


@final
class Lives:
    """The doors by which brokers stop and start. The caller performs the effects afterwards. `handle_requests` handles
    the requests that can continue."""

    def __init__(
        self,
        members: Members,
        sockets: SocketServer,
        emit: Callable[[Effect], None],
        handle_requests: Callable[[], None],
    ) -> None:
        self._members = members
        self._brokers, self._registry, self._controller = members.brokers, members.registry, members.controller
        self._followers, self._events, self._read_now = members.followers, members.events, members.clock.read_now
        self._sockets = sockets
        self._emit = emit
        self._handle_requests = handle_requests
        broker_ids = members.registry.broker_ids
        self._states = dict.fromkeys(broker_ids, RUNNING)
        self._lives = dict.fromkeys(broker_ids, 0)  # number of lives of each broker
        self._paused: dict[int, Broker] = {}
        self._hearing = MetadataCatchUp(members)
        self._pauses = dict.fromkeys(broker_ids, 0)  # number of pauses of each broker
        self._unclean: dict[int, CrashLoss] = {}  # killed, and not started since
        self._restarting: set[int] = set()  # stopping, and to be started then

    def state_of(self, broker_id: int) -> str:
        """Return the state of its process: running, stopping, stopped, killed, paused or starting. Raises ValueError
        for an unknown id."""
        if broker_id not in self._states:
            raise ValueError(f"there is no broker {broker_id}: the ids are {ids_in_words(self._registry.broker_ids)}")
        return self._states[broker_id]

    def is_running(self, broker_id: int) -> bool:
        """Return True if it handles requests; a paused broker does not."""
        return broker_id in self._brokers

    def takes_connections(self, broker_id: int) -> bool:
        """Return True if connects succeed: there is a process. A paused one accepts them and sends no responses."""
        return broker_id in self._brokers or broker_id in self._paused

    def stop_broker(self, broker_id: int, now: Now) -> None:
        """Start a controlled shutdown. Of a broker that is stopping, cancel the start that was to follow; do nothing
        if it has stopped. Raises ValueError for an unknown id, and for a broker that does not reach the controller.
        Raises it also for a paused broker, which would only get the signal once it is resumed."""
        self._events.handle_at_once(self.stop_broker_in_slices(broker_id, now))

    def stop_broker_in_slices(self, broker_id: int, now: Now) -> Slices[None]:
        state = self.state_of(broker_id)
        if state == PAUSED:
            raise ValueError(f"broker {broker_id} is paused: resume it before it is stopped, or kill it")
        if state == RUNNING and self._registry[broker_id].isolations:
            raise ValueError(
                f"broker {broker_id} is cut off from the controller, which decides whether it may stop: "
                "heal the network partition first, or kill the broker"
            )
        self._restarting.discard(broker_id)
        if state == STARTING:
            self._members.enter(now)
            self._end(broker_id, STOPPED)
        elif state == RUNNING:
            self._members.enter(now)
            self._tell(broker_events.BrokerStopping, broker_id)
            self._states[broker_id] = STOPPING
            life = self._lives[broker_id]
            if self._members.broker_configs.of(broker_id).controlled_shutdown_enable:
                yield from self._controller.cluster_control.controlled_shutdown(
                    broker_id, lambda: self._lives[broker_id] == life, lambda: self._shut_down(broker_id)
                )
            else:
                yield from self._shut_down(broker_id)
                self._controller.cluster_control.silent(broker_id)
            self._handle_requests()

    def kill_broker(self, broker_id: int, now: Now, loss: CrashLoss = CrashLoss.NOTHING) -> None:
        """Crash a broker. It loses what `loss` says by its next start. Do nothing if it has no process. Raises
        ValueError for an unknown id."""
        self._events.handle_at_once(self.kill_broker_in_slices(broker_id, now, loss))

    def kill_broker_in_slices(self, broker_id: int, now: Now, loss: CrashLoss = CrashLoss.NOTHING) -> Slices[None]:
        state = self.state_of(broker_id)
        if state in (STOPPED, KILLED):
            return
        self._restarting.discard(broker_id)
        self._members.enter(now)
        if state != STARTING:
            yield from self._works_no_more(broker_id)
        self._tell(broker_events.BrokerKilled, broker_id)
        self._unclean[broker_id] = max(loss, self._unclean.get(broker_id, loss))
        if state != STARTING:
            self._sockets.close_all(broker_id, f"broker {broker_id} was killed", is_dead=True)
            yield from self._take_down(broker_id)
            self._controller.cluster_control.silent(broker_id)
        self._end(broker_id, KILLED)
        self._handle_requests()

    def pause_broker(self, broker_id: int, now: Now) -> None:
        """Pause a broker; do nothing if it is paused. Raises ValueError for an unknown id, and for a broker that does
        not run."""
        self._events.handle_at_once(self.pause_broker_in_slices(broker_id, now))

    def pause_broker_in_slices(self, broker_id: int, now: Now) -> Slices[None]:
        state = self.state_of(broker_id)
        if state == PAUSED:
            return
        if state != RUNNING:
            raise ValueError(f"broker {broker_id} is {state}: only one that is running can be paused")
        self._members.enter(now)
        yield from self._works_no_more(broker_id, self._members.broker_configs.of(broker_id))
        yield from self._hearing.end(broker_id)
        self._tell(broker_events.BrokerPaused, broker_id)
        self._states[broker_id] = PAUSED
        self._pauses[broker_id] += 1
        broker = self._paused[broker_id] = self._brokers.pop(broker_id)
        self._sockets.reading.pause_broker(broker_id)
        self._members.wakeups.pause_broker(broker_id)
        broker.pause()
        self._controller.cluster_control.silent(broker_id)
        self._handle_requests()

    def resume_broker(self, broker_id: int, now: Now) -> None:
        """Resume a broker; do nothing if it runs. Raises ValueError for an unknown id, and for a broker that has no
        process."""
        self._events.handle_at_once(self.resume_broker_in_slices(broker_id, now))

    def resume_broker_in_slices(self, broker_id: int, now: Now) -> Slices[None]:
        state = self.state_of(broker_id)
        if state == RUNNING:
            return
        if state != PAUSED:
            raise ValueError(f"broker {broker_id} is {state}: only one that is paused can be resumed")
        self._members.enter(now)
        self._tell(broker_events.BrokerResumed, broker_id)
        self._states[broker_id] = RUNNING
        broker = self._brokers[broker_id] = self._paused.pop(broker_id)
        self._followers.goes_on(broker_id, now)
        yield from self._works(broker_id)
        if self._members.config.fakebroker_metadata_delay_ms == 0 and self._registry[broker_id].is_heard:
            yield from self._controller.leadership.views.hears(broker_id, self._read_now)  # before late events
        self._members.wakeups.resume_broker(broker_id, self._members.clock.now.mono_ms)
        broker.resume()
        yield from self._hearing.go_on(broker_id)
        self._sockets.reading.resume_broker(broker_id)
        self._handle_requests()

    def start_broker(self, broker_id: int, now: Now) -> None:
        """Start a broker that was stopped or killed; one that is stopping starts once it has stopped. Do nothing if it
        runs. Raises ValueError for an unknown id, and for a paused broker."""
        self._events.handle_at_once(self.start_broker_in_slices(broker_id, now))

    def start_broker_in_slices(self, broker_id: int, now: Now) -> Slices[None]:
        state = self.state_of(broker_id)
        if state == PAUSED:
            raise ValueError(f"broker {broker_id} is paused, not stopped: resume it")
        if state == STOPPING:
            self._restarting.add(broker_id)
        elif state in (STOPPED, KILLED):
            self._members.enter(now)
            yield from self._start(broker_id)
            self._handle_requests()

    def flush_broker(self, broker_id: int) -> None:
        """Flush a broker's records to its disk; do nothing if it has no process. Raises ValueError for an unknown
        id."""
        if self.state_of(broker_id) in (RUNNING, STOPPING, PAUSED):
            self._events.handle_at_once(self._flush(broker_id))

    def pauses_of(self, broker_id: int) -> int:
        """Return the number of its pauses."""
        return self._pauses[broker_id]

    def cut(self, some: Sequence[int], others: Sequence[int], without_controller: Sequence[int], now: Now) -> None:
        """Cut the links between some brokers and others, and of some to the controller, until `join`. Raises ValueError
        for an unknown id."""
        for broker_id in (*some, *others, *without_controller):
            self.state_of(broker_id)
        self._events.handle_at_once(self._cut(some, others, without_controller, now))

    def _cut(
        self, some: Sequence[int], others: Sequence[int], without_controller: Sequence[int], now: Now
    ) -> Slices[None]:
        self._members.enter(now)
        self._controller.leadership.note_last_fetches([*some, *others], now)
        self._registry.cut(some, others)
        self._followers.on_reach_change(now)
        for broker_id in without_controller:
            self._controller.cluster_control.isolate(broker_id)
            if broker_id in self._brokers:
                yield from self._hearing.end(broker_id)
        self._handle_requests()

    def join(self, some: Sequence[int], others: Sequence[int], without_controller: Sequence[int], now: Now) -> None:
        """Undo `cut` with the same arguments."""
        self._events.handle_at_once(self._join(some, others, without_controller, now))

    def _join(
        self, some: Sequence[int], others: Sequence[int], without_controller: Sequence[int], now: Now
    ) -> Slices[None]:
        self._members.enter(now)
        self._registry.join(some, others)
        self._followers.on_reach_change(now)
        for broker_id in without_controller:
            yield from self._controller.cluster_control.reach(broker_id)
            yield from self._hearing.go_on(broker_id)
        self._handle_requests()

    # Internal methods.

    def _tell(self, kind: Callable[[int, int, int], Event], broker_id: int) -> None:
        probe = self._members.probe
        if probe.listeners:
            probe.tell(kind(*probe.times, broker_id))

    def _shut_down(self, broker_id: int) -> Slices[None]:
        if self._members.config.fakebroker_controller_delay_ms == 0:
            self._handle_requests()  # respond also to requests queued behind those that got error 6
            if self._states[broker_id] != STOPPING:  # a fault of such a request has killed it
                return
        yield from self._works_no_more(broker_id)
        yield from self._flush(broker_id)
        self._sockets.close_all(broker_id, f"broker {broker_id} has stopped")
        self._tell(broker_events.BrokerStopped, broker_id)
        yield from self._take_down(broker_id)
        self._end(broker_id, STOPPED)
        if broker_id in self._restarting:
            self._restarting.remove(broker_id)
            yield from self._start(broker_id)

    def _start(self, broker_id: int) -> Slices[None]:
        self._tell(broker_events.BrokerStarting, broker_id)
        self._states[broker_id] = STARTING
        self._lives[broker_id] += 1
        life = self._lives[broker_id]
        yield from self._controller.cluster_control.register(
            broker_id,
            broker_id not in self._unclean,
            lambda: self._lives[broker_id] == life,
            lambda: self._come_up(broker_id),
        )

    def _flush(self, broker_id: int) -> Slices[None]:
        def flush(partition: Partition) -> None:
            replica = partition.as_seen_by(broker_id).replicas.get(broker_id)
            if replica is not None:
                replica.log.flush()

        return self._members.metadata.each_partition(flush)

    def _take_lost(self, broker_id: int, loss: CrashLoss) -> Slices[None]:
        def take_lost(partition: Partition) -> None:
            if broker_id in partition.replicas:
                partition.replicas[broker_id].lose(loss)

        if loss:
            yield from self._members.metadata.each_partition(take_lost)

    def _end(self, broker_id: int, state: str) -> None:
        self._states[broker_id] = state
        self._lives[broker_id] += 1  # cancels registrations and shutdowns of the old life
        self._controller.cluster_control.forget(broker_id)

    def _take_down(self, broker_id: int) -> Slices[None]:
        """Drop the process with all that it has in memory."""
        broker = self._paused.pop(broker_id, None) or self._brokers.pop(broker_id)
        self._followers.is_gone(broker_id)
        broker.stop()
        self._hearing.stop_catching_up(broker_id)
        yield from self._controller.leadership.views.gone(broker_id, self._read_now)
        self._members.publisher.forget_broker(broker_id)
        self._members.wakeups.stop_broker(broker_id)
        self._emit(StopListening(broker_id))

    def _come_up(self, broker_id: int) -> Slices[None]:
        """Start its new life: it leads and follows again, without clients."""
        self._tell(broker_events.BrokerStarted, broker_id)
        self._states[broker_id] = RUNNING
        yield from self._take_lost(broker_id, self._unclean.pop(broker_id, CrashLoss.NOTHING))
        self._brokers[broker_id] = self._members.new_broker(broker_id)
        self._members.listener_configs.reopen(broker_id)
        yield from self._works(broker_id)
        if self._registry[broker_id].isolations:  # it was cut off while it started
            yield from self._hearing.end(broker_id)
        self._emit(Listen(broker_id))

    def _works_no_more(self, broker_id: int, paused: BrokerConfig | None = None) -> Slices[None]:
        if self._registry[broker_id].is_working:
            self._registry[broker_id].is_working = False
            yield from self._controller.leadership.work_no_more(broker_id, self._read_now, paused)

    def _works(self, broker_id: int) -> Slices[None]:
        self._registry[broker_id].is_working = True
        return self._controller.leadership.work(broker_id, self._read_now)
