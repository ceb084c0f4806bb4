"""An installed fault: its match with a request's header, and the count of its hits.

Theory   It counts matches, and draws those on which it fires. The functions `on_change` are called when it fires, when
         a request arrives at its barrier or leaves it, and when it is removed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import final

from fakebroker.core.faults.actions import Error, Hold
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import BEFORE_ANSWER
from fakebroker.core.faults.table import api_keys, table
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.protocol.headers import RequestHeader


@final
class Armed:
    """An installed fault. `matches` counts the requests that matched, `hits` those on which it fired, `held` the
    requests at its barrier. `problems` says which actions could not act, and why."""

    __slots__ = (
        "_dice", "fault", "has_broken", "held", "hits", "id", "is_removed", "keys", "matches", "on_change",
        "problems", "removed_why",
    )  # fmt: skip

    def __init__(self, number: int, fault: Fault) -> None:
        self.id = number
        self.fault = fault
        self.hits = 0
        self.matches = 0
        self.held = 0
        self.is_removed = False
        self.removed_why = ""
        self.has_broken = False
        self.problems: list[str] = []
        self.on_change: list[Callable[[], None]] = []
        self._dice = Random(fault.times.seed)
        self.keys = tuple(api_keys()[name] for name in fault.when.api) if fault.when.api else _keys_that_have_all(fault)

    @property
    def name(self) -> str:
        """The name in the journal."""
        return f"f{self.id}"

    @property
    def is_spent(self) -> bool:
        """True if the fault cannot fire any more."""
        return self.is_removed or self.hits == self.fault.times.count

    @property
    def holds(self) -> bool:
        return any(isinstance(action, Hold) for action in self.fault.do)

    def fits(
        self,
        header: RequestHeader,
        principal: KafkaPrincipal | None,
        mechanism: str,
        broker_id: int,
        listener: str,
        connection: int,
        elapsed_ms: int,
    ) -> bool:
        """Return True if all selectors match except those of the parts of the request. `principal` is None if it is not
        known."""
        when = self.fault.when
        if when.principal and (principal is None or str(principal) not in when.principal):
            return False
        if when.mechanism and mechanism not in when.mechanism:
            return False
        if when.versions and not any(low <= header.api_version <= high for low, high in when.versions):
            return False
        if when.client_id and (header.client_id or "") not in when.client_id:
            return False
        return self.fits_connection(broker_id, listener, connection, elapsed_ms)

    def fits_connection(self, broker_id: int, listener: str, connection: int, elapsed_ms: int) -> bool:
        """Return True if the selectors of the connection and the time match."""
        when = self.fault.when
        if elapsed_ms < when.from_ms or (when.until_ms != -1 and elapsed_ms >= when.until_ms):
            return False
        return (
            (not when.broker or broker_id in when.broker)
            and (not when.listener or listener in when.listener)
            and (not when.connection or connection in when.connection)
        )

    def fires(self) -> bool:
        """Count a match. Return True if the fault fires on it."""
        if self.is_spent:
            return False
        self.matches += 1
        times = self.fault.times
        if times.on_call and self.matches != times.on_call:
            return False
        if self.matches % times.every or (times.probability < 1 and self._dice.random() >= times.probability):
            return False
        self.hits += 1
        return True

    def changed(self) -> None:
        """Call the functions `on_change`."""
        for tell in list(self.on_change):
            tell()


def _keys_that_have_all(fault: Fault) -> tuple[int, ...]:
    """Return the API keys in which a fault without an API can match and fire."""
    said = set(fault.when.entity_selectors)
    errors = {action.error for action in fault.do if isinstance(action, Error)}
    if not said and (not errors or fault.force):
        return tuple(api_keys().values())
    keys = []
    for name, its in table().items():
        known = its.after if fault.when.at == BEFORE_ANSWER else its.before
        if said <= set(its.selectors) and (fault.force or errors <= known):
            keys.append(api_keys()[name])
    return tuple(keys)
