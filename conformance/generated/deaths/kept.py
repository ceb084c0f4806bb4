"""Kafka's responses to rounds, kept in `tests/golden/rounds/`, so that they can be played again without Kafka.

A file is a round, and a line is one observation as JSON: first the states of the brokers, then the responses to each
plan. Times are kept too: they are compared by the settings' granularity (`judge.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conformance.generated.deaths.plan import Round
from conformance.transcripts.words import Transcript

FOLDER = Path(__file__).parents[3] / "tests" / "golden" / "rounds"


class KeptRound(NamedTuple):
    """`digest` of what was asked, the box, the seed of the round, what brokers told of each other, and the plans by
    seed."""

    box: str
    seed: int
    digest: str
    kafka_version: str
    happened: Transcript
    told: dict[int, Transcript]


def digest(a_round: Round) -> str:
    """Return a digest of all events and requests of a round."""
    return hashlib.sha256(repr(a_round).encode()).hexdigest()[:12]


def keep(kept: KeptRound, folder: Path = FOLDER) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{kept.box}-{kept.seed}.jsonl"
    path.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in _lines(kept)))
    return path


def _lines(kept: KeptRound) -> Iterator[object]:
    yield {"box": kept.box, "round": kept.seed, "digest": kept.digest, "kafka": kept.kafka_version}
    yield from kept.happened
    for seed, entries in kept.told.items():
        yield {"plan": seed}
        yield from entries


def load(path: Path) -> KeptRound:
    head, *lines = map(json.loads, path.read_text().splitlines())
    kept = KeptRound(head["box"], head["round"], head["digest"], head["kafka"], [], {})
    into = kept.happened
    for line in lines:
        if "plan" in line:
            into = kept.told[line["plan"]] = []
        else:
            into.append(line)
    return kept


def load_all(folder: Path = FOLDER) -> list[KeptRound]:
    return [load(path) for path in sorted(folder.glob("*.jsonl"))]
