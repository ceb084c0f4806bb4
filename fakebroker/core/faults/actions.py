"""What a fault does: values, one class for each verb.

Theory   Several actions of a fault are done in order at its point. Those that take time (delay, hold, drip) let the
         next one wait; behind one that ends it all (drop, disconnect, blackhole) nothing can stand.
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
    """`verb` is its name; `main` the field whose value may stand for all; `ends` says that nothing comes after it."""

    verb: ClassVar[str] = ""
    main: ClassVar[str] = ""
    ends: ClassVar[bool] = False

    def to_json(self) -> Any:
        """What `read_action` makes the same value of."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if not said:
            return self.verb
        return {self.verb: said[self.main] if list(said) == [self.main] else said}

    def __str__(self) -> str:
        """For the journal: the verb and what is said with it."""
        said = " ".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{self.verb} {said}" if said else self.verb


@dataclass(frozen=True)
class Error(Action):
    """Answer with an error of Kafka's. `level` is "top" for the request as a whole, "entity" for the parts that match;
    "" takes the parts where the API has any."""

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
    """Let the request, or its answer, wait so long on the broker's clock."""

    verb = "delay"


@dataclass(frozen=True)
class Throttle(_Timed):
    """Tell the client that it is throttled for so long, and mute its connection for that time (KIP-219)."""

    verb = "throttle"


@dataclass(frozen=True)
class Hold(Action):
    """A barrier: wait here until somebody says `release`."""

    verb = "hold"


@dataclass(frozen=True)
class Drop(Action):
    """Never write the answer; the next request of the connection is handled."""

    verb = "drop"
    ends = True


@dataclass(frozen=True)
class Disconnect(Action):
    """Close the connection: "fin" in order, "reset" with RST. What was not done by then is not done."""

    verb = "disconnect"
    main = "how"
    ends = True
    how: str = FIN

    def __post_init__(self) -> None:
        if self.how not in (FIN, RESET):
            raise ValueError(f"'how' of 'disconnect' is 'fin' or 'reset', not {reading.shown(self.how)}")


@dataclass(frozen=True)
class Blackhole(Action):
    """From now on the connection is open, not read and not answered: the other half of it is gone."""

    verb = "blackhole"
    ends = True


@dataclass(frozen=True)
class _OfPartition(Action):
    """Of the partition that matched, or of the one that is named."""

    main = "broker"
    broker: int | None = None
    topic: str | None = None
    partition: int | None = None

    def __post_init__(self) -> None:
        _check_partition(self.verb, self.broker, self.topic, self.partition)


@dataclass(frozen=True)
class MoveLeader(_OfPartition):
    """Let `broker` lead, or another one that is in sync. Who waits at the old leader is answered."""

    verb = "move_leader"


@dataclass(frozen=True)
class LoseLeader(_OfPartition):
    """Nobody leads: its leader's process dies, and with it all that it leads. `broker` is not said."""

    verb = "lose_leader"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.broker is not None:
            raise ValueError("'lose_leader' has no 'broker': it is whoever leads")


@dataclass(frozen=True)
class ShrinkIsr(_OfPartition):
    """Take `broker` out of the ISR, or all but the leader. Who is frozen stays out; others are back once they fetch."""

    verb = "shrink_isr"


@dataclass(frozen=True)
class MoveCoordinator(Action):
    """Let another broker coordinate the group or transactional id that matched."""

    verb = "move_coordinator"
    main = "broker"
    broker: int | None = None

    def __post_init__(self) -> None:
        _check_partition(self.verb, self.broker, None, None)


@dataclass(frozen=True)
class _OfFollowers(_OfPartition):
    """What followers do from now on; `broker` is one of them."""


@dataclass(frozen=True)
class Freeze(_OfFollowers):
    """They fetch nothing."""

    verb = "freeze"


@dataclass(frozen=True)
class Thaw(_OfFollowers):
    """They do again what they did before."""

    verb = "thaw"


@dataclass(frozen=True)
class Lag(_OfFollowers):
    """They have each record `ms` later."""

    verb = "lag"
    main = "ms"
    ms: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.ms, "'ms' of 'lag'", 0, MAX_LAG_MS)


@dataclass(frozen=True)
class ThrottleFollowers(_OfFollowers):
    """They copy so many bytes a second."""

    verb = "throttle_followers"
    main = "bytes_per_s"
    bytes_per_s: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.bytes_per_s, "'bytes_per_s'", 1, MAX_BYTES_PER_S)


@dataclass(frozen=True)
class _OfBroker(Action):
    """`broker` is who is asked, if none is said."""

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
    """Start a broker that was stopped."""

    verb = "start"


@dataclass(frozen=True)
class Kill(_OfBroker):
    """A broker's process dies, as with `kafka.brokers[n].kill()`."""

    verb = "kill"


@dataclass(frozen=True)
class Pause(_OfBroker):
    """A broker's process stands still, as with `kafka.brokers[n].pause()`."""

    verb = "pause"


@dataclass(frozen=True)
class Resume(_OfBroker):
    """A broker's process goes on."""

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
        raise ValueError("NONE is no error: leave the fault out")
    return name


def _meant_error(name: str) -> str:
    meant = reading.meant(name, [code.name.upper() for code in ErrorCode])
    return meant if meant.startswith(":") else ": say one of Kafka's names, as in 'NOT_ENOUGH_REPLICAS'"


def _check_partition(verb: str, broker: object, topic: object, partition: object) -> None:
    if broker is not None:
        reading.whole(broker, f"'broker' of {verb!r}", 0)
    if topic is not None:
        reading.text(topic, f"'topic' of {verb!r}")
    if partition is not None:
        reading.whole(partition, f"'partition' of {verb!r}", 0)
        if topic is None:
            raise ValueError(f"'partition' of {verb!r} needs a 'topic' beside it")
