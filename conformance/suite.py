"""Runs cases against both sides, one after the other, and says what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from conformance.runner import run_as_far_as_it_goes
from conformance.scenario import Case
from conformance.targets.target import FakeTarget, KafkaTarget, Targets
from conformance.transcripts.compare import Finding, compare, silent_differences
from conformance.transcripts.recording import Recording
from conformance.transcripts.words import Transcript, words


@dataclass(frozen=True)
class Outcome:
    """A case, what each side said, where they differ, and Kafka's own bytes."""

    case: Case
    kafka: Transcript
    ours: Transcript
    findings: list[Finding]
    recorded: Recording = ()

    @property
    def unexplained(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.reason is None]

    @property
    def verdict(self) -> str:
        """ "same", "explained" or "different"."""
        return "different" if self.unexplained else "explained" if self.findings else "same"


class Sides:
    """Kafka and fakebroker, with boxes that start when first needed. Use in a `with` block."""

    def __init__(self) -> None:
        self.kafka = Targets(KafkaTarget)
        self.ours = Targets(FakeTarget)

    def __enter__(self) -> Sides:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.kafka.stop()
        self.ours.stop()


def run_cases(
    cases: Sequence[Case], sides: Sides, starting: Callable[[str], None] = lambda box: None
) -> Iterator[Outcome]:
    """Each case as it is done; box by box, the topics of a box made at once."""
    for box in dict.fromkeys(case.box for case in cases):
        starting(box)
        chosen = [case for case in cases if case.box == box]
        topics = [topic for case in chosen for topic in case.topics]
        if topics:
            sides.kafka[box].create_topics(topics)
            sides.ours[box].create_topics(topics)
        for case in chosen:
            yield run_case(case, sides)


def run_case(case: Case, sides: Sides) -> Outcome:
    """Run a case with existing topics, on Kafka and then on fakebroker. A case that waits in vain ends there."""
    kafka, kafka_waits = run_as_far_as_it_goes(case, sides.kafka[case.box])
    ours, we_wait = run_as_far_as_it_goes(case, sides.ours[case.box])
    said = words(kafka), words(ours)
    findings = compare(case, *said) + silent_differences(case.name, kafka, ours)
    if kafka_waits or we_wait:
        findings.append(Finding("the case waits", kafka_waits, we_wait, None))
    return Outcome(case, *said, findings, kafka)
