"""The brokers that do not hear the controller, and what they learn once they hear it again.

Theory   A broker that is paused, or cut off from the controller, has stale metadata (core/controller/stale_views.py).
         When it hears the controller again it learns what it has missed, after `fakebroker.metadata.delay.ms`.
Units    monotonic milliseconds.
Source   core/.../server/metadata/BrokerMetadataPublisher.scala onMetadataUpdate @ 4.0.
"""

from __future__ import annotations

from typing import final

from fakebroker.cluster.members import Members
from fakebroker.core.controller.cluster_control import Call
from fakebroker.protocol.slices import Slices


@final
class MetadataCatchUp:
    def __init__(self, members: Members) -> None:
        self._members = members
        self._catching_up: dict[int, Call] = {}  # heard by the controller, with metadata still to come

    def end(self, broker_id: int) -> Slices[None]:
        """Freeze the metadata of a running broker."""
        self.stop_catching_up(broker_id)
        members = self._members
        broker = members.brokers[broker_id]
        if (yield from members.controller.leadership.views.freeze(broker_id, broker.metadata)):
            members.publisher.pause_broker(broker_id)

    def go_on(self, broker_id: int) -> Slices[None]:
        """Bring a broker up to date with the metadata, if it runs and reaches the controller. If it has missed
        anything, that takes a delay."""
        members = self._members
        views, cluster_control = members.controller.leadership.views, members.controller.cluster_control
        if not members.registry[broker_id].is_heard or not members.publisher.is_paused(broker_id):
            return
        cluster_control.heard(broker_id)
        delay_ms = members.config.fakebroker_metadata_delay_ms if views.has_missed(broker_id) else 0
        if delay_ms == 0:
            yield from self._know(broker_id)
        else:
            call = self._catching_up[broker_id] = Call(delay_ms, lambda: self._catch_up(broker_id))
            members.timer.timer.add(call, members.clock.now.mono_ms)

    def stop_catching_up(self, broker_id: int) -> None:
        call = self._catching_up.pop(broker_id, None)
        if call is not None:
            call.cancel()

    def _catch_up(self, broker_id: int) -> None:
        def catch_up() -> Slices[None]:
            # An event before this one may have stopped or paused it.
            if broker_id in self._members.brokers and self._members.registry[broker_id].is_heard:
                yield from self._know(broker_id)

        del self._catching_up[broker_id]
        self._members.events.handle("the metadata that a broker has missed", catch_up())

    def _know(self, broker_id: int) -> Slices[None]:
        members = self._members
        yield from members.controller.leadership.views.hears(broker_id, members.clock.read_now)
        members.publisher.resume_broker(broker_id, members.brokers[broker_id])
        yield from members.controller.cluster_control.caught_up(broker_id)
