"""Faults that arise from a cause: values for events of brokers, or of the network between them. Clients see the
consequences.

JSON     {"preset": "gc_pause", "broker": 2, "ms": 12000}: the name, and the fields beside it.
Units    milliseconds, on the broker's clock.
Errors   ValueError, in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Final

from fakebroker.core.faults import reading
from fakebroker.core.faults.actions import MAX_MS

BOTH: Final = "both"
CONTROLLER: Final = (BOTH, "a", "b")


@dataclass(frozen=True)
class Preset:
    """A preset. `name` is its name in JSON, and in `kafka.faults`."""

    name: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON from which `read_preset` makes an equal value."""
        return {"preset": self.name} | {
            key: list(value) if isinstance(value, tuple) else value for key, value in self._said().items()
        }

    def _said(self) -> dict[str, Any]:
        said = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in said.items() if value != default}

    def __str__(self) -> str:
        """Return the name and its values, for the journal."""
        return " ".join([self.name, *(f"{key}={_in_words(value)}" for key, value in self._said().items())])


@dataclass(frozen=True)
class NetworkPartition(Preset):
    """A network partition: the brokers `a` and the brokers `b` do not reach each other. The controller is reached by
    "both", or by those of one side alone. That side may be empty: then the others lose the controller, and nothing
    else."""

    name = "partition"
    a: tuple[int, ...]
    b: tuple[int, ...]
    controller: str = BOTH

    def __post_init__(self) -> None:
        for key in ("a", "b"):
            given = getattr(self, key)
            is_nobody = self.controller == key and isinstance(given, (list, tuple)) and not given
            ids = () if is_nobody else reading.several(given, f"{key!r} of 'partition'")
            for broker_id in ids:
                reading.whole(broker_id, f"a broker in {key!r} of 'partition'", 0)
            object.__setattr__(self, key, tuple(dict.fromkeys(ids)))
        if common := set(self.a) & set(self.b):
            raise ValueError(f"'partition' has broker {min(common)} on both sides: no broker is cut off from itself")
        if self.controller not in CONTROLLER:
            raise ValueError(f"'controller' of 'partition' is 'both', 'a' or 'b', not {reading.shown(self.controller)}")

    @property
    def without_controller(self) -> tuple[int, ...]:
        """The brokers that do not reach the controller."""
        return {BOTH: (), "a": self.b, "b": self.a}[self.controller]


@dataclass(frozen=True)
class _BrokerPreset(Preset):
    broker: int

    def __post_init__(self) -> None:
        reading.whole(self.broker, f"'broker' of {self.name!r}", 0)


@dataclass(frozen=True)
class GcPause(_BrokerPreset):
    """The broker is paused for so long."""

    name = "gc_pause"
    ms: int

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.ms, "'ms' of 'gc_pause'", 1, MAX_MS)


@dataclass(frozen=True)
class FullDisk(_BrokerPreset):
    """The broker's disk is full, with all of its log directories."""

    name = "full_disk"


@dataclass(frozen=True)
class SlowDisk(_BrokerPreset):
    """Each write to the broker's disk takes so long."""

    name = "slow_disk"
    ms: int

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.ms, "'ms' of 'slow_disk'", 1, MAX_MS)


@dataclass(frozen=True)
class UncleanShutdown(_BrokerPreset):
    """The broker's process crashes, and is started again at once."""

    name = "unclean_shutdown"


@dataclass(frozen=True)
class RollingRestart(Preset):
    """A controlled shutdown of each broker in turn. It is down for `down_ms`, is started, and is back in all its ISRs
    before the next broker's turn."""

    name = "rolling_restart"
    down_ms: int = 100

    def __post_init__(self) -> None:
        reading.whole(self.down_ms, "'down_ms' of 'rolling_restart'", 0, MAX_MS)


PRESETS: Final[dict[str, type[Preset]]] = {
    preset.name: preset for preset in (NetworkPartition, GcPause, FullDisk, SlowDisk, UncleanShutdown, RollingRestart)
}


def read_preset(value: Mapping[str, Any]) -> Preset:
    """Read a preset from JSON: {"preset": NAME, ...}. Raise ValueError."""
    said = dict(reading.mapping(value, "a preset"))
    name = reading.text(said.pop("preset", None), "'preset'")
    preset = PRESETS.get(name)
    if preset is None:
        raise ValueError(f"there is no preset {reading.shown(name)}{reading.meant(name, PRESETS)}")
    known = fields(preset)
    reading.refuse_unknown(said, [field.name for field in known], f"the preset {name!r}")
    for field in known:
        if field.default is MISSING and field.name not in said:
            raise ValueError(f"the preset {name!r} needs {field.name!r}")
    return preset(**said)


def _in_words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
