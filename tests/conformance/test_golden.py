"""What Apache Kafka answered, replayed against the core in virtual time: no Java, no network, no waiting."""

from __future__ import annotations

import pytest
from support.virtual_target import VirtualTarget

from conformance.runner import run
from conformance.targets.boxes import BOXES
from conformance.transcripts.compare import fields_that_differ, side_by_side, wrong_time
from conformance.transcripts.golden import Golden, load_all

GOLDEN = load_all()


def test_there_are_enough() -> None:
    assert len(GOLDEN) >= 150  # what was promised; a folder that is not found must not pass


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.case.name)
def test_we_answer_as_kafka_did(golden: Golden) -> None:
    case = golden.case
    target = VirtualTarget(BOXES[case.box])
    target.create_topics(case.topics)

    ours = run(case, target)

    findings = fields_that_differ(case.name, golden.kafka, ours)
    for at in case.timed:
        findings += wrong_time(at, "ours", ours)
    unexplained = [finding for finding in findings if finding.reason is None]
    assert not unexplained, "\n".join(map(str, unexplained)) + "\n" + side_by_side(golden.kafka, ours)
