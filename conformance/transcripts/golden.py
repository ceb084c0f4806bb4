"""What Kafka answered, kept in files: `tests/golden/GROUP.json`, one per group of cases.

A file holds whole cases, so that it can be replayed without the code that made them, and beside each frame what it
says. Bytes are hex; frames of more than 4 KiB are deflated too. Times are not kept: `timed` says what they must be.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from conformance import scenario
from conformance.runner import Transcript
from conformance.scenario import At, Case, Step, Topic
from conformance.targets.wire import requests_in
from conformance.transcripts.compare import fields_that_differ
from fakebroker.protocol.messages import api_name

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
_DEFLATE_FROM = 4096  # bytes
_RANDOM_IN_KAFKA = {"session_id", "finalized_features_epoch"}  # new in each of its runs


class Golden(NamedTuple):
    """A case, and what Kafka of that version answered."""

    case: Case
    kafka: Transcript
    kafka_version: str


def load(path: Path) -> list[Golden]:
    """The cases of a file."""
    kept = json.loads(path.read_text())
    return [Golden(_case(each), each["kafka"], kept["kafka_version"]) for each in kept["cases"]]


def load_all() -> list[Golden]:
    return [golden for path in sorted(FOLDER.glob("*.json")) for golden in load(path)]


def refresh(fresh: Iterable[Golden], folder: Path = FOLDER) -> list[str]:
    """Write every group anew and remove files of groups that are gone; the names of cases whose answers changed.

    An answer that differs from the kept one only where answers may differ is left as it is, so that a refresh shows
    what is new and nothing else.
    """
    kept = {golden.case.name: golden for path in folder.glob("*.json") for golden in load(path)}
    changed = []
    written = set()
    folder.mkdir(parents=True, exist_ok=True)
    for group, members in groupby(
        sorted(fresh, key=lambda golden: golden.case.group), lambda golden: golden.case.group
    ):
        rows = []
        for golden in members:
            old = kept.get(golden.case.name)
            kafka = golden.kafka
            if old is not None and not any(
                finding.reason is None and finding.path.rsplit(".", 1)[-1] not in _RANDOM_IN_KAFKA
                for finding in fields_that_differ(golden.case.name, old.kafka, kafka)
            ):
                kafka = old.kafka
            else:
                changed.append(golden.case.name)
            rows.append(_row(golden.case, kafka))
            version = golden.kafka_version
        path = folder / f"{group}.json"
        path.write_text(json.dumps({"kafka_version": version, "cases": rows}, indent=1) + "\n")
        written.add(path)
    for path in set(folder.glob("*.json")) - written:
        path.unlink()
    return changed


def _row(case: Case, kafka: Transcript) -> dict[str, Any]:
    return {
        "name": case.name,
        "why": case.why,
        "box": case.box,
        "topics": [_values(topic) for topic in case.topics],
        "steps": [{type(step).__name__: _values(step)} for step in case.steps],
        "timed": [_values(at) for at in case.timed],
        "kafka": [_without_times(entry) for entry in kafka],
    }


def _values(item: Any) -> Any:
    assert is_dataclass(item)
    return {field.name: _value(getattr(item, field.name)) for field in fields(item)}


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        found, _ = requests_in(value)
        said = ", ".join(f"{api_name(sent.api_key)} v{sent.version}" for sent in found.values())
        if len(value) < _DEFLATE_FROM:
            return {"says": said, "hex": value.hex()}
        return {"says": said, "bytes": len(value), "deflated": zlib.compress(value, 9).hex()}
    return [_value(each) for each in value] if isinstance(value, tuple) else value


def _without_times(entry: dict[str, Any]) -> dict[str, Any]:
    if "answers" not in entry:
        return entry
    answers = [{key: value for key, value in answer.items() if key != "after_ms"} for answer in entry["answers"]]
    return entry | {"answers": answers}


def _case(row: dict[str, Any]) -> Case:
    return Case(
        row["name"],
        row["why"],
        tuple(_step(step) for step in row["steps"]),
        tuple(Topic(**topic) for topic in row["topics"]),
        row["box"],
        tuple(At(**at) for at in row["timed"]),
    )


def _step(row: dict[str, Any]) -> Step:
    [(kind, values)] = row.items()
    step: Step = getattr(scenario, kind)(**{name: _read(value) for name, value in values.items()})
    return step


def _read(value: Any) -> Any:
    if isinstance(value, dict) and "hex" in value:
        return bytes.fromhex(value["hex"])
    if isinstance(value, dict) and "deflated" in value:
        return zlib.decompress(bytes.fromhex(value["deflated"]))
    return tuple(_read(each) for each in value) if isinstance(value, list) else value
