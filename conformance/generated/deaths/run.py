"""Plays rounds of plans on both sides at once, and tells what differs.

Theory   A round that differs is played again, on topics of its own: on a busy machine a broker that lives may lose its
         session. What differs then too is told.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count

from conformance.generated.deaths.judge import judge, largest_difference_ms, wrong_fencing
from conformance.generated.deaths.kept import KeptRound, digest
from conformance.generated.deaths.make import PLANS, make_round
from conformance.generated.deaths.plan import Round
from conformance.generated.deaths.play import RoundPlayer
from conformance.generated.search import signature
from conformance.generated.walks.search import MAX_DIFFERENCES, SEED, Difference, HasBoxes, WalksResult
from conformance.generated.walks.walk import Walk
from conformance.scenario import Case
from conformance.suite import Outcome
from conformance.targets.target import Target
from conformance.transcripts.compare import Finding
from conformance.transcripts.words import Transcript

# The kinds of walks: without eligible leader replicas (KIP-966), and with them.
DEATHS = ("deaths", "deaths-elr")
_rounds = count()


@dataclass
class DeathsResult(WalksResult):
    """Beside what walks have: how many `raced` answers there were (`judge.py`), and how far times were apart."""

    kind: str = DEATHS[0]
    rounds: int = 0
    raced: int = 0
    apart_ms: float = 0.0

    def summary(self) -> str:
        return (
            f"{super().summary()}; {self.rounds} rounds, {self.raced} responses that depend on a race, "
            f"times at most {self.apart_ms:.0f} ms apart"
        )


def run_deaths(
    sides: HasBoxes,
    walks: int,
    seed: int = SEED,
    progress: Callable[[WalksResult], None] = lambda result: None,
    most_differences: int = MAX_DIFFERENCES,
    keep: Callable[[KeptRound], object] = lambda kept: None,
    kind: str = DEATHS[0],
    plans: int = PLANS,
) -> DeathsResult:
    """Play at least so many walks, in rounds of `plans`; the same seed makes the same rounds. `keep` is called with
    Kafka's responses."""
    result = DeathsResult(seed, kind)
    targets = (sides.kafka[f"{kind}-rounds"], sides.ours[f"{kind}-rounds"])
    for number in count(seed * 1_000):
        if result.walks >= walks or len(result.differences) >= most_differences:
            break
        a_round = make_round(number, plans)
        played, repeated = _Played(kind, a_round, targets), False
        if played.differs:
            played, repeated = _Played(kind, a_round, targets), True
        played.note(result, repeated)
        keep(played.kafka)
        progress(result)
    return result


class _Played:
    """A round that both sides have played."""

    def __init__(self, kind: str, a_round: Round, targets: tuple[Target, Target]) -> None:
        self._round = a_round
        name = f"deaths-{next(_rounds):05d}"
        players = [RoundPlayer(target, a_round, name) for target in targets]
        with ThreadPoolExecutor(len(players)) as pool:
            transcripts = list(pool.map(RoundPlayer.play, players))
        self.kafka = KeptRound(
            kind, a_round.seed, digest(a_round), targets[0].version, players[0].happened, transcripts[0]
        )
        fencing = wrong_fencing(players[0].happened, players[1].happened)
        self._raced = 0
        self._apart_ms = 0.0
        self._outcomes = []
        for plan in a_round.plans:
            kafka, ours = (side[plan.seed] for side in transcripts)
            findings, raced = judge(kafka, ours)
            self._raced += raced
            self._apart_ms = max(self._apart_ms, largest_difference_ms(kafka, ours))
            self._outcomes.append(_outcome(kind, kafka, ours, findings + fencing))
            fencing = []  # told with the first plan

    @property
    def differs(self) -> bool:
        return any(outcome.unexplained for outcome in self._outcomes)

    def note(self, result: DeathsResult, repeated: bool) -> None:
        result.rounds += 1
        result.raced += self._raced
        result.apart_ms = max(result.apart_ms, self._apart_ms)
        for plan, outcome in zip(self._round.plans, self._outcomes, strict=True):
            result.note(outcome, repeated)
            signatures = {signature(finding) for finding in outcome.unexplained}
            if signatures and not signatures & set(result.seen):
                result.differences.append(Difference(min(signatures), plan.seed, Walk(()), outcome))
            result.seen.update(signatures)


def _outcome(kind: str, kafka: Transcript, ours: Transcript, findings: list[Finding]) -> Outcome:
    return Outcome(Case(f"walks/{kind}", "", ()), kafka, ours, findings)
