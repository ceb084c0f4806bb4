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

from conformance.generated.search import error_codes, signature
from conformance.generated.walks.classic import classic_walk
from conformance.generated.walks.play import Player
from conformance.generated.walks.walk import GROUP, PARTITIONS, TOPIC, Walk
from conformance.group_frames import DESCRIBE_GROUPS, FIND_COORDINATOR, describe_groups, find_coordinator
from conformance.scenario import Case, Topic
from conformance.suite import Outcome
from conformance.targets.target import Target, ask
from conformance.targets.wire import Connection
from conformance.transcripts.compare import compare, silent_differences
from conformance.transcripts.words import words

WALKS = 600
SEED = 1
BOX = "groups"
AT_ONCE = 12
PATIENT = 10.0
_START_LIMIT_S = 60.0
MAX_DIFFERENCES = 10
_groups = count()


class Boxes(Protocol):
    """The clusters of one side, by the name of the box."""

    def __getitem__(self, box: str, /) -> Target: ...


class HasBoxes(Protocol):
    """Both sides."""

    @property
    def kafka(self) -> Boxes: ...
    @property
    def ours(self) -> Boxes: ...


@dataclass(frozen=True)
class Difference:
    """What differs, and the smallest walk that was found to show it."""

    signature: str
    seed: int
    walk: Walk
    outcome: Outcome


@dataclass
class WalksResult:
    """`answers` by API and version, `codes` by API and error code, of Kafka; `repeated` were played with patience."""

    seed: int
    walks: int = 0
    repeated: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)  # by signature

    def summary(self) -> str:
        kinds = {code for _, code in self.codes}
        return (
            f"{self.walks} walks, {self.answers.total()} answers to {len(self.answers)} versions of APIs, "
            f"{len(self.codes)} pairs of API and error code ({len(kinds)} codes), {self.repeated} played again slowly, "
            f"{len(self.differences)} differences without a reason"
        )


class _Run:
    def __init__(
        self, sides: HasBoxes, seed: int, progress: Callable[[WalksResult], None], most_differences: int
    ) -> None:
        self._most_differences = most_differences
        self.result = WalksResult(seed)
        self._progress = progress
        self._lock = Lock()
        self._targets: tuple[Target, Target] = (sides.kafka[BOX], sides.ours[BOX])
        for target in self._targets:
            _prepare(target)

    def play(self, seed: int) -> None:
        if len(self.result.differences) >= self._most_differences:
            return
        walk = classic_walk(seed)
        outcome = self._outcome(walk, 1.0)
        repeated = bool(outcome.unexplained)
        if repeated:
            outcome = self._outcome(walk, PATIENT)
        with self._lock:
            self._note(outcome, repeated)
            found = {signature(finding) for finding in outcome.unexplained}
            is_new = bool(found) and not found & set(self.result.seen)
            self.result.seen.update(found)
        if is_new:
            first = signature(outcome.unexplained[0])
            difference = Difference(first, seed, *self._smaller(walk, outcome, first))
            with self._lock:
                self.result.differences.append(difference)

    def _outcome(self, walk: Walk, patience: float) -> Outcome:
        kafka, ours = (Player(target, _fresh_group(), patience).play(walk) for target in self._targets)
        case = Case("walks/classic", "", ())
        said = words(kafka), words(ours)
        return Outcome(case, *said, compare(case, *said) + silent_differences(case.name, kafka, ours), kafka)

    def _smaller(self, walk: Walk, outcome: Outcome, wanted: str) -> tuple[Walk, Outcome]:
        index = 0
        while index < len(walk.steps):
            candidate = walk.without(index)
            found = self._outcome(candidate, PATIENT)
            if wanted in map(signature, found.unexplained):
                walk, outcome = candidate, found
            else:
                index += 1
        return walk, outcome

    def _note(self, outcome: Outcome, repeated: bool) -> None:
        result = self.result
        result.walks += 1
        result.repeated += repeated
        for entry in outcome.kafka:
            for answer in entry.get("answers", ()):
                result.answers[answer["to"]] += 1
                result.codes.update({(answer["to"].split(" ")[0], code) for code in error_codes(answer["says"])})
        self._progress(result)


def run_walks(
    sides: HasBoxes,
    walks: int,
    seed: int = SEED,
    progress: Callable[[WalksResult], None] = lambda result: None,
    at_once: int = AT_ONCE,
    most_differences: int = MAX_DIFFERENCES,
) -> WalksResult:
    """So many walks on both sides, or until so many differences are found; the same seed makes the same walks."""
    run = _Run(sides, seed, progress, most_differences)
    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(run.play, range(seed * 1_000_000, seed * 1_000_000 + walks)):
            pass
    return run.result


def _prepare(target: Target) -> None:
    """The topic is there, and every partition of __consumer_offsets has its coordinator."""
    if not target.topic_ids([TOPIC]).get(TOPIC):
        target.create_topics([Topic(TOPIC, PARTITIONS)])
    names = [f"anybody-{number}" for number in range(400)]
    limit = target.now_s() + _START_LIMIT_S
    connection = target.connect(1)
    try:
        while not (_all_found(connection, target, names) and _all_described(connection, target, names)):
            if target.now_s() > limit:
                raise RuntimeError(f"not all coordinators are there after {_START_LIMIT_S:.0f} s")
            target.pause(50)
    finally:
        connection.close()


def _all_found(connection: Connection, target: Target, names: list[str]) -> bool:
    answer = ask(connection, target, FIND_COORDINATOR, 6, find_coordinator(*names))
    return not any(each.error_code for each in answer.coordinators)


def _all_described(connection: Connection, target: Target, names: list[str]) -> bool:
    answer = ask(connection, target, DESCRIBE_GROUPS, 5, describe_groups(names, version=5))
    return not any(each.error_code for each in answer.groups)


def _fresh_group() -> str:
    name = f"walk-{hashlib.sha256(str(next(_groups)).encode()).hexdigest()[:8]}"
    assert len(name) == len(GROUP)
    return name
