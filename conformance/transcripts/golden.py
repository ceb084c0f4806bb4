"""Kafka's responses, kept in files: `tests/golden/GROUP.txt`, one per group of cases, made to be read as a diff.

    | kafka 4.4.0
    | case frozen/times-out 0f3b9c2a41d7                      its name, and a digest of what it asks (`digest`)
    |  answer a Produce v9 0000000100...                      an answer on connection a, to what, and its bytes
    |  settle a open                                          the end of the step that noted them, "listen" or "hear"
    |  isr frozen-basic-0 1,2,3                               in-sync replicas, "-" for none
    |  log frozen-basic-0 error=0 start=0 watermark=2 end=2   a log
    |  batch 0000000000000000...                              and each batch in it as stored

Only Kafka's bytes are here (`packed`), none of their words: `python -m conformance show PATTERN` makes those. The
requests are the case's code. Times are not kept: `Case.timed` says what they must be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.scenario import Case
from conformance.targets.boxes import BOXES
from conformance.targets.wire import Sent
from conformance.transcripts.compare import Finding, differences
from conformance.transcripts.packed import packed, unpacked
from conformance.transcripts.recording import Answer, Entry, Heard, Isr, Log, Recording
from conformance.transcripts.words import asked
from fakebroker.protocol.messages import api_name

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
_RANDOM_IN_KAFKA = {"finalized_features_epoch"}  # new in each of its runs
_DIGITS = 12  # of a digest; it guards against slips, not against attacks
_KEYS = {api_name(key): key for key in range(1_000)}  # more than Kafka has


@dataclass(frozen=True)
class Golden:
    """The responses of that version of Kafka to a case. The digest stands for the requests of the case at that time."""

    case: str
    digest: str
    kafka: Recording
    kafka_version: str

    @property
    def group(self) -> str:
        return self.case.split("/")[0]


def golden(case: Case, kafka: Recording, kafka_version: str) -> Golden:
    """Return Kafka's responses of this run."""
    return Golden(case.name, digest(case), kafka, kafka_version)


def digest(case: Case) -> str:
    """Return a digest of the requests of a case and their target: its box, its topics, its steps with every byte, its
    times. The case's `why` is not in it.

    A value that is its field's default does not count, so a new option of a step makes no other case stale.
    """
    sha256 = hashlib.sha256()
    for part in (BOXES[case.box], *case.topics, *case.steps, *case.timed):
        sha256.update(repr(_values(part)).encode())
    return sha256.hexdigest()[:_DIGITS]


def stale(cases: Sequence[Case], kept: Sequence[Golden]) -> list[str]:
    """Return a sentence for each case that must run on Kafka again, and for each kept response without a case."""
    digests = {case.name: digest(case) for case in cases}
    names = {transcript.case for transcript in kept}
    said = [f"{name}: there is no response of Kafka" for name in digests if name not in names]
    for transcript in kept:
        if transcript.case not in digests:
            said.append(f"{transcript.case}: this case does not exist any more")
        elif transcript.digest != digests[transcript.case]:
            said.append(f"{transcript.case}: its requests have changed since Kafka's responses were recorded")
    return [f"{line} (`make conformance` records again)" for line in said]


def load_all(folder: Path = FOLDER) -> list[Golden]:
    """All that is kept, file by file."""
    return [golden for path in sorted(folder.glob("*.txt")) for golden in load(path)]


def load(path: Path) -> list[Golden]:
    """Return the content of a file. Raises ValueError with the line that cannot be read."""
    reader = _Reader()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            reader.read(line.split())
        except (ValueError, LookupError) as problem:
            raise ValueError(f"{path.name}, line {number}: {problem}") from problem
    return reader.found


def refresh(fresh: Iterable[Golden], folder: Path = FOLDER) -> list[str]:
    """Write every group anew, by name, and remove files of groups that are gone. Return the names of cases with changed
    responses.

    A response that differs from the kept one only in allowed places is left as it is. So a refresh shows only what is
    new.
    """
    kept = {golden.case: golden for golden in load_all(folder)}
    changed = []
    written = set()
    folder.mkdir(parents=True, exist_ok=True)
    for group, members in groupby(
        sorted(fresh, key=lambda golden: (golden.group, golden.case)), lambda golden: golden.group
    ):
        lines: list[str] = []
        for golden in members:
            old = kept.get(golden.case)
            kafka = _without_times(golden.kafka) if old is None else _merged(golden.case, old.kafka, golden.kafka)
            if old is None or kafka != old.kafka:
                changed.append(golden.case)
            lines += [] if lines else [f"kafka {golden.kafka_version}"]
            lines.append(f"case {golden.case} {golden.digest}")
            lines += (f" {line}" for entry in kafka for line in _lines(entry))
        path = folder / f"{group}.txt"
        path.write_text("\n".join(lines) + "\n")
        written.add(path)
    for path in set(folder.glob("*.txt")) - written:
        path.unlink()
    return changed


def _merged(case: str, old: Recording, fresh: Recording) -> Recording:
    """The fresh recording, with the old bytes wherever only what may differ does."""
    fresh = _without_times(fresh)
    if [_shape(entry) for entry in old] != [_shape(entry) for entry in fresh]:
        return fresh
    findings = differences(case, old, fresh)
    news = [finding.path for finding in findings if not _may_differ(finding)]
    merged: list[Entry] = []
    for index, (before, now) in enumerate(zip(old, fresh, strict=True)):
        place = f"[{index}]"
        if isinstance(before, Heard) and isinstance(now, Heard):
            answers = (
                kept if not _any_in(f"{place}.answers[{number}]", news) else new
                for number, (kept, new) in enumerate(zip(before.answers, now.answers, strict=True))
            )
            end = now.end if _any_in(f"{place}.end", news) else before.end
            merged.append(replace(now, answers=tuple(answers), end=end))
        else:
            merged.append(now if _any_in(place, news) else before)
    return tuple(merged)


def _may_differ(finding: Finding) -> bool:
    return finding.reason is not None or finding.path.rsplit(".", 1)[-1] in _RANDOM_IN_KAFKA


def _any_in(place: str, paths: Sequence[str]) -> bool:
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for path in paths)


def _shape(entry: Entry) -> tuple[Any, ...]:
    """Entries can be laid beside each other if these are the same."""
    if isinstance(entry, Heard):
        return Heard, entry.step, entry.conn, len(entry.answers)
    return type(entry), entry.partition


def _without_times(recording: Recording) -> Recording:
    return tuple(
        replace(entry, answers=tuple(replace(answer, after_ms=None) for answer in entry.answers))
        if isinstance(entry, Heard)
        else entry
        for entry in recording
    )


def _lines(entry: Entry) -> list[str]:
    if isinstance(entry, Heard):
        answers = [f"answer {entry.conn} {asked(answer.to)} {packed(answer.frame)}" for answer in entry.answers]
        return [*answers, f"{entry.step} {entry.conn} {entry.end}"]
    if isinstance(entry, Isr):
        return [f"isr {entry.partition} {','.join(map(str, entry.members)) or '-'}"]
    said = f"error={entry.error} start={entry.start} watermark={entry.watermark} end={entry.end}"
    return [f"log {entry.partition} {said}", *(f"batch {packed(batch)}" for batch in entry.batches)]


class _Reader:
    """Reads a file line by line; `found` is what it has read so far."""

    def __init__(self) -> None:
        self.found: list[Golden] = []
        self._version = ""
        self._answers: list[Answer] = []  # of the step that has not ended

    def read(self, parts: list[str]) -> None:
        """A line, split at its blanks. Raises ValueError or LookupError if it is none."""
        match parts:
            case ["kafka", version]:
                self._version = version
            case ["case", name, asks]:
                self.found.append(Golden(name, asks, (), self._version))
            case ["answer", _, *to, data]:
                self._answers.append(Answer(_sent(to), unpacked(data)))
            case ["settle" | "listen" | "hear" as step, conn, end]:
                self._add(Heard(step, conn, tuple(self._answers), end))
                self._answers.clear()
            case ["isr", partition, members]:
                self._add(Isr(partition, tuple(int(replica) for replica in members.split(",") if replica != "-")))
            case ["log", partition, *values]:
                error, start, watermark, log_end = (int(value.partition("=")[2]) for value in values)
                self._add(Log(partition, error, start, watermark, log_end, ()))
            case ["batch", data]:
                self._stored(unpacked(data))
            case _:
                raise ValueError("it is none of kafka, case, answer, settle, listen, isr, log, batch")

    def _add(self, entry: Entry) -> None:
        self.found[-1] = replace(self.found[-1], kafka=(*self.found[-1].kafka, entry))

    def _stored(self, batch: bytes) -> None:
        *before, log = self.found[-1].kafka
        if not isinstance(log, Log):
            raise ValueError("a batch stands behind a log")
        self.found[-1] = replace(self.found[-1], kafka=(*before, replace(log, batches=(*log.batches, batch))))


def _sent(to: list[str]) -> Sent | None:
    """Return the request of an answer line, which `asked` has written, split."""
    if to == ["?"]:
        return None
    name, version = to
    key = _KEYS[name] if name in _KEYS else int(name.removeprefix("UNKNOWN(").removesuffix(")"))
    return Sent(key, int(version.removeprefix("v")))


def _values(part: Any) -> tuple[Any, ...]:
    """A dataclass by name, with the fields that are not at their defaults."""
    given = [
        (field.name, getattr(part, field.name))
        for field in fields(part)
        if getattr(part, field.name) != _default(field)
    ]
    return type(part).__name__, *given


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()
