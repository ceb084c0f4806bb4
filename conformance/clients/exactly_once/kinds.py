"""The kinds of runs with programs that work exactly once, on Apache Kafka and on fakebroker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from conformance.clients.exactly_once.brokers import LEADERS, strikes
from conformance.clients.exactly_once.chain import SILENT_S, Chain, Outcome
from conformance.clients.exactly_once.deaths import RESTARTS, Markers, Strike, deaths
from conformance.clients.exactly_once.on_target import OnTarget
from conformance.clients.exactly_once.points import POINTS
from conformance.clients.exactly_once.proxy import Proxy
from conformance.clients.exactly_once.workers import Workers
from conformance.clients.process import Broken
from conformance.clients.wire import Wire, check
from conformance.scenario import Topic
from conformance.targets.target import FakeTarget, KafkaTarget

_UPDATE_FEATURES, _ANY_DOWNGRADE = 57, 3
_PATIENT_S = 90.0  # a client may well wait for a session to end, and for a broker to come back
_RESTART_S = (
    75.0  # a restart, and then more than any timeout of the programs: a program that is silent for so long hangs
)
_LONG_S = 1_800.0
_CONFIGS = {"retention.ms": "-1", "min.insync.replicas": "2"}  # records have old timestamps


@dataclass
class Result:
    """The result of one client on one cluster. `broken` says why it did not come to its end; `notes` are
    observations."""

    outcomes: list[Outcome] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    broken: str = ""
    took_s: float = 0.0

    @property
    def wrong(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.is_right]


@dataclass(frozen=True)
class Play:
    """A client's program, the cluster, and an unused prefix of topics."""

    command: tuple[Sequence[str], Path]
    cluster: OnTarget
    proxy: Proxy
    name: str

    def chain(self, silent_s: float = SILENT_S, limit_s: float = _LONG_S) -> Chain:
        chain = Chain(self.command, self.proxy, self.name, silent_s, limit_s)
        self._create(chain.topics)
        return chain

    def workers(self) -> Workers:
        workers = Workers(self.command, self.proxy, self.name)
        self._create(workers.topics)
        return workers

    def _create(self, topics: dict[str, int]) -> None:
        self.cluster.target.create_topics([Topic(name, count, 3, _CONFIGS) for name, count in topics.items()])
        self.cluster.make_internal_topics()


def _programs_die(play: Play, result: Result) -> None:
    result.outcomes = play.chain().crash(POINTS)


def _brokers_go(play: Play, result: Result) -> None:
    chain = play.chain(_RESTART_S)  # Kafka's brokers take seconds to start
    result.outcomes = chain.strike(list(strikes(play.cluster, chain.outputs)))


def _coordinator_restarts(play: Play, result: Result) -> None:
    chain = play.chain(_RESTART_S)
    what = f"{LEADERS[1]} stops and starts"

    def whole() -> Iterator[Strike]:
        for strike in strikes(play.cluster, chain.outputs):
            if strike[1] == what and strike[0] in RESTARTS:
                play.cluster.await_whole((*chain.topics.items(), *play.cluster.internal.items()))
                yield strike

    result.outcomes = chain.strike(whole())


def _brokers_are_killed(play: Play, result: Result) -> None:
    chain = play.chain(_PATIENT_S)
    with closing(deaths(play.cluster, chain)) as strikes:
        result.outcomes = chain.strike(strikes)


def _marks_wait(play: Play, result: Result) -> None:
    chain = play.chain(_PATIENT_S)
    markers = Markers(play.cluster, chain)
    result.notes = markers.notes
    try:
        result.outcomes = chain.strike(markers.strikes())
    finally:
        markers.heal()


def _workers_come_and_go(play: Play, result: Result) -> None:
    result.outcomes = play.workers().run()


@dataclass(frozen=True)
class Kind:
    """`on_kafka`: it is done there too, unless it is told otherwise."""

    name: str
    run: Callable[[Play, Result], None]
    on_kafka: bool = True


KINDS = (
    Kind("programs crash", _programs_die),
    Kind("workers join and crash", _workers_come_and_go),
    Kind(
        "leaders move and restart", _brokers_go, on_kafka=False
    ),  # 72 times, and there a broker takes seconds to stop and start
    Kind("the group coordinator restarts", _coordinator_restarts),
    Kind("brokers are killed", _brokers_are_killed),
    Kind("transaction markers are delayed", _marks_wait),  # the last one: it leaves the replicas elsewhere
)


def play(
    kind: Kind,
    target: KafkaTarget | FakeTarget,
    command: tuple[Sequence[str], Path],
    name: str,
    version: int,
) -> Result:
    """Run one kind on a target of the box "exactly-once", with this version of transactions."""
    result = Result()
    began = time.monotonic()
    try:
        set_version(target.bootstrap_servers, version)
        for broker in target.endpoints:
            target.catch_up(broker)
        with Proxy(target.bootstrap_servers) as proxy:
            kind.run(Play(command, OnTarget(target), proxy, name), result)
    except (Broken, RuntimeError, TimeoutError, OSError) as how:
        result.broken = str(how) or repr(how)
    result.took_s = time.monotonic() - began
    return result


def set_version(bootstrap_servers: str, version: int) -> None:
    """Set the version of transactions (the feature transaction.version). Raises RuntimeError."""
    update = {"feature": "transaction.version", "max_version_level": version, "upgrade_type": _ANY_DOWNGRADE}
    with Wire(bootstrap_servers) as wire:
        values = {"timeout": timedelta(seconds=10), "feature_updates": [update], "validate_only": False}
        answer = wire.ask(bootstrap_servers.split(",")[0], _UPDATE_FEATURES, 1, values)
        check(answer.error_code, f"transaction.version={version}")
        for result in answer.results:
            check(result.error_code, f"transaction.version={version}")
