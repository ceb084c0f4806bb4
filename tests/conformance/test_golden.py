"""Apache Kafka's responses, replayed against the core in virtual time: no Java, no network, no waiting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support import doses, kept
from support.virtual_target import VirtualTarget

from conformance.runner import run
from conformance.scenario import Case
from conformance.targets.boxes import BOXES
from conformance.transcripts.compare import Finding, differences, side_by_side, wrong_time
from conformance.transcripts.golden import Golden, digest
from conformance.transcripts.recording import Heard, Isr, Log, Recording
from conformance.transcripts.words import words

CASES = {case.name: case for case in kept.cases()}
GOLDEN = kept.answers()
# After so many calls the invariants of the core are checked, and at the end of each case. A check takes as long as a
# call; tests of walks, deaths and all others of simulations check after each call every day.
CHECK_EVERY = doses.count(32, 1)


def replayed(case: Case) -> Recording:
    target = VirtualTarget(BOXES[case.box], check_every=CHECK_EVERY)
    target.create_topics(case.topics)
    ours = run(case, target)
    target.simulation.cluster.check_invariants()
    return ours


def unexplained(case: Case, kafka: Recording, ours: Recording) -> list[Finding]:
    findings = differences(case.name, kafka, ours)
    for at in case.timed:
        findings += wrong_time(at, "ours", words(ours))
    return [finding for finding in findings if finding.reason is None]


def test_there_are_enough() -> None:
    assert len(GOLDEN) >= 150  # what was promised; a folder that is not found must not pass


@pytest.mark.parametrize(
    "golden", GOLDEN[:: int(os.environ.get("FAKEBROKER_EVERY", "1"))], ids=lambda golden: golden.case
)
def test_we_answer_as_kafka_did(golden: Golden) -> None:
    case = CASES.get(golden.case)
    assert case is not None, "this case does not exist any more: `make conformance` removes its responses"
    assert golden.digest == digest(case), "the requests of the case have changed: `make conformance` records again"

    ours = replayed(case)

    findings = unexplained(case, golden.kafka, ours)
    assert not findings, "\n".join(map(str, findings)) + "\n" + side_by_side(words(golden.kafka), words(ours))


# The check can fail.


def changed(kafka: Recording) -> Iterator[tuple[str, Recording]]:
    """The recording with one thing changed: each byte of each answer and batch, each end, each number."""
    for index, entry in enumerate(kafka):
        for what, other in _changed_entry(entry):
            yield f"entry {index}, {what}", (*kafka[:index], other, *kafka[index + 1 :])
        yield f"no entry {index}", (*kafka[:index], *kafka[index + 1 :])


def _changed_entry(entry: Heard | Isr | Log) -> Iterator[tuple[str, Heard | Isr | Log]]:
    if isinstance(entry, Heard):
        answers = entry.answers
        for index, answer in enumerate(answers):
            for at, frame in _one_byte_changed(answer.frame):
                other = (*answers[:index], replace(answer, frame=frame), *answers[index + 1 :])
                yield f"answer {index}, byte {at}", replace(entry, answers=other)
        if answers:
            yield "one answer more", replace(entry, answers=(*answers, answers[0]))
            yield "one answer less", replace(entry, answers=answers[1:])
        yield "end", replace(entry, end="silent" if entry.end != "silent" else "open")
    elif isinstance(entry, Log):
        for index, batch in enumerate(entry.batches):
            for at, data in _one_byte_changed(batch):
                batches = (*entry.batches[:index], data, *entry.batches[index + 1 :])
                yield f"batch {index}, byte {at}", replace(entry, batches=batches)
        for name in ("error", "start", "watermark", "end"):
            yield name, replace(entry, **{name: getattr(entry, name) + 1})
        if entry.batches:
            yield "one batch less", replace(entry, batches=entry.batches[1:])


def _one_byte_changed(data: bytes) -> Iterator[tuple[int, bytes]]:
    for at, byte in enumerate(data):
        yield at, data[:at] + bytes([byte ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("name", ["frozen/times-out", "epoch-end/versions", "found/plain-a9ab31cc"])
def test_whatever_changes_in_what_kafka_answered_is_noticed(name: str) -> None:
    [golden] = [golden_ for golden_ in GOLDEN if golden_.case == name]
    ours = replayed(CASES[name])
    assert not unexplained(CASES[name], golden.kafka, ours)

    seen = {what: bool(unexplained(CASES[name], kafka, ours)) for what, kafka in changed(golden.kafka)}

    assert len(seen) > 100
    assert [what for what, noticed in seen.items() if not noticed] == []
