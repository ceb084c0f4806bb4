"""A client's request that is parked in a purgatory: its journal events.

Units    milliseconds.
"""

from __future__ import annotations

from fakebroker.core.journal.events import Completed, Expired, Parked
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class ParkedRequest(DelayedOperation):
    """A delayed operation that tells when it is parked, completed and expired. It is the subject of these events."""

    __slots__ = ("_probe", "_request")

    def __init__(self, timeout_ms: int, probe: Probe) -> None:
        super().__init__(timeout_ms)
        self._probe = probe
        self._request = -1  # its number, once it was told that it is parked

    def tell_parked(self, api: str) -> None:
        """Tell that the request in hand is parked."""
        probe = self._probe
        if probe.listeners:
            mono_ms, wall_ms = probe.times
            self._request = probe.request
            deadline_ms = mono_ms + max(self.delay_ms, 0)
            probe.tell(Parked(mono_ms, wall_ms, probe.request, api, self.delay_ms, deadline_ms), self)

    def tell_unparked(self) -> None:
        """Tell that the operation has completed or expired, if it was parked. Call this before its response."""
        probe = self._probe
        if self._request >= 0 and probe.listeners:
            kind = Expired if self.has_expired else Completed
            probe.tell(kind(*probe.times, self._request), self)
