"""Scenarios of Kafka's own accumulator, pool, sender and transaction manager, repeated by ours.

`make conformance-producer` runs Kafka's classes; `tests/golden/producer/` has their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.producer.ours import play
from conformance.producer.play import difference
from fakebroker.producer.generation import Generation
from fakebroker.producer.sending.response_errors import is_invalid_metadata, is_retriable, known_code
from fakebroker.producer.transactions.txn_state import SOURCES_2_0, SOURCES_4_3, State

GOLDEN = Path(__file__).parents[1] / "golden" / "producer"
GENERATIONS = ("2.0", "4.3")


def transcripts(pattern: str) -> list[Any]:
    return [
        pytest.param(json.loads(line), id=f"{path.stem}-{at}")
        for path in sorted(GOLDEN.glob(pattern))
        for at, line in enumerate(path.read_text().splitlines())
    ]


@pytest.mark.parametrize("transcript", transcripts("generated-*.jsonl") + transcripts("found-*.jsonl"))
def test_every_decision_is_kafkas(transcript: dict[str, Any]) -> None:
    assert difference(transcript["told"], play(transcript)) is None


@pytest.mark.parametrize("generation", GENERATIONS)
def test_errors_mean_what_they_mean_to_the_release(generation: str) -> None:
    release = Generation(generation)
    for line in (GOLDEN / f"errors-{generation}.jsonl").read_text().splitlines():
        error = json.loads(line)
        assert is_retriable(error["code"], release) == error["is_retriable"], error
        assert is_invalid_metadata(error["code"], release) == error["is_invalid_metadata"], error
        assert known_code(error["code"], release) == error["code"]


@pytest.mark.parametrize(("generation", "sources"), [("2.0", SOURCES_2_0), ("4.3", SOURCES_4_3)])
def test_states_follow_those_that_they_follow_in_the_release(
    generation: str, sources: Mapping[State, frozenset[State]]
) -> None:
    sources_of = {}
    for line in (GOLDEN / f"states-{generation}.jsonl").read_text().splitlines():
        one = json.loads(line)
        sources_of[State[one["state"]]] = {State[source] for source in one["sources"]}
    assert {state: sources[state] & sources_of.keys() for state in sources_of} == sources_of
    assert sources.keys() == sources_of.keys()
