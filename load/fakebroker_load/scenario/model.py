"""The model of a scenario, which is data in YAML (reading.py): the requests to send, and the expected responses.

Theory   A scenario is a list of groups. All requests of a group are of one kind, and the group states their expected
         response. The expectation is written before the run and does not depend on the broker. So a broker that answers
         everything wrongly in a consistent way fails.
Units    timeout_ms, pause_ms, ramp_ms are milliseconds; record_bytes counts the value of the one record.
Errors   LoadScenarioError: one sentence that names the group and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from fakebroker_load.arrivals import Arrivals
from fakebroker_load.scenario.answers import NO_ANSWER, OUTCOMES, answers_of, code_of
from fakebroker_load.scenario.batches import NO_COMPRESSION, slips_of_batches
from fakebroker_load.scenario.limits import slips_of_limits
from fakebroker_load.scenario.reads import READ_COMMITTED, READ_UNCOMMITTED, READER, READERS, slips_of_reader
from fakebroker_load.scenario.senders import PRODUCER, RAW, TRANSFORM, slips_of_sender

MAX_REQUESTS = 1_000_000_000  # correlation ids have 31 bits
MAX_TIMEOUT_MS = 600_000
CLIENT_ID = "fakebroker-load"
CLIENTS = (RAW, PRODUCER, TRANSFORM, *READERS)
ONCE, NEVER = WRITTEN = ("once", "never")
DEFAULT_SEND_DELAY_LIMIT_MS = 2_000
DEFAULT_LATENESS_LIMIT_MS = 500
COUNTS = (
    *("partitions", "connections", "requests_per_connection", "pipelined", "per_transaction"),
    *("fetch_bytes", "session_ms", "partitions_per_request", "records_per_batch"),
)
SIZES = (
    *("fail_every", "start_ms", "pause_ms", "ramp_ms", "record_bytes"),
    *("records_per_s", "until_ms", "vanish_every", "min_answers_per_s", "headers"),
)


class LoadScenarioError(Exception):
    """The scenario is invalid; the message is for the user. `path` is the place: keys and positions, from the top."""

    def __init__(self, sentence: str, *path: str | int) -> None:
        super().__init__(sentence)
        self.path = path


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Requests of one kind. Each connection sends to one partition, or to several of one leader."""

    name: str
    topic: str
    acks: int
    expect: str  # the error's name in Kafka, "NONE" included, or "no answer"
    waits: bool = False  # the response must not come before the timeout is over
    due_ms: tuple[int, int] | None = None  # after the start: when the event that the responses wait for happens
    partitions: int = 1
    connections: int = 1
    requests_per_connection: int = 1
    pipelined: int = 1  # most unanswered requests of a connection: 1 is no pipelining
    timeout_ms: tuple[int, int] = (30_000, 30_000)  # drawn from this range, both ends included
    start_ms: int = 0  # after the common start: the first request; the zero of ramp_ms and arrivals
    pause_ms: int = 0  # from a response's due time to the next request
    ramp_ms: int = 0  # the connections' first requests are spread over this time
    record_bytes: int = 100
    arrivals: Arrivals | None = None  # the open model: requests come, whatever the responses; None: closed
    also: Mapping[str, float] = field(default_factory=dict)  # other right answers: at most so many of 100
    written: str | None = None  # once or never: what the log must have, whatever the response; None: by the response
    client_id: str = CLIENT_ID
    client: str = RAW  # one of CLIENTS; producer: Kafka's own, of that generation, one for each connection
    generation: str = "4.3"
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the producer: by Kafka's names
    source: str | None = None  # of a transform: the topic that it reads, partition by partition
    per_transaction: int = 10  # records
    beside: Mapping[str, str] = field(default_factory=dict)  # more topics of each request; the answers, as `expect`
    partitions_per_request: int = 1  # of each topic: led by one broker
    records_per_batch: int = 1
    compression: str = NO_COMPRESSION  # of batches: by Kafka's name
    headers: int = 0  # of each record
    idempotent: bool = False  # each connection has a producer id of its own, and numbers its batches
    transaction: str | None = None  # of each connection, all its requests: it ends with commit or abort; None: none
    fail_every: int = 0  # every n-th transaction fails: by abort, or by death of its producer, in turn; 0: none
    isolation: str = READ_UNCOMMITTED  # of a reader or a member: Kafka's isolation.level
    records_per_s: int = 0  # of each reader, at most; 0: no limit
    fetch_bytes: int = 1 << 20  # at most, of a Fetch
    until_ms: int = 0  # after the start: the latest end of a reader; 0: when it has all records
    session_ms: int = 6_000  # of a member: its session timeout
    life_ms: tuple[int, int] | None = None  # of a member: lifetime, drawn; then another one joins; None: no end
    vanish_every: int = 0  # every n-th life ends without LeaveGroup; 0: none
    throttled: bool | None = None  # true: some responses must be throttled; false: none may; None: either
    bytes_per_s: tuple[int, int] | None = None  # of values of the whole group, from first sent to last answered
    latency_limit_ms: Mapping[str, float] = field(default_factory=dict)  # by percentile: from intended to answered
    min_answers_per_s: int = 0  # of the whole group, from first sent to last answered

    def __post_init__(self) -> None:
        low, high = self.timeout_ms
        for key, broken, text in (
            ("name", not self.name or not self.topic, "needs a name and a topic"),
            ("acks", self.acks not in (-1, 0, 1), f"has acks {self.acks}, which is not one of -1, 0 and 1"),
            (
                "expect",
                (self.acks == 0) != (self.expect == NO_ANSWER),
                f'acks 0 goes with expect = "{NO_ANSWER}", and nothing else does',
            ),
            ("also", self.acks == 0 and bool(self.also), "has acks 0, to which there is no other answer: also"),
            ("client", self.client not in CLIENTS, f"has client {self.client!r}, which is {' or '.join(CLIENTS)}"),
            ("written", self.written not in (None, *WRITTEN), f"has written, which is {' or '.join(WRITTEN)}"),
            (
                "bytes_per_s",
                self.bytes_per_s is not None and not 0 <= self.bytes_per_s[0] <= self.bytes_per_s[1],
                "has bytes_per_s, and it is a number or a range of two that rises",
            ),
            ("waits", self.waits and self.acks != -1, "waits, which only acks -1 does"),
            (
                "timeout_ms",
                not 0 <= low <= high <= MAX_TIMEOUT_MS,
                f"has timeout_ms {low} to {high}; both must rise, in 0 to {MAX_TIMEOUT_MS}",
            ),
            ("due_ms", self.waits and self.due_ms is not None, "has waits or due_ms, and not both"),
            (
                "due_ms",
                self.due_ms is not None and not 0 <= self.due_ms[0] <= self.due_ms[1],
                "has due_ms, and it is a time after the start or a range of two that rises",
            ),
            *((key, getattr(self, key) < 1, f"has a count below 1: {key}") for key in COUNTS),
            *((key, getattr(self, key) < 0, f"has a negative time or size: {key}") for key in SIZES),
            (
                "arrivals",
                self.arrivals is not None and (self.pause_ms, self.ramp_ms, self.pipelined) != (0, 0, 1),
                "has arrivals, and with them neither pause_ms, ramp_ms nor pipelined",
            ),
            (
                "record_bytes",
                self.record_bytes > 1_000_000,
                "has records above 1,000,000 bytes, which a topic refuses by default",
            ),
        ):
            if broken:
                raise LoadScenarioError(f"The group {self.name!r} {text}.", key)
        self.expected_error()
        slips = slips_of_sender(self), slips_of_batches(self), slips_of_reader(self), slips_of_limits(self)
        for key, text in chain.from_iterable(slips):
            raise LoadScenarioError(f"The group {self.name!r} {text}.", key)
        for name in self.also:
            try:
                answers_of(name)
            except ValueError:
                raise LoadScenarioError(
                    f"The group {self.name!r} has also {name!r}, which is neither an error of Kafka's nor one of "
                    f"{', '.join(OUTCOMES)}.",
                    *("also", name),
                ) from None

    def expected_error(self) -> int | None:
        """Return the error code of each response. None: there must be no response, or see right_answers."""
        try:
            return code_of(self.expect)
        except ValueError as error:
            raise LoadScenarioError(
                f"The group {self.name!r} expects an error that Kafka does not have: {self.expect}.", "expect"
            ) from error

    def right_answers(self) -> list[str]:
        """Return the right answers besides expected_error(): codes of errors, and outcomes, as text."""
        named = [*([] if self.expect == NO_ANSWER else [self.expect]), *self.also]
        expected = self.expected_error()
        return [answer for name in named for answer in answers_of(name) if answer != str(expected)]

    @property
    def requests(self) -> int:
        return self.connections * self.requests_per_connection

    @property
    def expected(self) -> dict[str, int | None]:
        """Return the error code of each topic of a request."""
        return {self.topic: self.expected_error(), **{topic: code_of(name) for topic, name in self.beside.items()}}

    @property
    def is_wide(self) -> bool:
        """Return True if a request goes to several partitions."""
        return bool(self.beside) or self.partitions_per_request > 1

    @property
    def records_per_request(self) -> int:
        return len(self.expected) * self.partitions_per_request * self.records_per_batch

    @property
    def records(self) -> int:
        """Return how many records are sent: each has a row, and is judged."""
        return self.requests * self.records_per_request


@dataclass(frozen=True, slots=True)
class LoadScenario:
    name: str
    groups: tuple[RequestGroup, ...]
    about: str = ""
    brokers: int = 1  # at least: with --control each topic has this many replicas
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by topic: settings by Kafka's name
    send_delay_limit_ms: int = DEFAULT_SEND_DELAY_LIMIT_MS  # of each group: limit of the 99th percentile
    lateness_limit_ms: int = DEFAULT_LATENESS_LIMIT_MS  # of each response: limit, counted from its due time
    followers: tuple[Mapping[str, Any], ...] = ()  # as PUT /v1/followers takes them, each with its topic
    assignments: Mapping[str, Any] = field(default_factory=dict)  # by topic: broker ids of each partition, leader first
    actions: tuple[Mapping[str, Any], ...] = ()  # on the cluster, during the load (actions.py)

    def __post_init__(self) -> None:
        names = [group.name for group in self.groups]
        if not self.name or not names:
            raise LoadScenarioError("A scenario needs a name and at least one group.")
        if len(set(names)) < len(names):
            raise LoadScenarioError(f"The scenario {self.name!r} has two groups of one name.")
        if self.brokers < 1:
            raise LoadScenarioError(
                f"The scenario {self.name!r} needs 1 broker or more, not {self.brokers}.", "brokers"
            )
        for key in ("send_delay_limit_ms", "lateness_limit_ms"):
            if getattr(self, key) < 0:
                raise LoadScenarioError(f"The scenario {self.name!r} has a negative time: {key}.", key)
        for number, group in enumerate(self.groups):
            if group.client in READERS:
                self._check_read(group, number)
        for topic in self.configs:
            if topic not in self.topics:
                raise LoadScenarioError(
                    f"configs names the topic {topic!r}, to which no group sends.", "configs", topic
                )
        for number, rule in enumerate(self.followers):
            if rule.get("topic") not in self.topics:
                raise LoadScenarioError(
                    f"A rule of followers needs a topic to which a group sends, not {rule.get('topic')!r}.",
                    "followers",
                    number,
                )
        for topic, partitions in self.assignments.items():
            if topic not in self.topics:
                raise LoadScenarioError(
                    f"assignments names the topic {topic!r}, to which no group sends.", "assignments", topic
                )
            if len(partitions) < self.topics[topic]:
                raise LoadScenarioError(
                    f"assignments has {len(partitions)} partitions of the topic {topic!r}, "
                    f"and groups send to {self.topics[topic]}.",
                    "assignments",
                    topic,
                )
        if self.requests > MAX_REQUESTS:
            raise LoadScenarioError(
                f"The scenario {self.name!r} has {self.requests:,} requests; at most {MAX_REQUESTS:,} are allowed."
            )

    def _check_read(self, group: RequestGroup, number: int) -> None:
        sending = (other for other in self.groups if other.topic == group.topic and other.client not in READERS)
        sent = max((other.partitions for other in sending), default=0)
        key, text = "topic", ""
        if sent < group.partitions:
            text = f"reads {group.partitions} partitions of the topic {group.topic!r}, and groups send to {sent}"
        elif any(group.topic in other.expected and other.is_wide for other in self.groups):
            text = f"reads the topic {group.topic!r}, to which requests of several partitions go"
        elif group.topic in self.transactional and (group.client, group.isolation) != (READER, READ_COMMITTED):
            text = "reads a topic that is written in transactions: that takes client: reader, isolation: read_committed"
        if text:
            raise LoadScenarioError(f"The group {group.name!r} {text}.", "groups", number, key)

    def records_to(self, topic: str, partition: int) -> int:
        """Return how many records are sent there, if each request goes to one partition."""
        return sum(
            group.requests_per_connection
            * group.records_per_batch
            * len(range(partition, group.connections, group.partitions))
            for group in self.groups
            if group.topic == topic and group.client not in READERS and partition < group.partitions
        )

    @property
    def requests(self) -> int:
        return sum(group.requests for group in self.groups)

    @property
    def records(self) -> int:
        return sum(group.records for group in self.groups)

    @property
    def has_needs(self) -> bool:
        """Return True if the control has to set it up."""
        return bool(self.configs or self.followers or self.assignments or self.actions or self.transactional)

    @property
    def has_readers(self) -> bool:
        return any(group.client in READERS for group in self.groups)

    @property
    def connections(self) -> int:
        return sum(group.connections for group in self.groups)

    @property
    def replicated(self) -> list[str]:
        """Return the topics that have followers after the setup."""
        one = {topic for topic, given in self.assignments.items() if all(len(ids) == 1 for ids in given)}
        return [topic for topic in self.topics if (topic in self.assignments or self.brokers > 1) and topic not in one]

    @property
    def frozen(self) -> set[str]:
        """Return the topics of which each partition has a frozen follower from the start to the end."""
        rules: dict[str, set[Any]] = {}
        for rule in self.followers:
            is_everywhere = "partition" not in rule and self._follows(rule.get("broker"), rule["topic"])
            rules.setdefault(str(rule["topic"]), set()).add(rule.get("behaviour") if is_everywhere else None)
        return set() if self.actions else {topic for topic, behaviours in rules.items() if behaviours == {"frozen"}}

    def _follows(self, broker: int | None, topic: str) -> bool:
        """Return True for a follower of all partitions; None stands for all followers."""
        return broker is None or all(broker in replicas[1:] for replicas in self.assignments.get(topic, [()]))

    @property
    def transactional(self) -> set[str]:
        """Return the topics that are written in transactions."""
        of_raw = {topic for group in self.groups if group.transaction is not None for topic in group.expected}
        return of_raw | {group.topic for group in self.groups if group.client == TRANSFORM}

    @property
    def topics(self) -> dict[str, int]:
        """Return each topic with the number of partitions that it needs."""
        needed: dict[str, int] = {}
        for group in self.groups:
            for topic in (*group.expected, group.source):
                if topic is not None:
                    needed[topic] = max(group.partitions, needed.get(topic, 0))
        return needed
