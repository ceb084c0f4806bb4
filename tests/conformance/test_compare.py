"""The comparison finds every difference, and lets through what a rule allows and nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from conformance.scenario import At, Case, Send, Settle
from conformance.targets.wire import Sent
from conformance.transcripts import compare as comparison
from conformance.transcripts.compare import compare, differences, fields_that_differ, side_by_side, silent_differences
from conformance.transcripts.recording import Answer, Heard, Recording
from conformance.transcripts.rule import Rule, same_but_for_ports
from conformance.transcripts.words import words

FRAME = bytes.fromhex("00000001 00 01 00000000 00")  # Produce v9: no responses, no throttling, no tags
CASE = Case("group/one", "why", (Send((b"",)), Settle()), timed=(At(7, 500),))


def transcript() -> list[dict[str, Any]]:
    says = {"responses": [{"name": "t", "partitions": [{"error_code": "REQUEST_TIMED_OUT(7)", "base_offset": 3}]}]}
    answer = {"correlation_id": 7, "to": "Produce v9", "after_ms": 501.5, "says": says}
    return [{"settle": "a", "answers": [answer], "end": "open"}]


def changed(path: list[Any], value: Any) -> list[dict[str, Any]]:
    copied = copy.deepcopy(transcript())
    inner: Any = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copied


def heard(frame: bytes, after_ms: float | None = None) -> Recording:
    return (Heard("settle", "a", (Answer(Sent(0, 9), frame, after_ms),), "open"),)


def test_the_same_is_the_same() -> None:
    assert compare(CASE, transcript(), transcript()) == []


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ([0, "end"], "closed", "[0].end"),
        ([0, "answers", 0, "says", "responses", 0, "partitions", 0, "base_offset"], -1, "base_offset"),
        ([0, "answers", 0, "says", "responses", 0, "partitions"], [], "partitions[0]"),
        ([0, "answers", 0, "says", "responses", 0, "more"], None, "more"),
        ([0, "answers", 0, "to"], "Produce v8", "to"),
    ],
)
def test_every_field_counts(path: list[Any], value: Any, said: str) -> None:
    [finding] = compare(CASE, transcript(), changed(path, value))
    assert finding.path.endswith(said)
    assert finding.reason is None


def test_a_missing_answer_is_a_difference_and_a_missed_time() -> None:
    findings = compare(CASE, transcript(), changed([0, "answers"], []))
    assert {finding.path for finding in findings} == {"[0].answers[0]", "time of answer 7 on a (ours)"}


@pytest.mark.parametrize(
    ("after_ms", "kafka_fails", "ours_fails"),
    [(498.9, True, True), (499.1, False, True), (500.0, False, False), (1000.0, False, False), (1000.1, True, True)],
)
def test_early_and_late_answers_are_failures(after_ms: float, kafka_fails: bool, ours_fails: bool) -> None:
    other = changed([0, "answers", 0, "after_ms"], after_ms)
    assert bool(compare(CASE, other, transcript())) is kafka_fails
    assert bool(compare(CASE, transcript(), other)) is ours_fails


def test_a_rule_is_about_its_case_its_path_and_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "*.partitions[*].base_offset"
    rule = Rule("because", path, "group/*", holds=lambda kafka, ours: ours == -1)
    monkeypatch.setattr(comparison, "RULES", (rule,))
    offset = [0, "answers", 0, "says", "responses", 0, "partitions", 0, "base_offset"]
    other = Case("elsewhere/one", "why", ())

    assert [f.reason for f in compare(CASE, transcript(), changed(offset, -1))] == ["because"]
    assert [f.reason for f in compare(CASE, transcript(), changed(offset, 4))] == [None]
    assert [f.reason for f in compare(other, transcript(), changed(offset, -1))] == [None]
    assert [f.reason for f in compare(CASE, transcript(), changed([0, "end"], "closed"))] == [None]


def test_lists_without_order_are_compared_without_it() -> None:
    left = [{"brokers": [{"node_id": 2}, {"node_id": 1}], "isr": [1, 2]}]
    assert compare(Case("a/b", "", ()), left, [{"brokers": [{"node_id": 1}, {"node_id": 2}], "isr": [1, 2]}]) == []
    assert len(compare(Case("a/b", "", ()), left, [{"brokers": left[0]["brokers"], "isr": [2, 1]}])) == 2


def test_both_sides_are_shown() -> None:
    shown = side_by_side(transcript(), changed([0, "end"], "closed"))
    assert "Kafka" in shown
    assert '"end": "closed"' in shown


@pytest.mark.parametrize(
    "frame", [FRAME + b"\0", FRAME[:-1] + b"\1\x09\1\xff"], ids=["a byte behind", "an unknown tag"]
)
def test_other_bytes_that_say_the_same_are_told(frame: bytes) -> None:
    kafka, ours = heard(FRAME), heard(frame)
    assert words(kafka) == words(ours)
    [finding] = silent_differences("g/one", kafka, ours)
    assert (finding.path, finding.kafka, finding.ours) == ("[0].answers[0].bytes", FRAME.hex(), frame.hex())
    assert finding.reason is None


def test_bytes_that_say_something_else_are_told_by_their_words() -> None:
    other = FRAME[:-2] + b"\5\0"  # throttled for 5 ms
    assert silent_differences("g/one", heard(FRAME), heard(other)) == []
    assert len(fields_that_differ("g/one", words(heard(FRAME)), words(heard(other)))) == 1


def test_the_time_of_an_answer_is_none_of_its_bytes() -> None:
    assert silent_differences("g/one", heard(FRAME), heard(FRAME, after_ms=5.0)) == []


def test_all_differences_are_those_of_the_fields_and_those_of_the_bytes() -> None:
    first, other, behind = heard(FRAME), heard(FRAME[:-2] + b"\5\0"), heard(FRAME + b"\0")
    assert differences("g/one", first, heard(FRAME, after_ms=5.0)) == []
    findings = differences("g/one", first * 3, first + other + behind)
    assert [finding.path for finding in findings] == ["[1].answers[0].says.throttle_time", "[2].answers[0].bytes"]
    assert [finding.path for finding in differences("g/one", first, first * 2)] == ["[1]"]


def test_listeners_at_other_ports_are_the_same() -> None:
    kafka = "PLAINTEXT://127.0.0.1:54081,CONTROLLER://127.0.0.1:50933"
    assert same_but_for_ports(kafka, "PLAINTEXT://127.0.0.1:9092")
    assert not same_but_for_ports(kafka, "PLAINTEXT://127.0.0.2:54081")
    assert not same_but_for_ports(kafka, "PLAINTEXT://127.0.0.1:54081,OUT://127.0.0.1:1")
    assert not same_but_for_ports(kafka, None)
