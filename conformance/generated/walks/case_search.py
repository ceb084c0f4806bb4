"""Plays walks that are cases, many at once, on both sides; what differs is played again, alone, and made smaller.

A difference that does not come back is one of chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from threading import Lock

from conformance.generated.search import signature
from conformance.generated.walks.search import AT_ONCE, MAX_DIFFERENCES, SEED, Difference, HasBoxes, WalksResult
from conformance.generated.walks.transaction_scene import box_of
from conformance.generated.walks.transactional import transaction_walk
from conformance.generated.walks.users import users_walk
from conformance.generated.walks.walk import Walk
from conformance.runner import run_as_far_as_it_goes
from conformance.scenario import Case, Step, Topic
from conformance.security.user_steps import BOX as USERS_BOX
from conformance.suite import Outcome
from conformance.transcripts.compare import Finding, compare, silent_differences
from conformance.transcripts.words import words

# The version of transactions, and how many brokers, by kind. Walks over three have the coordinator for themselves.
TRANSACTIONS = {
    "transactions": (2, 1),
    "transactions-v1": (1, 1),
    "transactions-v0": (0, 1),
    "transactions-three": (2, 3),
    "transactions-three-v1": (1, 3),
}
USERS = "users"
CASE_KINDS = (*TRANSACTIONS, USERS)
_SMALLER_LIMIT_S = 60.0  # of Kafka's own time; a step that waits in vain takes 20 s each time
_plays = count()


class _Run:
    def __init__(self, sides: HasBoxes, seed: int, kind: str, progress: Callable[[WalksResult], None]) -> None:
        self._make, box = _maker(kind)
        self._targets = sides.kafka[box], sides.ours[box]
        self.result = WalksResult(seed, kind)
        self._progress = progress
        self._lock = Lock()
        self._again: list[int] = []

    def play(self, seed: int) -> None:
        """Among others; what differs then is played again later."""
        outcome = self._outcome(seed)
        with self._lock:
            if outcome.unexplained:
                self._again.append(seed)
            else:
                self.result.note(outcome, False)
                self._progress(self.result)

    def play_again(self) -> None:
        """Alone: Kafka asks coordinators for several requests at once, as if all were of the first one's version
        (AddPartitionsToTxnManager)."""
        for seed in self._again:
            outcome = self._outcome(seed)
            self.result.note(outcome, True)
            self._progress(self.result)
            signatures = {signature(finding) for finding in outcome.unexplained}
            if signatures and not signatures & set(self.result.seen) and len(self.result.differences) < MAX_DIFFERENCES:
                smaller = self._smaller(seed, outcome, signatures)
                self.result.differences.append(Difference(min(signatures), seed, Walk(()), smaller))
            self.result.seen.update(signatures)

    def _outcome(self, seed: int, keep: Callable[[int, Step], bool] = lambda index, step: True) -> Outcome:
        topics, case = self._make(seed, f"walk-{next(_plays):07d}")
        case = replace(case, steps=tuple(step for index, step in enumerate(case.steps) if keep(index, step)))
        with self._lock:  # a target's own connections are for one at a time
            for target in self._targets:
                target.create_topics(topics)
        (kafka, kafka_waits), (ours, we_wait) = (run_as_far_as_it_goes(case, target) for target in self._targets)
        said = words(kafka), words(ours)
        family = USERS if self.result.kind == USERS else "transactions"
        compared = Case(f"{family}-walks/{self.result.kind}", "", case.steps, box=case.box)
        findings = compare(compared, *said) + silent_differences(compared.name, kafka, ours)
        if kafka_waits != we_wait:
            findings.append(Finding("the walk waits", kafka_waits, we_wait, None))
        return Outcome(compared, *said, findings, kafka)

    def _smaller(self, seed: int, outcome: Outcome, wanted: set[str]) -> Outcome:
        """Shrink a case: drop pairs of sending and settling that it does not need, as far as time allows."""
        steps = outcome.case.steps
        dropped: set[int] = set()
        limit = self._targets[0].now_s() + _SMALLER_LIMIT_S
        for index in range(len(steps) - 1, -1, -1):
            if type(steps[index]).__name__ != "Send" or self._targets[0].now_s() > limit:
                continue
            without = dropped | {index, index + 1}
            candidate = self._outcome(seed, lambda at, step, without=without: at not in without)  # type: ignore[misc]
            if wanted & {signature(finding) for finding in candidate.unexplained}:
                dropped, outcome = without, candidate
        return outcome


def _maker(kind: str) -> tuple[Callable[[int, str], tuple[Sequence[Topic], Case]], str]:
    """Return what makes a walk of this kind from a seed and a name, and its box."""
    if kind == USERS:
        return users_walk, USERS_BOX
    version, brokers = TRANSACTIONS[kind]

    def make(seed: int, name: str) -> tuple[Sequence[Topic], Case]:
        topic, case = transaction_walk(seed, name, version, brokers)
        return [topic], case

    return make, box_of(version, brokers)


def run_case_walks(
    sides: HasBoxes,
    walks: int,
    seed: int = SEED,
    progress: Callable[[WalksResult], None] = lambda result: None,
    at_once: int = AT_ONCE,
    kind: str = "transactions",
) -> WalksResult:
    """Play so many walks on both sides, or until too many differences are found; the same seed makes the same walks."""
    a_run = _Run(sides, seed, kind, progress)
    is_alone = kind in TRANSACTIONS and TRANSACTIONS[kind][1] > 1
    with ThreadPoolExecutor(1 if is_alone else at_once) as pool:
        for _ in pool.map(a_run.play, range(seed * 1_000_000, seed * 1_000_000 + walks)):
            pass
    a_run.play_again()
    return a_run.result
