"""The actions of faults: values, one class for each verb.

Theory   The actions of a fault run in order at its point. Actions that take time (delay, hold, drip) delay the next
         one. An action that ends the request (drop, disconnect, blackhole) is the last.
JSON     The verb, "disconnect"; with its main value, {"delay": 100}; with several, {"cut": {"bytes": 7, "then":
         "reset"}}. An error is its name, "NOT_ENOUGH_REPLICAS".
Units    milliseconds, bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from fakebroker.core.faults import reading
from fakebroker.core.replication.behaviour import MAX_BYTES_PER_S, MAX_LAG_MS
from fakebroker.protocol.error_code import ErrorCode, error_from_name, kafka_name

MAX_MS: Final = 2**31 - 1
FIN: Final = "fin"
RESET: Final = "reset"
STAY: Final = "stay"


@dataclass(frozen=True)
class Action:
    """An action. `verb` is its name; `main` the field that a single value sets; `ends` means that no action may
    follow."""

    verb: ClassVar[str] = ""
    main: ClassVar[str] = ""
    ends: ClassVar[bool] = False

    def to_json(self) -> Any:
        """Return the JSON from which `read_action` makes an equal value."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if not said:
            return self.verb
        return {self.verb: said[self.main] if list(said) == [self.main] else said}

    def __str__(self) -> str:
        """Return the verb and its values, for the journal."""
        said = " ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{self.verb} {said}" if said else self.verb


@dataclass(frozen=True)
class Error(Action):
    """Respond with an error of Kafka's. `level` is "top" for the request as a whole, "entity" for the parts that match;
    "" means the parts where the API has any."""

    verb = "error"
    main = "error"
    error: str
    level: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", _error_name(self.error))
        if self.level not in ("", "top", "entity"):
            raise ValueError(f"'level' is 'top' or 'entity', not {reading.shown(self.level)}")

    @property
    def code(self) -> ErrorCode:
        return error_from_name(self.error)

    def to_json(self) -> Any:
        return {"error": {"error": self.error, "level": self.level}} if self.level else self.error

    def __str__(self) -> str:
        return f"error {self.error}"


@dataclass(frozen=True)
class _Timed(Action):
    main = "ms"
    ms: int

    def __post_init__(self) -> None:
        reading.whole(self.ms, f"'ms' of {self.verb!r}", 1, MAX_MS)


@dataclass(frozen=True)
class Delay(_Timed):
    """Delay the request, or its response, on the broker's clock."""

    verb = "delay"


@dataclass(frozen=True)
class Throttle(_Timed):
    """Report a throttle time to the client, and mute its connection for that time (KIP-219)."""

    verb = "throttle"


@dataclass(frozen=True)
class Hold(Action):
    """Hold the request at a barrier until `release`."""

    verb = "hold"


@dataclass(frozen=True)
class Drop(Action):
    """Never send the response; handle the next request of the connection."""

    verb = "drop"
    ends = True


@dataclass(frozen=True)
class Disconnect(Action):
    """Close the connection: "fin" normally, "reset" with RST. Work that is not done by then is not done."""

    verb = "disconnect"
    main = "how"
    ends = True
    how: str = FIN

    def __post_init__(self) -> None:
        if self.how not in (FIN, RESET):
            raise ValueError(f"'how' of 'disconnect' is 'fin' or 'reset', not {reading.shown(self.how)}")


@dataclass(frozen=True)
class Blackhole(Action):
    """Keep the connection open, but read nothing and write nothing from now on, as if the peer's host were gone."""

    verb = "blackhole"
    ends = True


@dataclass(frozen=True)
class _OfPartition(Action):
    """An action on the partition that matched, or on the named one."""

    main = "broker"
    broker: int | None = None
    topic: str | None = None
    partition: int | None = None

    def __post_init__(self) -> None:
        _check_partition(self.verb, self.broker, self.topic, self.partition)


@dataclass(frozen=True)
class MoveLeader(_OfPartition):
    """Make `broker` the leader, or another in-sync replica. Requests parked at the old leader complete."""

    verb = "move_leader"


@dataclass(frozen=True)
class LoseLeader(_OfPartition):
    """Leave the partition without a leader: the leader's process crashes, with all its partitions. No `broker` is
    given."""

    verb = "lose_leader"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.broker is not None:
            raise ValueError("'lose_leader' has no 'broker': it is always the leader")


@dataclass(frozen=True)
class ShrinkIsr(_OfPartition):
    """Remove `broker` from the ISR, or all but the leader. A frozen follower stays out; others return once they
    fetch."""

    verb = "shrink_isr"


@dataclass(frozen=True)
class MoveCoordinator(Action):
    """Move the group or transactional id that matched to another coordinator."""

    verb = "move_coordinator"
    main = "broker"
    broker: int | None = None

    def __post_init__(self) -> None:
        _check_partition(self.verb, self.broker, None, None)


@dataclass(frozen=True)
class _OfFollowers(_OfPartition):
    """An action on the followers, from now on; `broker` selects one of them."""


@dataclass(frozen=True)
class Freeze(_OfFollowers):
    """Freeze the followers: they fetch nothing."""

    verb = "freeze"


@dataclass(frozen=True)
class Thaw(_OfFollowers):
    """Undo a freeze: the followers behave as before."""

    verb = "thaw"


@dataclass(frozen=True)
class Lag(_OfFollowers):
    """Let the followers have each record `ms` later."""

    verb = "lag"
    main = "ms"
    ms: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.ms, "'ms' of 'lag'", 0, MAX_LAG_MS)


@dataclass(frozen=True)
class ThrottleFollowers(_OfFollowers):
    """Limit the followers to so many bytes a second."""

    verb = "throttle_followers"
    main = "bytes_per_s"
    bytes_per_s: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.bytes_per_s, "'bytes_per_s'", 1, MAX_BYTES_PER_S)


@dataclass(frozen=True)
class _OfBroker(Action):
    """An action on a broker. The default of `broker` is the broker of the request."""

    main = "broker"
    broker: int | None = None

    def __post_init__(self) -> None:
        _check_partition(self.verb, self.broker, None, None)


@dataclass(frozen=True)
class Stop(_OfBroker):
    """Stop a broker, as `kafka.brokers[n].stop()` does."""

    verb = "stop"


@dataclass(frozen=True)
class Start(_OfBroker):
    """Start a stopped broker."""

    verb = "start"


@dataclass(frozen=True)
class Kill(_OfBroker):
    """Kill a broker's process, as `kafka.brokers[n].kill()` does."""

    verb = "kill"


@dataclass(frozen=True)
class Pause(_OfBroker):
    """Pause a broker's process, as `kafka.brokers[n].pause()` does."""

    verb = "pause"


@dataclass(frozen=True)
class Resume(_OfBroker):
    """Resume a broker's process."""

    verb = "resume"


def _error_name(value: object) -> str:
    if isinstance(value, ErrorCode):
        return kafka_name(value)
    if isinstance(value, int) and not isinstance(value, bool):
        name = kafka_name(value)
        if name.startswith("UNKNOWN("):
            raise ValueError(f"Kafka has no error {value}")
    else:
        name = reading.text(value, "'error'").upper()
        try:
            error_from_name(name)
        except ValueError:
            raise ValueError(f"Kafka has no error {reading.shown(value)}{_meant_error(name)}") from None
    if name == "NONE":
        raise ValueError("NONE is not an error: leave the fault out")
    return name


def _meant_error(name: str) -> str:
    meant = reading.meant(name, [code.name.upper() for code in ErrorCode])
    return meant if meant.startswith(":") else ": use one of Kafka's names, as in 'NOT_ENOUGH_REPLICAS'"


def _check_partition(verb: str, broker: object, topic: object, partition: object) -> None:
    if broker is not None:
        reading.whole(broker, f"'broker' of {verb!r}", 0)
    if topic is not None:
        reading.text(topic, f"'topic' of {verb!r}")
    if partition is not None:
        reading.whole(partition, f"'partition' of {verb!r}", 0)
        if topic is None:
            raise ValueError(f"'partition' of {verb!r} needs a 'topic'")
