"""The actions of faults: values that act themselves, one class for each verb.

Theory   The actions of a fault run in order at its point. Actions that take time (delay, hold, drip) delay the next
         one. An action that ends the request (drop, disconnect, blackhole) is the last.
JSON     The verb, "disconnect"; with its main value, {"delay": 100}; with several, {"cut": {"bytes": 7, "then":
         "reset"}}. An error is its name, "NOT_ENOUGH_REPLICAS".
Units    milliseconds, bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Protocol

from fakebroker.core.faults import reading
from fakebroker.core.faults.acting import ActionTarget, ChangeOfBytes, Changes, Waits
from fakebroker.core.faults.points import BEFORE_ANSWER, BEFORE_WORK
from fakebroker.core.replication.behaviour import FROZEN, MAX_BYTES_PER_S, MAX_LAG_MS, Behaviour
from fakebroker.protocol.error_code import ErrorCode, error_from_name, kafka_name

MAX_MS: Final = 2**31 - 1
FIN: Final = "fin"
RESET: Final = "reset"
STAY: Final = "stay"
VERBS: Final[dict[str, type[Action]]] = {}
_AT_ONCE: Final = ()


@dataclass(frozen=True)
class Action:
    """An action. A class with a `verb` can be named in faults.

    main           the field that a single value sets
    ends           no action may follow
    usual_point    the default point of a fault with this action
    takes_time     it delays the request, or its response
    needs_answer   it acts on a response, so there has to be one
    """

    verb: ClassVar[str] = ""
    main: ClassVar[str] = ""
    ends: ClassVar[bool] = False
    usual_point: ClassVar[str] = BEFORE_WORK
    takes_time: ClassVar[bool] = False
    needs_answer: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if "verb" in vars(cls):
            VERBS[cls.verb] = cls

    def act(self, on: RequestAtPoint) -> Waits:
        """Act. The next action follows when the result is used up."""
        raise NotImplementedError

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


class RequestAtPoint(Protocol):
    """A request, or a connection before its first one, at the point where a fault fires."""

    def wait(self, ms: int) -> Waits: ...

    def hold(self) -> Waits: ...

    def fail(self, error: Error) -> None:
        """Respond with an error."""

    def throttle(self, ms: int) -> None: ...

    def drop(self) -> None:
        """Send no response."""

    def disconnect(self, action: Disconnect) -> None: ...

    def blackhole(self) -> None: ...

    def change_cluster(self, action: ClusterAction) -> None:
        """Have the action change the cluster, and report it if that is impossible."""

    def change_bytes(self, action: ChangeOfBytes) -> None:
        """Have the action change the bytes of the response when they are written."""

    def coalesce(self, answers: int, within_ms: int) -> None: ...

    def corrupt_batches(self) -> None: ...


@dataclass(frozen=True)
class Error(Action):
    """Respond with an error of Kafka's. `level` is "top" for the request as a whole, "entity" for the parts that match;
    "" means the parts where the API has any. `message` is that of a refused login; "" means Kafka's."""

    verb = "error"
    main = "error"
    needs_answer = True
    error: str
    level: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", _error_name(self.error))
        reading.text(self.message, "'message' of 'error'")
        if self.level not in ("", "top", "entity"):
            raise ValueError(f"'level' is 'top' or 'entity', not {reading.shown(self.level)}")

    @property
    def code(self) -> ErrorCode:
        return error_from_name(self.error)

    def act(self, on: RequestAtPoint) -> Waits:
        on.fail(self)
        return _AT_ONCE

    def to_json(self) -> Any:
        said = super().to_json()
        return self.error if said == {self.verb: self.error} else said

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
    takes_time = True

    def act(self, on: RequestAtPoint) -> Waits:
        return on.wait(self.ms)


@dataclass(frozen=True)
class Throttle(_Timed):
    """Report a throttle time to the client, and mute its connection for that time (KIP-219)."""

    verb = "throttle"
    usual_point = BEFORE_ANSWER
    needs_answer = True

    def act(self, on: RequestAtPoint) -> Waits:
        on.throttle(self.ms)
        return _AT_ONCE


@dataclass(frozen=True)
class Hold(Action):
    """Hold the request at a barrier until `release`."""

    verb = "hold"
    takes_time = True

    def act(self, on: RequestAtPoint) -> Waits:
        return on.hold()


@dataclass(frozen=True)
class Drop(Action):
    """Never send the response; handle the next request of the connection."""

    verb = "drop"
    ends = True
    usual_point = BEFORE_ANSWER
    needs_answer = True

    def act(self, on: RequestAtPoint) -> Waits:
        on.drop()
        return _AT_ONCE


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

    def act(self, on: RequestAtPoint) -> Waits:
        on.disconnect(self)
        return _AT_ONCE


@dataclass(frozen=True)
class Blackhole(Action):
    """Keep the connection open, but read nothing and write nothing from now on, as if the peer's host were gone."""

    verb = "blackhole"
    ends = True

    def act(self, on: RequestAtPoint) -> Waits:
        on.blackhole()
        return _AT_ONCE


@dataclass(frozen=True)
class ClusterAction(Action):
    """A change of the cluster. It is made between two requests, by the methods that users have. `broker` is the broker
    to act on, or to move to; None leaves the choice to the action."""

    main = "broker"
    broker: int | None = None

    def __post_init__(self) -> None:
        if self.broker is not None:
            reading.whole(self.broker, f"'broker' of {self.verb!r}", 0)

    def act(self, on: RequestAtPoint) -> Waits:
        on.change_cluster(self)
        return _AT_ONCE

    def has_target(self, whom: ActionTarget) -> bool:
        """Return True if the action, or the request, names what to change."""
        return True

    def change(self, cluster: Changes, whom: ActionTarget) -> None:
        """Change the cluster. Raises KafkaError or ValueError if that is impossible."""
        raise NotImplementedError


@dataclass(frozen=True)
class PartitionAction(ClusterAction):
    """A change of the partition that matched, or of the named one."""

    topic: str | None = None
    partition: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topic is not None:
            reading.topic(self.topic, f"'topic' of {self.verb!r}")
        if self.partition is not None:
            reading.partition(self.partition, f"'partition' of {self.verb!r}")
            if self.topic is None:
                raise ValueError(f"'partition' of {self.verb!r} needs a 'topic'")

    def has_target(self, whom: ActionTarget) -> bool:
        return self.topic is not None or bool(whom.partitions)

    def change(self, cluster: Changes, whom: ActionTarget) -> None:
        for topic, partition in cluster.partitions(self.topic, self.partition, whom):
            self.change_partition(cluster, topic, partition)

    def change_partition(self, cluster: Changes, topic: str, partition: int) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class MoveLeader(PartitionAction):
    """Make `broker` the leader, or another in-sync replica. Requests parked at the old leader complete."""

    verb = "move_leader"

    def change_partition(self, cluster: Changes, topic: str, partition: int) -> None:
        cluster.move_leader(topic, partition, self.broker)


@dataclass(frozen=True)
class LoseLeader(PartitionAction):
    """Leave the partition without a leader: the leader's process crashes, with all its partitions. No `broker` is
    given."""

    verb = "lose_leader"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.broker is not None:
            raise ValueError("'lose_leader' has no 'broker': it is always the leader")

    def change_partition(self, cluster: Changes, topic: str, partition: int) -> None:
        cluster.lose_leader(topic, partition)


@dataclass(frozen=True)
class ShrinkIsr(PartitionAction):
    """Remove `broker` from the ISR, or all but the leader. A frozen follower stays out; others return once they
    fetch."""

    verb = "shrink_isr"

    def change_partition(self, cluster: Changes, topic: str, partition: int) -> None:
        cluster.shrink_isr(topic, partition, self.broker)


@dataclass(frozen=True)
class MoveCoordinator(ClusterAction):
    """Move the group or transactional id that matched to another coordinator."""

    verb = "move_coordinator"

    def has_target(self, whom: ActionTarget) -> bool:
        return bool(whom.groups or whom.transactional_ids)

    def change(self, cluster: Changes, whom: ActionTarget) -> None:
        cluster.move_coordinators(self.broker, whom)


@dataclass(frozen=True)
class ExpireSessions(ClusterAction):
    """End the sessions of SASL of `user`, or of the client that matched. No `broker` is given: it is those at all
    brokers."""

    verb = "expire_sessions"
    main = "user"
    user: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.text(self.user, "'user' of 'expire_sessions'")
        if self.broker is not None:
            raise ValueError("'expire_sessions' has no 'broker': it is the sessions at all of them")

    def change(self, cluster: Changes, whom: ActionTarget) -> None:
        cluster.expire_sessions(self.user or whom.user)


@dataclass(frozen=True)
class _FollowerAction(PartitionAction):
    """A change of the followers, from now on; `broker` selects one of them."""

    @property
    def behaviour(self) -> Behaviour | None:
        """The behaviour to set; None undoes a freeze."""
        raise NotImplementedError

    def change_partition(self, cluster: Changes, topic: str, partition: int) -> None:
        cluster.set_followers(self.behaviour, topic, partition, self.broker)


@dataclass(frozen=True)
class Freeze(_FollowerAction):
    """Freeze the followers: they fetch nothing."""

    verb = "freeze"

    @property
    def behaviour(self) -> Behaviour:
        return FROZEN


@dataclass(frozen=True)
class Thaw(_FollowerAction):
    """Undo a freeze: the followers behave as before."""

    verb = "thaw"

    @property
    def behaviour(self) -> None:
        return None


@dataclass(frozen=True)
class Lag(_FollowerAction):
    """Let the followers have each record `ms` later."""

    verb = "lag"
    main = "ms"
    ms: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.ms, "'ms' of 'lag'", 0, MAX_LAG_MS)

    @property
    def behaviour(self) -> Behaviour:
        return Behaviour.lagging(self.ms)


@dataclass(frozen=True)
class ThrottleFollowers(_FollowerAction):
    """Limit the followers to so many bytes a second."""

    verb = "throttle_followers"
    main = "bytes_per_s"
    bytes_per_s: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        reading.whole(self.bytes_per_s, "'bytes_per_s'", 1, MAX_BYTES_PER_S)

    @property
    def behaviour(self) -> Behaviour:
        return Behaviour.throttled(self.bytes_per_s)


@dataclass(frozen=True)
class _BrokerAction(ClusterAction):
    """A change of a broker. The default of `broker` is the broker of the request."""

    def change(self, cluster: Changes, whom: ActionTarget) -> None:
        self.change_broker(cluster, whom.broker_id if self.broker is None else self.broker)

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Stop(_BrokerAction):
    """Stop a broker, as `kafka.brokers[n].stop()` does."""

    verb = "stop"

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        cluster.stop(broker_id)


@dataclass(frozen=True)
class Start(_BrokerAction):
    """Start a stopped broker."""

    verb = "start"

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        cluster.start(broker_id)


@dataclass(frozen=True)
class Kill(_BrokerAction):
    """Kill a broker's process, as `kafka.brokers[n].kill()` does."""

    verb = "kill"

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        cluster.kill(broker_id)


@dataclass(frozen=True)
class Pause(_BrokerAction):
    """Pause a broker's process, as `kafka.brokers[n].pause()` does."""

    verb = "pause"

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        cluster.pause(broker_id)


@dataclass(frozen=True)
class Resume(_BrokerAction):
    """Resume a broker's process."""

    verb = "resume"

    def change_broker(self, cluster: Changes, broker_id: int) -> None:
        cluster.resume(broker_id)


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
