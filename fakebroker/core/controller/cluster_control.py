"""Which brokers take part: sessions, controlled shutdowns, fencing, registration.

Theory   A broker that is silent for broker.session.timeout.ms is fenced: it leaves every ISR, and what it led goes to
         another. Until then the controller takes it for alive, whatever became of its process. One that wants to stop
         asks: it leaves every ISR and leads nothing any more, and once every other broker that takes part knows of
         that, it is fenced and told to go: so it waits for those that are silent, until they are heard or fenced. One
         that leads nothing is told at once. One that starts registers, in a new epoch, and is unfenced; while its last
         life still has a session nobody may register under its id. One that was silent and speaks again is unfenced in
         the epoch that it had. Who registers after it was killed is no eligible leader any more (KIP-966): it cannot
         tell the epoch of a clean shutdown.
         One that does not reach the controller is silent, whether it works or not.
Units    monotonic milliseconds. Each step takes the controller `fakebroker.controller.delay.ms`; 0, and all happens at
         once.
Source   metadata/.../controller/{ClusterControlManager,BrokerHeartbeatManager,ReplicationControlManager}.java @ 4.4
         (read out of the released jars): registerBroker, calculateNextBrokerState, processBrokerHeartbeat,
         handleBrokerInControlledShutdown, handleBrokerFenced, handleBrokerUnfenced, handleBrokerShutdown,
         maybeFenceOneStaleBroker; core/.../server/BrokerLifecycleManager.scala @ 4.0.
Differs  No heartbeats are sent: a session ends broker.session.timeout.ms after the broker fell silent. Kafka counts
         from its last heartbeat, up to broker.heartbeat.interval.ms earlier, and looks every eighth of the timeout.
         What is decided is known at once to all who hear. A broker does not give up after five minutes of asking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.controller.leadership import Leadership
from fakebroker.core.probe import Probe
from timingwheel import SystemTimer, TimerTask


class Call(TimerTask):
    """Somebody to call when it is time."""

    __slots__ = ("_call",)

    def __init__(self, delay_ms: int, call: Callable[[], None]) -> None:
        super().__init__(delay_ms)
        self._call = call

    def run(self) -> None:
        self._call()


@final
class ClusterControl:
    """Of all brokers. What is asked for is done now, or after the controller's time; `is_asked` is looked at again
    then: who asked may be dead."""

    def __init__(
        self,
        registry: BrokerRegistry,
        leadership: Leadership,
        configs: DynamicBrokerConfig,
        probe: Probe,
        timer: SystemTimer,
        read_now: Callable[[], Now],
    ) -> None:
        self._registry = registry
        self._leadership = leadership
        self._configs = configs
        self._probe = probe
        self._timer = timer
        self._read_now = read_now
        self._sessions: dict[int, Call] = {}  # of brokers that are silent
        self._leaving: dict[int, tuple[set[int], Callable[[], None]]] = {}  # once these know that it leads nothing
        self._registering: dict[int, Callable[[], None]] = {}  # once the session of the last life has ended

    def after_delay(self, call: Callable[[], None]) -> None:
        """The controller's time for one step."""
        delay_ms = self._configs.current.fakebroker_controller_delay_ms
        if delay_ms == 0:
            call()
        else:
            self._timer.add(Call(delay_ms, call), self._read_now().mono_ms)

    # A broker goes.

    def controlled_shutdown(self, broker_id: int, is_asked: Callable[[], bool], may_go: Callable[[], None]) -> None:
        """A broker asks whether it may stop; it is told when it may."""

        def granted() -> None:
            if is_asked():
                self._fence(broker_id, "controlled shutdown")
                may_go()

        def asked_again() -> None:
            unaware.intersection_update(self._unaware())
            if unaware:
                self._leaving[broker_id] = unaware, granted
            else:
                granted()

        def asked() -> None:
            if not is_asked():
                return
            if not self._leadership.leads_any(broker_id):
                granted()
                return
            now = self._read_now()
            self._leadership.note_last_fetches([broker_id], now)
            self._registry[broker_id].in_controlled_shutdown = True
            self._leadership.remove_from_isrs(broker_id, now)
            self._leadership.let_follow(broker_id, now)  # which it does not do any more
            unaware.update(self._unaware())
            self.after_delay(asked_again)

        unaware: set[int] = set()
        self.after_delay(asked)

    def _unaware(self) -> list[int]:
        """Who takes part, and has not told that it knows what was decided last."""
        registry, views = self._registry, self._leadership.views
        return [
            other
            for other in registry.active(registry.broker_ids)
            if not registry[other].is_heard or views.is_unaware(other)
        ]

    def _let_leave(self, broker_id: int) -> None:
        """That one knows by now, or does not take part any more: whoever waited for it alone may go."""
        for leaving, (unaware, granted) in list(self._leaving.items()):
            unaware.discard(broker_id)
            if not unaware and self._leaving.pop(leaving, None) is not None:  # who goes may let others go
                granted()

    def silent(self, broker_id: int) -> None:
        """A broker says nothing from now on."""
        if broker_id not in self._sessions and self._registry.is_alive(broker_id):
            session = Call(self._configs.current.broker_session_timeout_ms, lambda: self._session_over(broker_id))
            self._sessions[broker_id] = session
            self._timer.add(session, self._read_now().mono_ms)

    def _session_over(self, broker_id: int) -> None:
        del self._sessions[broker_id]
        self.after_delay(lambda: self._fence_silent(broker_id))

    def _fence_silent(self, broker_id: int) -> None:
        if not self._registry[broker_id].is_heard and self._registry.is_alive(broker_id):
            self._fence(broker_id, "its session has timed out")
        self._let_register(broker_id)

    def _let_register(self, broker_id: int) -> None:
        """Whoever waits to, if nothing is in his way."""
        broker = self._registry[broker_id]
        if broker_id not in self._sessions and not broker.is_alive and not broker.isolations:
            register = self._registering.pop(broker_id, None)
            if register is not None:
                register()

    def _fence(self, broker_id: int, reason: str) -> None:
        self._registry.fence(broker_id)
        for listener in self._probe.listeners:
            listener.broker_fenced(broker_id, self._registry[broker_id].epoch, reason)
        self._leadership.remove_from_isrs(broker_id, self._read_now())
        self._let_leave(broker_id)

    # A broker comes.

    def heard(self, broker_id: int) -> None:
        """A broker that was silent speaks again, in the same life, before its session is over. If it does not reach the
        controller, nobody hears it."""
        if self._registry[broker_id].is_heard:
            session = self._sessions.pop(broker_id, None)
            if session is not None:
                session.cancel()

    def caught_up(self, broker_id: int) -> None:
        """A broker that speaks again knows what it missed. If it was fenced meanwhile, it may take part again."""
        if self._registry[broker_id].is_heard:
            self._let_leave(broker_id)
        if self._registry[broker_id].is_heard and not self._registry.is_alive(broker_id):
            epoch = self._registry[broker_id].epoch
            self.after_delay(lambda: self._heard(broker_id, epoch))

    def _heard(self, broker_id: int, epoch: int) -> None:
        broker = self._registry[broker_id]
        if broker.is_heard and broker.epoch == epoch and broker.is_fenced:
            self._unfence(broker_id)

    def isolate(self, broker_id: int) -> None:
        """A broker does not reach the controller from now on, whatever else it reaches."""
        self._registry[broker_id].isolations += 1
        self.silent(broker_id)

    def reach(self, broker_id: int) -> None:
        """It does again, unless something else is in the way."""
        self._registry[broker_id].isolations -= 1
        if self._registry[broker_id].is_heard:
            self.heard(broker_id)
            self._leadership.reaches_controller_again(broker_id, self._read_now())
        self._let_register(broker_id)

    def register(
        self, broker_id: int, is_clean: bool, is_asked: Callable[[], bool], come_up: Callable[[], None]
    ) -> None:
        """A broker has started: it registers, as soon as its last life has no session any more, and takes part. It
        works once `come_up` has returned, and is unfenced then. `is_clean`: it had been told to go before."""

        def registered() -> None:
            if not is_asked():
                return
            if self._registry.has_elr() and not is_clean:
                self._leadership.unclean_shutdown(broker_id, self._read_now())
            self._registry.register(broker_id)
            self.after_delay(caught_up)

        def caught_up() -> None:
            if is_asked():
                come_up()
                self._unfence(broker_id)
                if not self._registry[broker_id].is_heard:  # it was cut off meanwhile
                    self.silent(broker_id)

        def register() -> None:
            self.after_delay(registered)

        has_session = broker_id in self._sessions or (self._registry.is_alive(broker_id) and not is_clean)
        if has_session or self._registry[broker_id].isolations:
            self._registering[broker_id] = register
        else:
            register()

    def _unfence(self, broker_id: int) -> None:
        self._registry.unfence(broker_id)
        for listener in self._probe.listeners:
            listener.broker_unfenced(broker_id, self._registry[broker_id].epoch)
        self._leadership.elect_where_nobody_leads(self._read_now())
        self._leadership.let_follow(broker_id, self._read_now())

    def forget(self, broker_id: int) -> None:
        """It does not want to register any more, or to go."""
        self._leaving.pop(broker_id, None)
        self._registering.pop(broker_id, None)

    def unregister(self, broker_id: int) -> None:
        """A broker that works is forgotten, and is back at once: its next heartbeat tells it that it is unknown."""
        self._fence(broker_id, "unregistered")
        self._registry.register(broker_id)
        self._unfence(broker_id)
