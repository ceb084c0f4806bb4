"""The results of each side, kept as JSON, and their differences, point by point.

Compared   Whether the point was met, the records for read_committed and for read_uncommitted, the number of programs
           that consumed the input, their errors, and the notes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.clients.exactly_once.chain import Outcome
from conformance.clients.exactly_once.kinds import Result

OURS, KAFKA = "fakebroker", "Apache Kafka"
VERSIONS = (2, 1)  # of transactions

# Names in results that were kept by an earlier version, and what they are called now.
_EARLIER = {
    "programs die": "programs crash",
    "workers come and go": "workers join and crash",
    "brokers go": "leaders move and restart",
    "marks wait": "transaction markers are delayed",
    "before the answer to": "before the response to",
    "the coordinator of groups": "the group coordinator",
    "the coordinator of transactions": "the transaction coordinator",
    "a follower stands still": "a follower is paused",
    "while it stands": "while the follower is paused",
    "it is done after the follower goes on": "it completed after the follower resumed",
    "it is done before the follower goes on": "it completed before the follower resumed",
    "when it goes on": "after the follower resumed",
    "when both are back": "after the follower and the coordinator are back",
    "when the coordinator is dead": "after the coordinator was killed",
    '"committed {': '"read_committed {',
    "}, all {": "}, read_uncommitted {",
    "}, marks {": "}, markers {",
}


class Kept:
    """A file with the last result of each kind."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def _all(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        text = self._path.read_text()
        for earlier, name in _EARLIER.items():
            text = text.replace(earlier, name)
        return dict(json.loads(text))

    def put(self, side: str, client: str, version: int, kind: str, result: Result) -> None:
        inputs = [
            {
                "name": outcome.name,
                "met": outcome.met,
                "consumed": outcome.consumed,
                "seen": outcome.seen,
                "written": outcome.written,
                "errors": outcome.errors,
                "took_s": round(outcome.took_s, 1),
                "is_right": outcome.is_right,
            }
            for outcome in result.outcomes
        ]
        entry = {"broken": result.broken, "took_s": round(result.took_s), "notes": result.notes, "inputs": inputs}
        kept = self._all | {_key(side, client, version, kind): entry}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def get(self, side: str, client: str, version: int, kind: str) -> Result | None:
        entry = self._all.get(_key(side, client, version, kind))
        if entry is None:
            return None
        outcomes = [_outcome(kept_input) for kept_input in entry["inputs"]]
        return Result(outcomes, entry["notes"], entry["broken"], entry["took_s"])


@dataclass
class _Kept(Outcome):
    """An outcome that was kept without its point."""

    was_right: bool = False

    @property
    def is_right(self) -> bool:
        return self.was_right


def _outcome(kept_input: dict[str, Any]) -> Outcome:
    fields = {name: value for name, value in kept_input.items() if name != "is_right"}
    return _Kept(**fields, was_right=kept_input["is_right"])


def _key(side: str, client: str, version: int, kind: str) -> str:
    return f"{side}, {client}, {version}, {kind}"


@dataclass(frozen=True)
class Difference:
    """A difference at one point; `reason` says why it is allowed."""

    where: str
    what: str
    ours: object
    kafka: object
    reason: str | None

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"{self.where}: {self.what}: {self.ours} on {OURS}, {self.kafka} on {KAFKA}{why}"


def differences(client: str, kind: str, ours: Result, kafka: Result) -> Iterator[Difference]:
    """Yield the differences of two results of the same client, version and kind."""
    if ours.broken or kafka.broken:
        if ours.broken != kafka.broken:
            yield Difference(kind, "broken", ours.broken or "no", kafka.broken or "no", None)
        return
    for mine, theirs in zip(ours.outcomes, kafka.outcomes, strict=True):
        for what, read in _COMPARED.items():
            if read(mine) != read(theirs):
                why = reason(client, kind, what)
                yield Difference(mine.name, what, read(mine), read(theirs), why)
    for when in ours.notes.keys() | kafka.notes.keys():
        if ours.notes.get(when) != kafka.notes.get(when):
            yield Difference(kind, when, ours.notes.get(when), kafka.notes.get(when), None)


_COMPARED: dict[str, Callable[[Outcome], object]] = {
    "met": lambda outcome: outcome.met,
    "read_committed": lambda outcome: outcome.seen,
    "read_uncommitted": lambda outcome: outcome.written,
    "consumed": lambda outcome: outcome.consumed,
    "errors": lambda outcome: outcome.errors,
}


def reason(client: str, kind: str, what: str) -> str | None:
    """Return the reason why that may differ, or None."""
    if client == "librdkafka" and kind == "the group coordinator restarts":
        return "on both sides it may wait forever for a broker that it has given up"
    if client == "librdkafka" and kind == "programs crash" and what == "read_uncommitted":
        return "it dies before or after its request is sent: a race"
    return None
