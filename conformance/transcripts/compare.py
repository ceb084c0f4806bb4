"""Two transcripts, field by field. What may differ is in `differences.py`; anything else is a failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from conformance.scenario import At, Case
from conformance.transcripts.differences import RULES
from conformance.transcripts.orders import KEYED_BY, SORTED_BY, SORTED_VALUES
from conformance.transcripts.recording import Entry, Heard, Log, Recording
from conformance.transcripts.words import Transcript, answer_words, batch_words, entry_words

_ABSENT = "(absent)"


class Finding(NamedTuple):
    """One field that differs. `reason` is None if nothing explains it."""

    path: str
    kafka: Any
    ours: Any
    reason: str | None


def compare(case: Case, kafka: Transcript, ours: Transcript) -> list[Finding]:
    """Every field in which the two differ, and every answer that came at a wrong time."""
    findings = fields_that_differ(case.name, kafka, ours)
    for at in case.timed:
        findings += wrong_time(at, "kafka", kafka) + wrong_time(at, "ours", ours)
    return findings


def fields_that_differ(case: str, kafka: Transcript, ours: Transcript) -> list[Finding]:
    """Every field in which the two differ, whatever the time."""
    return [
        Finding(path, left, right, explain(case, path, left, right))
        for path, left, right in _differ("", ordered(kafka), ordered(ours))
    ]


def differences(case: str, kafka: Recording, ours: Recording) -> list[Finding]:
    """Every field in which the two differ, whatever the time, and what says the same in other bytes. Entries that are
    the same byte for byte are not decoded."""
    same = {index for index, (left, right) in enumerate(zip(kafka, ours, strict=False)) if _is_same(left, right)}
    sides = [
        [{} if index in same else entry_words(entry) for index, entry in enumerate(side)] for side in (kafka, ours)
    ]
    return fields_that_differ(case, *sides) + silent_differences(case, kafka, ours)


def _is_same(left: Entry, right: Entry) -> bool:
    """Return True if both are the same, whatever the time."""
    if isinstance(left, Heard) and isinstance(right, Heard):
        return (left.step, left.conn, left.end) == (right.step, right.conn, right.end) and [
            (answer.to, answer.frame) for answer in left.answers
        ] == [(answer.to, answer.frame) for answer in right.answers]
    return left == right


def silent_differences(case: str, kafka: Recording, ours: Recording) -> list[Finding]:
    """Answers and batches that say the same in other bytes: what our decoder passes over, a tagged field that it does
    not know or bytes behind the message."""
    silent = []
    for index, (left, right) in enumerate(zip(kafka, ours, strict=False)):
        if isinstance(left, Heard) and isinstance(right, Heard):
            for number, (answer, our) in enumerate(zip(left.answers, right.answers, strict=False)):
                if answer.frame != our.frame and answer_words(answer)["says"] == answer_words(our)["says"]:
                    silent.append((f"[{index}].answers[{number}].bytes", answer.frame.hex(), our.frame.hex()))
        elif isinstance(left, Log) and isinstance(right, Log):
            for number, (batch, our_batch) in enumerate(zip(left.batches, right.batches, strict=False)):
                if batch != our_batch and batch_words(batch) == batch_words(our_batch):
                    silent.append((f"[{index}].batches[{number}].bytes", batch.hex(), our_batch.hex()))
    return [Finding(*difference, explain(case, *difference)) for difference in silent]


def explain(case: str, path: str, kafka: Any, ours: Any) -> str | None:
    """The reason of the first rule that allows the difference."""
    general = re.sub(r"\[\d+\]", "[]", path)
    return next((rule.reason for rule in RULES if rule.allows(case, general, kafka, ours)), None)


def side_by_side(transcript: Transcript, other: Transcript) -> str:
    """Return both transcripts as text, for a report of differences."""
    return "\n".join(
        f"--- {name}\n{json.dumps(entries, indent=1)}" for name, entries in (("Kafka", transcript), ("ours", other))
    )


def ordered(value: Any, name: str = "") -> Any:
    """Return the value with a fixed order for lists in which the order means nothing."""
    if isinstance(value, dict):
        return {key: ordered(item, key) for key, item in value.items()}
    if isinstance(value, list):
        items = [ordered(item) for item in value]
        key, keys = KEYED_BY.get(name), SORTED_BY.get(name, ())
        if name in SORTED_VALUES and not any(isinstance(item, dict) for item in items):
            return sorted(items)
        if not (key or keys) or not all(isinstance(item, dict) for item in items):
            return items
        by_key = {str(item.get(key)): item for item in items}
        if key and len(by_key) == len(items):
            return by_key
        return sorted(items, key=lambda item: [str(item.get(key)) for key in keys])
    return value


def _differ(path: str, kafka: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for key in kafka | ours:
            if key != "after_ms":
                yield from _differ(f"{path}.{key}" if path else key, kafka.get(key, _ABSENT), ours.get(key, _ABSENT))
    elif isinstance(kafka, list) and isinstance(ours, list):
        for index in range(max(len(kafka), len(ours))):
            left = kafka[index] if index < len(kafka) else _ABSENT
            right = ours[index] if index < len(ours) else _ABSENT
            yield from _differ(f"{path}[{index}]", left, right)
    elif kafka != ours:
        yield path, kafka, ours


_EARLY_MS = {"kafka": 1.0, "ours": 0.0}  # Kafka floors both ends of a timeout (docs/decisions.md, 1)


def wrong_time(at: At, side: str, transcript: Transcript) -> list[Finding]:
    """Return what is wrong with the time of a response of that side, "kafka" or "ours"; nothing if it is right."""
    path = f"time of answer {at.correlation_id} on {at.conn} ({side})"
    times = [
        answer["after_ms"]
        for entry in transcript
        if at.conn in (entry.get("settle"), entry.get("listen"), entry.get("hear"))
        for answer in entry["answers"]
        if answer["correlation_id"] == at.correlation_id
    ]
    wanted = f"{at.ms} to {at.ms + at.slack_ms} ms"
    if len(times) != 1:
        return [Finding(path, wanted, f"{len(times)} answers", None)]
    if not at.ms - _EARLY_MS[side] <= times[0] <= at.ms + at.slack_ms:
        return [Finding(path, wanted, f"{times[0]} ms", None)]
    return []
