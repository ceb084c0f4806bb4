"""Generated traffic: random streams to both sides, and differences shrunk to a small case.

Theory   Hypothesis makes the streams (`strategies.py`) from a seed. Each runs on a fresh topic of both sides, by the
         same runner and under the same `differences.py` as the written cases. It ends with what is stored.
         The first stream with an unexplained difference ends a round. It is shrunk as long as it shows the same
         difference. The next round goes on with another seed, and only counts streams that show that difference again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky

from conformance.generated.strategies import streams
from conformance.generated.streams import BOX, KINDS, Stream, as_case
from conformance.scenario import Topic
from conformance.suite import Outcome, Sides, run_case
from conformance.transcripts.compare import Finding

SEED = 1
STREAMS = 2_000
_TOPICS_AT_ONCE = 100
_MAX_DIFFERENCES = 20  # a side that is quite broken is not shrunk all day
_names = count()  # of topics; one for all runs, so that two runs on the same clusters do not meet


@dataclass(frozen=True)
class Difference:
    """One unexplained difference: where first seen after shrinking, and how often a stream showed it."""

    signature: str
    stream: Stream
    outcome: Outcome
    seen: int  # streams that were not part of shrinking


@dataclass
class GeneratedResult:
    """streams   how many ran (those of shrinking are not counted)
    requests  by (API, version), as answered by Kafka
    codes     by (API, error code), in Kafka's answers
    ends      how connections ended, by Kafka
    explained how often each reason of `differences.py` was needed
    """

    seed: int
    streams: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    stored_batches: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def summary(self) -> str:
        """Return how much was sent and reached, in one line."""
        kinds = {code for _, code in self.codes}
        return (
            f"{self.streams} streams, {self.requests.total()} responses to {len(self.requests)} versions of APIs; "
            f"{len(self.codes)} pairs of API and error code ({len(kinds)} codes), "
            f"{self.stored_batches} batches stored, "
            f"{self.ends['closed']} connections closed, {len(self.differences)} differences without a reason"
        )

    def note(self, outcome: Outcome) -> None:
        self.streams += 1
        self.explained.update({finding.reason for finding in outcome.findings if finding.reason is not None})
        for entry in outcome.kafka:
            self.stored_batches += len(entry.get("batches", ()))
            if "end" in entry:
                self.ends[entry["end"]] += 1
            for answer in entry.get("answers", ()):
                api = answer["to"].split(" ")[0]
                self.requests[answer["to"]] += 1
                self.codes.update({(api, code) for code in error_codes(answer["says"])})


def run_generated(
    sides: Sides, streams: int, seed: int = SEED, progress: Callable[[GeneratedResult], None] = lambda result: None
) -> GeneratedResult:
    """Run so many streams on both sides; the same seed makes the same streams."""
    run = _Run(sides, streams, seed, progress)
    while run.result.streams < streams and len(run.result.differences) < _MAX_DIFFERENCES:
        run.round()
    return run.result


class _DifferentError(Exception):
    """The stream shows a difference that is hunted."""


class _Topics:
    """Fresh topics of each kind on both sides, made many at a time."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._left: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def take(self, kind: str) -> str:
        left = self._left[kind]
        if not left:
            left += [_topic_name(next(_names)) for _ in range(_TOPICS_AT_ONCE)]
            for targets in (self._sides.kafka, self._sides.ours):
                targets[BOX].create_topics([Topic(name, 2, configs=KINDS[kind]) for name in left])
        return left.pop()


class _Run:
    def __init__(self, sides: Sides, wanted: int, seed: int, progress: Callable[[GeneratedResult], None]) -> None:
        self.result = GeneratedResult(seed)
        self._sides = sides
        self._topics = _Topics(sides)
        self._wanted = wanted
        self._seed = seed
        self._progress = progress
        self._rounds = 0
        self._known: Counter[str] = Counter()
        self._hunted = ""  # the signature that this round shrinks
        self._smallest: tuple[Stream, Outcome]

    def round(self) -> None:
        """Streams until they are enough, or until one shows something new; that one is shrunk."""
        self._hunted = ""
        self._rounds += 1
        before = self.result.streams
        body = settings(
            max_examples=self._wanted - before,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
            report_multiple_bugs=False,
        )(seeded(self._seed * 1_000 + self._rounds)(given(streams())(self._play)))
        try:
            body()
        except (_DifferentError, Flaky):
            self._known[self._hunted] = 1
            self.result.differences.append(Difference(self._hunted, *self._smallest, 1))
        assert self.result.streams > before, "Hypothesis made no stream"
        self.result.differences = [
            Difference(known.signature, known.stream, known.outcome, self._known[known.signature])
            for known in self.result.differences
        ]

    def _play(self, stream: Stream) -> None:
        hunting = self._hunted != ""
        topic = self._topics.take(stream.kind)
        outcome = run_case(as_case(stream, f"generated/{stream.kind}", topic), self._sides)
        if not hunting:
            self.result.note(outcome)
            self._progress(self.result)
        signatures = [signature(finding) for finding in outcome.unexplained]
        if not hunting:
            known = set(signatures) & set(self._known)
            self._known.update(known)
            # One fault shows in several fields: a stream with a known difference is not hunted for another.
            self._hunted = signatures[0] if signatures and not known else ""
        if self._hunted in signatures:
            self._smallest = stream, outcome
            raise _DifferentError


def signature(finding: Finding) -> str:
    """Return a short form of a difference: the field, and the two values where they are few."""
    path = re.sub(r"gen-[0-9a-f]{8}|[0-9a-f]{8}-[0-9a-f-]{27}", "*", re.sub(r"\[\d+\]|\.-?\d+\b", "[]", finding.path))
    return f"{path}: {_word(finding.kafka)} / {_word(finding.ours)}"


def _word(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"\w+\(-?\d+\)|open|closed|silent|\(absent\)", value):
        return value
    return type(value).__name__


def error_codes(says: Any) -> Iterator[str]:
    """All that an answer tells, in words."""
    if isinstance(says, dict):
        for name, value in says.items():
            if name == "error_code":
                yield value
            else:
                yield from error_codes(value)
    elif isinstance(says, list):
        for item in says:
            yield from error_codes(item)


def _topic_name(number: int) -> str:
    """Names of which no two are near, so that a damaged name is nobody's."""
    return f"gen-{hashlib.sha256(str(number).encode()).hexdigest()[:8]}"
