"""Random walks on both sides, many at once, and what differs made smaller.

Theory   Walks do not touch each other, so they are played in some threads; most of the time each waits. A walk that
         differs is played again with more patience: a busy machine may have swapped two requests of two connections.
         If it differs still, steps are left out as long as it shows the same difference.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Protocol

from conformance.awaited_groups import await_coordinator
from conformance.generated.search import error_codes, signature
from conformance.generated.walks.classic import classic_walk
from conformance.generated.walks.consumer import consumer_walk
from conformance.generated.walks.play import Player
from conformance.generated.walks.rounds import ROUND_BOX, Round, make_round, play_round
from conformance.generated.walks.walk import GROUP, PARTITIONS, TOPIC, Walk
from conformance.group_frames import DESCRIBE_GROUPS, FIND_COORDINATOR, describe_groups, find_coordinator
from conformance.scenario import AwaitCoordinator, Case, Topic
from conformance.suite import Outcome
from conformance.targets.target import Target, ask
from conformance.targets.wire import Connection
from conformance.transcripts.compare import compare, silent_differences
from conformance.transcripts.recording import Recording
from conformance.transcripts.words import words

WALKS = 600
THREE = "three"  # walks over three brokers
# In a whole run, which is not to take all day.
WALKS_OF = {
    "classic": 200,
    "consumer": 150,
    THREE: 24,
    "transactions": 60,
    "transactions-v1": 60,
    "transactions-v0": 20,
    "transactions-three": 12,
    "transactions-three-v1": 12,
    "users": 40,
    "deaths": 40,  # in five rounds
}
SEED = 1
BOX = "groups"
# What makes walks, by their kind, and the box that they go to.
KINDS: dict[str, tuple[Callable[[int], Walk], str]] = {
    "classic": (classic_walk, BOX),
    "consumer": (consumer_walk, "consumer-groups"),
}
AT_ONCE = 12
PATIENT = 10.0
_START_LIMIT_S = 60.0
MAX_DIFFERENCES = 10
_groups = count()


class Boxes(Protocol):
    """The clusters of one side, by the name of the box."""

    def __getitem__(self, box: str, /) -> Target: ...


class HasBoxes(Protocol):
    """The boxes of both sides."""

    @property
    def kafka(self) -> Boxes: ...
    @property
    def ours(self) -> Boxes: ...


@dataclass(frozen=True)
class Difference:
    """A difference, and the smallest walk that was found to show it."""

    signature: str
    seed: int
    walk: Walk
    outcome: Outcome


@dataclass
class WalksResult:
    """`answers` by API and version, `codes` by API and error code, of Kafka; `repeated` were played with patience."""

    seed: int
    kind: str = "classic"
    walks: int = 0
    repeated: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)  # by signature

    def note(self, outcome: Outcome, repeated: bool) -> None:
        self.walks += 1
        self.repeated += repeated
        for entry in outcome.kafka:
            for answer in entry.get("answers", ()):
                self.answers[answer["to"]] += 1
                self.codes.update({(answer["to"].split(" ")[0], code) for code in error_codes(answer["says"])})

    def summary(self) -> str:
        kinds = {code for _, code in self.codes}
        return (
            f"{self.walks} walks, {self.answers.total()} responses to {len(self.answers)} versions of APIs, "
            f"{len(self.codes)} pairs of API and error code ({len(kinds)} codes), {self.repeated} repeated, "
            f"{len(self.differences)} differences without a reason"
        )


class _Run:
    def __init__(
        self, sides: HasBoxes, seed: int, kind: str, progress: Callable[[WalksResult], None], most_differences: int
    ) -> None:
        self._most_differences = most_differences
        self.result = WalksResult(seed, kind)
        self._progress = progress
        self._lock = Lock()
        self._make, box = KINDS[kind]
        self._targets: tuple[Target, Target] = (sides.kafka[box], sides.ours[box])
        for target in self._targets:
            _prepare(target)

    def play(self, seed: int) -> None:
        if len(self.result.differences) >= self._most_differences:
            return
        walk = self._make(seed)
        outcome = self._outcome(walk, 1.0)
        repeated = bool(outcome.unexplained)
        if repeated:
            outcome = self._outcome(walk, PATIENT)
        with self._lock:
            self.result.note(outcome, repeated)
            self._progress(self.result)
            signatures = {signature(finding) for finding in outcome.unexplained}
            is_new = bool(signatures) and not signatures & set(self.result.seen)
            self.result.seen.update(signatures)
        if is_new:
            first = signature(outcome.unexplained[0])
            difference = Difference(first, seed, *self._smaller(walk, outcome, first))
            with self._lock:
                self.result.differences.append(difference)

    def _outcome(self, walk: Walk, patience: float) -> Outcome:
        kafka, ours = (Player(target, _fresh_group(), patience).play(walk) for target in self._targets)
        return _outcome(self.result.kind, kafka, ours)

    def _smaller(self, walk: Walk, outcome: Outcome, wanted: str) -> tuple[Walk, Outcome]:
        index = 0
        while index < len(walk.steps):
            candidate = walk.without(index)
            candidate_outcome = self._outcome(candidate, PATIENT)
            if wanted in map(signature, candidate_outcome.unexplained):
                walk, outcome = candidate, candidate_outcome
            else:
                index += 1
        return walk, outcome


def run_walks(
    sides: HasBoxes,
    walks: int,
    seed: int = SEED,
    progress: Callable[[WalksResult], None] = lambda result: None,
    at_once: int = AT_ONCE,
    most_differences: int = MAX_DIFFERENCES,
    kind: str = "classic",
) -> WalksResult:
    """Play so many walks on both sides, or until so many differences are found; the same seed makes the same walks."""
    run = _Run(sides, seed, kind, progress, most_differences)
    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(run.play, range(seed * 1_000_000, seed * 1_000_000 + walks)):
            pass
    return run.result


def run_rounds(
    sides: HasBoxes,
    walks: int,
    seed: int = SEED,
    progress: Callable[[WalksResult], None] = lambda result: None,
    at_once: int = AT_ONCE,
    most_differences: int = MAX_DIFFERENCES,
) -> WalksResult:
    """Play at least so many walks in rounds over three brokers (`rounds.py`), or until so many differences are
    found."""
    result = WalksResult(seed, THREE)
    targets = (sides.kafka[ROUND_BOX], sides.ours[ROUND_BOX])
    for target in targets:
        _prepare(target, moves=True)
        await_coordinator(target, AwaitCoordinator("warm"))
    with ThreadPoolExecutor(at_once) as pool:
        for number in count(seed * 1_000):
            if result.walks >= walks or len(result.differences) >= most_differences:
                return result
            a_round = make_round(number)
            outcomes = _of_round(a_round, targets, pool, 1.0)
            repeated = any(outcome.unexplained for outcome in outcomes)
            if repeated:
                outcomes = _of_round(a_round, targets, pool, PATIENT / 2)
            for walk_seed, parts, outcome in zip(a_round.seeds, a_round.walks, outcomes, strict=True):
                result.note(outcome, repeated and bool(outcome.unexplained))
                signatures = {signature(finding) for finding in outcome.unexplained}
                if signatures and not signatures & set(result.seen):
                    whole = Walk(tuple(step for part in parts for step in part.steps))
                    result.differences.append(Difference(min(signatures), walk_seed, whole, outcome))
                result.seen.update(signatures)
            progress(result)
    return result


def _of_round(
    a_round: Round, targets: tuple[Target, Target], pool: ThreadPoolExecutor, patience: float
) -> list[Outcome]:
    groups = [_fresh_group() for _ in a_round.walks]
    recordings = [play_round(a_round, target, groups, pool, patience) for target in targets]
    return [_outcome(THREE, kafka, ours) for kafka, ours in zip(*recordings, strict=True)]


def _outcome(kind: str, kafka: Recording, ours: Recording) -> Outcome:
    case = Case(f"walks/{kind}", "", ())
    said = words(kafka), words(ours)
    return Outcome(case, *said, compare(case, *said) + silent_differences(case.name, kafka, ours), kafka)


def _prepare(target: Target, moves: bool = False) -> None:
    """The topic is there, and every partition of __consumer_offsets has its coordinator; broker 1 is that of all, if
    `moves`: else the cluster has no other."""
    if not target.topic_ids([TOPIC]).get(TOPIC):
        target.create_topics([Topic(TOPIC, PARTITIONS)])
    names = [f"anybody-{number}" for number in range(400)]
    connection = target.connect(1)
    try:
        _await_all(_all_found, connection, target, names)
        if moves:
            target.move_leader("__consumer_offsets", 0, 1)
        _await_all(_all_described, connection, target, names)
    finally:
        connection.close()


def _await_all(
    are_there: Callable[[Connection, Target, list[str]], bool], connection: Connection, target: Target, names: list[str]
) -> None:
    limit = target.now_s() + _START_LIMIT_S
    while not are_there(connection, target, names):
        if target.now_s() > limit:
            raise RuntimeError(f"not all coordinators are there after {_START_LIMIT_S:.0f} s")
        target.pause(50)


def _all_found(connection: Connection, target: Target, names: list[str]) -> bool:
    answer = ask(connection, target, FIND_COORDINATOR, 6, find_coordinator(*names))
    return not any(coordinator.error_code for coordinator in answer.coordinators)


def _all_described(connection: Connection, target: Target, names: list[str]) -> bool:
    answer = ask(connection, target, DESCRIBE_GROUPS, 5, describe_groups(names, version=5))
    return not any(group.error_code for group in answer.groups)


def _fresh_group() -> str:
    name = f"walk-{hashlib.sha256(str(next(_groups)).encode()).hexdigest()[:8]}"
    assert len(name) == len(GROUP)
    return name
