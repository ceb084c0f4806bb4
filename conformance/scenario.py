"""A conformance case as plain data: topics, and steps that are done to a cluster one after the other.

Theory   A case says what happens and never what is right: Kafka decides that. So a case can run on Kafka, on fakebroker
         with sockets, and on the core in virtual time. It can be kept in a file.
Units    milliseconds; frames carry their length.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

LOOPBACK = "127.0.0.1"
# Listeners that cases add while a broker runs, and where: a loopback address that nothing else uses.
ADDED = {"OUT": ("127.0.0.97", 29_097), "OTHER": ("127.0.0.97", 29_098)}


@dataclass(frozen=True)
class Topic:
    """A topic of a case, made before its first step. `replicas` are on brokers 1 to N in order, except that the leader
    is the first."""

    name: str
    partitions: int = 1
    replicas: int = 1
    configs: dict[str, str] = field(default_factory=dict)
    leader: int = 1

    @property
    def broker_ids(self) -> list[int]:
        """Return the brokers of its replicas."""
        return sorted(range(1, self.replicas + 1), key=lambda broker: broker != self.leader)

    @property
    def placeholder(self) -> UUID:
        """Stands for the topic's id in frames and transcripts; each cluster has ids of its own."""
        return placeholder(self.name)


def placeholder(topic: str) -> UUID:
    return UUID(bytes=hashlib.sha256(f"topic id of {topic}".encode()).digest()[:16])


@dataclass(frozen=True)
class Send:
    """Frames go out on a connection in one write. The connection is opened, to a listener of a broker, at its first
    use; `host` is the address of the client then, 127.x.y.z, by which ACLs tell clients apart."""

    frames: tuple[bytes, ...]
    conn: str = "a"
    broker: int = 1
    host: str = LOOPBACK
    listener: str = "PLAINTEXT"


@dataclass(frozen=True)
class Settle:
    """Ask something harmless behind what was sent, and note all answers until its answer, or the end of the
    connection. A broker serves a connection in order, so nothing is missed and nothing is waited for in vain."""

    conn: str = "a"
    within_ms: int = 10_000


@dataclass(frozen=True)
class Listen:
    """Note what arrives until `for_ms` have passed. For streams that end in the middle of a frame."""

    for_ms: int
    conn: str = "a"


@dataclass(frozen=True)
class Hear:
    """Note what arrives until there are so many answers, or the connection ends."""

    answers: int
    conn: str = "a"
    within_ms: int = 10_000


@dataclass(frozen=True)
class SaslFinal:
    """Send the client's final message of a SCRAM exchange, after the broker's first. A version of SaslAuthenticate, or
    -1 for a token without a header. `spoil` replaces a pattern in the message."""

    mechanism: str
    user: str
    password: str
    version: int = 2
    spoil: tuple[str, str] | None = None
    extensions: str = ""
    conn: str = "a"
    correlation_id: int = 3


@dataclass(frozen=True)
class Disconnect:
    conn: str = "a"


@dataclass(frozen=True)
class Pause:
    ms: int


@dataclass(frozen=True)
class Freeze:
    """A broker stops fetching: its process is stopped (SIGSTOP), or its followers are frozen."""

    broker: int


@dataclass(frozen=True)
class Play:
    """The case acts for the replicas of a broker until Thaw, by Fetch with its id. The broker itself is frozen, or
    external."""

    broker: int


@dataclass(frozen=True)
class Thaw:
    broker: int


@dataclass(frozen=True)
class MoveLeader:
    """An in-sync replica becomes the leader; done when it says so itself."""

    topic: str
    broker: int
    partition: int = 0


@dataclass(frozen=True)
class StopBroker:
    """A broker other than the first is shut down in order, as an operator does; done when it is gone. A case
    that does not start it again is the last one of its box."""

    broker: int


@dataclass(frozen=True)
class StartBroker:
    """A stopped broker comes back on its port, with its log; done when it takes connections."""

    broker: int


@dataclass(frozen=True)
class MakeTopics:
    """Topics that are made only now: what brokers did in other cases has not moved their leaders."""

    topics: tuple[Topic, ...]


@dataclass(frozen=True)
class KillBroker:
    """A broker is dead at once, without a word (SIGKILL)."""

    broker: int


@dataclass(frozen=True)
class PauseBroker:
    """A broker is paused with all its sockets open (SIGSTOP); it must be resumed before the case ends."""

    broker: int


@dataclass(frozen=True)
class ResumeBroker:
    """A paused broker resumes (SIGCONT)."""

    broker: int


@dataclass(frozen=True)
class CutOff:
    """A broker does not reach the controller any more, only the other brokers; the box must have `has_cuts`."""

    broker: int


@dataclass(frozen=True)
class Join:
    """A broker that was cut off reaches the controller again; at the end of the case, if not before."""

    broker: int


@dataclass(frozen=True)
class DeleteTopic:
    topic: str


@dataclass(frozen=True)
class CatchUp:
    """Wait until a broker knows the earlier decisions. In Kafka the metadata reach it after the response to the request
    that changed them."""

    broker: int = 1


@dataclass(frozen=True)
class SetQuota:
    """Set a quota of a client id, e.g. {"producer_byte_rate": 1024.0}."""

    client_id: str
    quotas: dict[str, float]


@dataclass(frozen=True)
class AwaitIsr:
    """Wait until a partition's in-sync replicas are these."""

    topic: str
    isr: tuple[int, ...]
    partition: int = 0
    within_ms: int = 30_000


@dataclass(frozen=True)
class AwaitPartition:
    """Wait until a broker reports this leader of a partition (-1: none), and these replicas as in sync, and as
    eligible. Raises RuntimeError if that takes too long."""

    topic: str
    leader: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    partition: int = 0
    broker: int = 1
    within_ms: int = 30_000


@dataclass(frozen=True)
class ReadLog:
    """Note the offsets of a partition and its batches as stored, read from a broker when its log is committed."""

    topic: str
    partition: int = 0
    broker: int = 1


@dataclass(frozen=True)
class AwaitCoordinator:
    """Wait until a group has a coordinator that has loaded what it needs; the first time a cluster makes the topic for
    it. RuntimeError if that takes too long."""

    group: str
    broker: int = 1
    within_ms: int = 30_000


@dataclass(frozen=True)
class AwaitGroup:
    """Wait until a group is in a state, "Stable", as ListGroups tells it, and has so many members, as DescribeGroups
    tells it; for what another connection's request has come to. RuntimeError if that is not so in time."""

    group: str
    state: str
    members: int | None = None
    broker: int = 1
    within_ms: int = 10_000


@dataclass(frozen=True)
class AwaitTransaction:
    """Wait until a transaction is in a state, "CompleteCommit", as its coordinator tells it; "" if only the coordinator
    is awaited, which knows it or does not. `settled`: nothing is being ended, whatever the state; `over`: nor is
    anything open. RuntimeError if that is not so in time."""

    transactional_id: str
    state: str = ""
    broker: int = 1
    within_ms: int = 30_000
    settled: bool = False
    over: bool = False


@dataclass(frozen=True)
class ReadTransactions:
    """Note what __transaction_state has of a transactional id, one batch for each record, as if nothing else were
    there. For boxes in which it has one partition."""

    transactional_id: str
    broker: int = 1


Step: TypeAlias = (
    Send
    | Settle
    | Listen
    | Hear
    | SaslFinal
    | Disconnect
    | Pause
    | Freeze
    | Play
    | Thaw
    | MoveLeader
    | StopBroker
    | StartBroker
    | MakeTopics
    | KillBroker
    | PauseBroker
    | CutOff
    | Join
    | ResumeBroker
    | DeleteTopic
    | CatchUp
    | SetQuota
    | AwaitIsr
    | AwaitPartition
    | ReadLog
    | AwaitCoordinator
    | AwaitGroup
    | AwaitTransaction
    | ReadTransactions
)


@dataclass(frozen=True)
class At:
    """The answer with this correlation id comes `ms` after the step that sent it, never earlier, and at most `slack_ms`
    later. Checked on both sides: an early answer is a failure on either."""

    correlation_id: int
    ms: int
    slack_ms: int = 500
    conn: str = "a"


@dataclass(frozen=True)
class Case:
    """name     "group/what", unique; the topics of a case carry names that no other case uses
    why      one line: what is compared, and where Kafka decides it
    box      the cluster it runs on: "one" broker, "alone": one for a case of all topics, "three" brokers, "lag":
             three that shrink the ISR fast, "deaths": three that die, "racks": three in racks a, b and c
             that send consumers to the nearest, "stops": three that cases stop, "groups": one with sessions that
             may be short, "small-groups": such a broker with groups of two that wait for others at first,
             "compacts": one that cleans its logs, "acls": one with an authorizer, "sasl": one with a listener
             SASL_PLAINTEXT, "sasl-sessions": such a broker with sessions that end, "sasl-settings": one with settings
             that have no effect, "stores": one with a listener SSL, "users": one with an authorizer and a listener
             SASL_SSL, or "signed" and "signed-any": with keys of signed tokens
    timed    responses with a promised time
    """

    name: str
    why: str
    steps: tuple[Step, ...]
    topics: tuple[Topic, ...] = ()
    box: str = "one"
    timed: tuple[At, ...] = ()

    @property
    def group(self) -> str:
        return self.name.split("/")[0]
