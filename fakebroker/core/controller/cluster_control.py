"""The brokers of the cluster: sessions, controlled shutdowns, fencing, registration.

Theory   A broker that is silent for broker.session.timeout.ms is fenced: it leaves every ISR, and its partitions get
         other leaders. Until then the controller takes it for alive, whatever became of its process. A controlled
         shutdown begins with a request: the broker leaves every ISR and leads nothing any more. It is fenced and may
         stop once every other active broker knows of that. So it waits for silent brokers until they are heard or
         fenced. A broker that leads nothing may stop at once. A broker that starts registers, in a new epoch, and is
         unfenced. While its last life still has a session, its id cannot be registered. A silent broker that is heard
         again is unfenced in the epoch that it had. A broker that registers after a crash is no eligible leader any
         more (KIP-966), because it cannot give the epoch of a clean shutdown. A broker that does not reach the
         controller is silent, whether it works or not.
         Each step is an event of the controller (core/controller_events.py).
Units    monotonic milliseconds. Each step takes the controller `fakebroker.controller.delay.ms`; with 0 it begins at
         once.
Source   metadata/.../controller/{ClusterControlManager,BrokerHeartbeatManager,ReplicationControlManager}.java @ 4.4
         (read out of the released jars): registerBroker, calculateNextBrokerState, processBrokerHeartbeat,
         handleBrokerInControlledShutdown, handleBrokerFenced, handleBrokerUnfenced, handleBrokerShutdown,
         maybeFenceOneStaleBroker; core/.../server/BrokerLifecycleManager.scala @ 4.0.
Differs  No heartbeats are sent: a session ends broker.session.timeout.ms after the broker fell silent. Kafka counts
         from its last heartbeat, up to broker.heartbeat.interval.ms earlier, and checks every eighth of the timeout.
         All brokers that reach the controller know its decisions at once. A broker does not give up after five minutes
         of asking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.leadership import Leadership
from fakebroker.core.controller_events import ControllerEvents
from fakebroker.core.journal.broker_events import BrokerFenced, BrokerUnfenced
from fakebroker.core.probe import Probe
from fakebroker.protocol.slices import Slices
from timingwheel import SystemTimer, TimerTask


class Call(TimerTask):
    """A delayed call."""

    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


Step = Callable[[], Slices[None]]


@final
class ClusterControl:
    """The life of all brokers. A request is executed at once, or after the controller's delay. `is_asked` is checked
    again then: the broker may have crashed meanwhile."""

    def __init__(
        self,
        registry: BrokerRegistry,
        leadership: Leadership,
        configs: DynamicBrokerConfig,
        probe: Probe,
        timer: SystemTimer,
        read_now: Callable[[], Now],
        events: ControllerEvents,
    ) -> None:
        self._registry = registry
        self._leadership = leadership
        self._configs = configs
        self._probe = probe
        self._timer = timer
        self._read_now = read_now
        self._events = events
        self._sessions: dict[int, Call] = {}  # of silent brokers
        self._leaving: dict[int, tuple[set[int], Step]] = {}  # the brokers still unaware; the grant
        self._registering: dict[int, Step] = {}  # done once the session of the last life has ended

    def _after_delay(self, step: Step) -> Slices[None]:
        """Do a step after the controller's delay."""
        delay_ms = self._configs.current.fakebroker_controller_delay_ms
        if delay_ms == 0:
            yield from step()
        else:
            call = Call(delay_ms, lambda: self._events.handle("a step of the controller", step()))
            self._timer.add(call, self._read_now().mono_ms)

    # Stopping brokers.

    def controlled_shutdown(self, broker_id: int, is_asked: Callable[[], bool], may_go: Step) -> Slices[None]:
        """Start a controlled shutdown. `may_go` is done when the broker may stop."""

        def granted() -> Slices[None]:
            if is_asked():
                yield from self._fence(broker_id, "controlled shutdown")
                yield from may_go()

        def asked_again() -> Slices[None]:
            unaware.intersection_update(self._unaware())
            if unaware:
                self._leaving[broker_id] = unaware, granted
            else:
                yield from granted()

        def asked() -> Slices[None]:
            if not is_asked():
                return
            if not self._leadership.leads_any(broker_id):
                yield from granted()
                return
            self._registry[broker_id].in_controlled_shutdown = True
            yield from self._leadership.leave(broker_id, self._read_now)
            unaware.update(self._unaware())
            yield from self._after_delay(asked_again)

        unaware: set[int] = set()
        return self._after_delay(asked)

    def _unaware(self) -> list[int]:
        """Return the active brokers that have not confirmed the last decision."""
        registry, views = self._registry, self._leadership.views
        return [
            other
            for other in registry.active(registry.broker_ids)
            if not registry[other].is_heard or views.is_unaware(other)
        ]

    def _let_leave(self, broker_id: int) -> Slices[None]:
        """Let brokers stop that waited only for `broker_id`: it now knows the last decision, or is no longer active."""
        for leaving, (unaware, granted) in list(self._leaving.items()):
            unaware.discard(broker_id)
            if not unaware and self._leaving.pop(leaving, None) is not None:  # one that stops may let others stop
                yield from granted()

    def silent(self, broker_id: int) -> None:
        """Start the session timeout of a broker that is silent from now on."""
        if broker_id not in self._sessions and self._registry.is_alive(broker_id):
            session = Call(self._configs.current.broker_session_timeout_ms, lambda: self._session_over(broker_id))
            self._sessions[broker_id] = session
            self._timer.add(session, self._read_now().mono_ms)

    def _session_over(self, broker_id: int) -> None:
        del self._sessions[broker_id]
        self._events.handle("the end of a session", self._after_delay(lambda: self._fence_silent(broker_id)))

    def _fence_silent(self, broker_id: int) -> Slices[None]:
        if not self._registry[broker_id].is_heard and self._registry.is_alive(broker_id):
            yield from self._fence(broker_id, "its session has timed out")
        yield from self._let_register(broker_id)

    def _let_register(self, broker_id: int) -> Slices[None]:
        """Register a waiting broker if no earlier session and no isolation prevents it."""
        broker = self._registry[broker_id]
        if broker_id not in self._sessions and not broker.is_alive and not broker.isolations:
            register = self._registering.pop(broker_id, None)
            if register is not None:
                yield from register()

    def _fence(self, broker_id: int, reason: str) -> Slices[None]:
        self._registry[broker_id].is_being_fenced = True
        probe = self._probe
        if probe.listeners:
            probe.tell(BrokerFenced(*probe.times, broker_id, self._registry[broker_id].epoch, reason))
        yield from self._leadership.remove_from_isrs(broker_id, self._read_now)
        self._registry.fence(broker_id)
        yield from self._let_leave(broker_id)

    # Starting brokers.

    def heard(self, broker_id: int) -> None:
        """End the session timeout of a silent broker that is heard again, in the same life. Do nothing if it does not
        reach the controller."""
        if self._registry[broker_id].is_heard:
            session = self._sessions.pop(broker_id, None)
            if session is not None:
                session.cancel()

    def caught_up(self, broker_id: int) -> Slices[None]:
        """Let brokers stop that waited for this one, now that it knows what it missed. If it was fenced meanwhile,
        unfence it."""
        if self._registry[broker_id].is_heard:
            yield from self._let_leave(broker_id)
        if self._registry[broker_id].is_heard and not self._registry.is_alive(broker_id):
            epoch = self._registry[broker_id].epoch
            yield from self._after_delay(lambda: self._heard(broker_id, epoch))

    def _heard(self, broker_id: int, epoch: int) -> Slices[None]:
        broker = self._registry[broker_id]
        if broker.is_heard and broker.epoch == epoch and broker.is_fenced:
            yield from self._unfence(broker_id)

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from the controller, whatever else it reaches."""
        self._registry[broker_id].isolations += 1
        self.silent(broker_id)

    def reach(self, broker_id: int) -> Slices[None]:
        """Undo one `isolate`. The broker reaches the controller unless another isolation is left."""
        self._registry[broker_id].isolations -= 1
        if self._registry[broker_id].is_heard:
            self.heard(broker_id)
            yield from self._leadership.reaches_controller_again(broker_id, self._read_now)
        yield from self._let_register(broker_id)

    def register(self, broker_id: int, is_clean: bool, is_asked: Callable[[], bool], come_up: Step) -> Slices[None]:
        """Register a broker that has started, once the session of its last life has ended. It works once `come_up` is
        done, and is then unfenced. `is_clean`: its last life ended with a controlled shutdown."""

        def registered() -> Slices[None]:
            if not is_asked():
                return
            if self._registry.has_elr() and not is_clean:
                yield from self._leadership.unclean_shutdown(broker_id, self._read_now)
            self._registry.register(broker_id)
            yield from self._after_delay(caught_up)

        def caught_up() -> Slices[None]:
            if is_asked():
                yield from come_up()
                yield from self._unfence(broker_id)
                if not self._registry[broker_id].is_heard:  # it was cut off meanwhile
                    self.silent(broker_id)

        def register() -> Slices[None]:
            return self._after_delay(registered)

        has_session = broker_id in self._sessions or (self._registry.is_alive(broker_id) and not is_clean)
        if has_session or self._registry[broker_id].isolations:
            self._registering[broker_id] = register
        else:
            yield from register()

    def _unfence(self, broker_id: int) -> Slices[None]:
        self._registry.unfence(broker_id)
        probe = self._probe
        if probe.listeners:
            probe.tell(BrokerUnfenced(*probe.times, broker_id, self._registry[broker_id].epoch))
        yield from self._leadership.come_back(broker_id, self._read_now)

    def forget(self, broker_id: int) -> None:
        """Cancel the pending registration or controlled shutdown of a broker."""
        self._leaving.pop(broker_id, None)
        self._registering.pop(broker_id, None)

    def unregister(self, broker_id: int) -> None:
        """Unregister a running broker. It is back at once: the response to its next heartbeat says that it is
        unknown."""
        self._events.handle("the end of a registration", self._unregister(broker_id))

    def _unregister(self, broker_id: int) -> Slices[None]:
        if not self._registry.is_alive(broker_id):  # an event before this one has stopped it
            return
        yield from self._fence(broker_id, "unregistered")
        self._registry.register(broker_id)
        yield from self._unfence(broker_id)
