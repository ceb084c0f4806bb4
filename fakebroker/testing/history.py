"""Is what clients did to a cluster sound? Read from its journal: what was lost, doubled, reordered or left out.

    findings = check_history(kafka.journal)
    assert not findings, describe(findings)

Theory   The journal tells every append with a fingerprint of each record, every answer, and every end of a leadership.
         So the log can be built again, record by record, and held against what clients were told.
           lost        a client was told NONE (acks 1 or all), and then a new leader did not have the record
           duplicate   the same record stands in a topic twice: two records are the same if key, value and headers are,
                       so a test gives every record a value of its own
           reordered   a client tried a record before another one of the same partition, and it stands behind it
           gap         an offset that was skipped. The broker's fault, not the client's
         Records that retention deleted are not lost, nor are those of a topic that was deleted. What a transaction has
         written that was aborted may be written again, in any order: it is neither a duplicate nor out of order. Marks
         of transactions, and what coordinators write, are all alike, and are not compared.
Limit    A client is known by its client id, "tried before" by the order of handling. A request that never reached a log
         (unknown topic, wrong broker) has not tried anything.
Errors   ValueError if the journal has dropped events: then it cannot tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from fakebroker.core.journal.events import (
    NO_ERROR,
    Answer,
    Append,
    Dropped,
    Event,
    LeaderChanged,
    LogStartMoved,
    Produce,
    Request,
    TopicDeleted,
)
from fakebroker.core.journal.transaction_events import MarkerWritten

LOST, DUPLICATE, REORDERED, GAP = "lost", "duplicate", "reordered", "gap"
KINDS = (LOST, DUPLICATE, REORDERED, GAP)

_CANNOT_TELL = "the journal has dropped {} events, and cannot tell: keep more of them"

_NOT_COMPARED = ""
_ABORT = "ABORT"

_Place = tuple[str, int]  # topic and partition


class Finding(NamedTuple):
    """Something that is not as it should be. `offset` is where it stands, or stood; `sentence` says what it is."""

    kind: str
    topic: str
    partition: int
    offset: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


class _Record(NamedTuple):
    """A record in a log: its fingerprint, or NOT_COMPARED, who wrote it with which request, and when."""

    fingerprint: str
    client: str
    request: int
    at_ms: int


class _Log:
    def __init__(self) -> None:
        self.records: dict[int, _Record] = {}
        self.end = 0
        self.start = 0
        self.told: dict[int, int] = {}  # offset -> acks with which a client was told that it is there
        self.first_tried: dict[tuple[str, str], int] = {}  # (client, fingerprint) -> its number
        self.unmarked: dict[int, list[int]] = {}  # producer id -> offsets of its records behind its last mark


class _History:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.logs: dict[_Place, _Log] = {}
        self.clients: dict[int, str] = {}
        self.acks: dict[int, int] = {}
        self.appended: dict[tuple[int, str, int], Append] = {}
        self.tries = 0

    def log(self, topic: str, partition: int) -> _Log:
        return self.logs.setdefault((topic, partition), _Log())

    def add(self, kind: str, topic: str, partition: int, offset: int, what: str) -> None:
        self.findings.append(Finding(kind, topic, partition, offset, f"{topic}-{partition} offset {offset}: {what}"))

    def on(self, event: Event) -> None:
        match event:
            case Request():
                self.clients[event.request] = event.client_id or ""
            case Produce():
                self.acks[event.request] = event.acks
            case Append():
                self._append(event)
            case MarkerWritten():
                self._marked(event)
            case Answer():
                self._answer(event)
            case LeaderChanged():
                self._leader_changed(event)
            case LogStartMoved():
                self.log(event.topic, event.partition).start = event.log_start_offset
            case Dropped():
                raise ValueError(_CANNOT_TELL.format(event.events))
            case TopicDeleted():
                self._judge_topic(event.topic)
                self.logs = {place: log for place, log in self.logs.items() if place[0] != event.topic}

    def _append(self, event: Append) -> None:
        log, client = self.log(event.topic, event.partition), self.clients.get(event.request, "")
        for fingerprint in event.records:
            self.tries += 1
            log.first_tried.setdefault((client, fingerprint), self.tries)
        if event.error != NO_ERROR:
            return
        self.appended[event.request, event.topic, event.partition] = event
        if event.is_duplicate:
            return
        if event.base_offset != log.end:
            what = f"the log ended at {log.end}, and the next batch was put at {event.base_offset}"
            self.add(GAP, event.topic, event.partition, event.base_offset, what)
        is_of_coordinator = event.producer_id >= 0 > event.base_sequence
        for offset, fingerprint in enumerate(event.records, event.base_offset):
            said = _NOT_COMPARED if is_of_coordinator else fingerprint
            log.records[offset] = _Record(said, client, event.request, event.mono_ms)
        log.end = event.last_offset + 1
        if event.producer_id >= 0 and not is_of_coordinator:
            log.unmarked.setdefault(event.producer_id, []).extend(range(event.base_offset, log.end))

    def _marked(self, event: MarkerWritten) -> None:
        log = self.log(event.topic, event.partition)
        for offset in log.unmarked.pop(event.producer_id, []):
            if event.result == _ABORT and offset in log.records:
                log.records[offset] = log.records[offset]._replace(fingerprint=_NOT_COMPARED)

    def _answer(self, event: Answer) -> None:
        if event.outcome != "sent":
            return  # nobody was told
        for told in event.partitions:
            append = self.appended.get((event.request, told.topic, told.partition))
            if append is not None and told.error == NO_ERROR:
                acks = self.acks[event.request]
                log = self.log(told.topic, told.partition)
                for offset in range(append.base_offset, append.last_offset + 1):
                    log.told[offset] = acks

    def _leader_changed(self, event: LeaderChanged) -> None:
        if event.leader == -1:
            return
        log = self.log(event.topic, event.partition)
        for offset in range(max(event.log_end_offset, log.start), log.end):
            record, acks = log.records.pop(offset, None), log.told.pop(offset, None)
            if record is not None and acks is not None:
                how = "all" if acks == -1 else str(acks)
                what = (
                    f"client {record.client!r} was told that request {record.request} had succeeded (acks={how}), and "
                    f"broker {event.leader}, which leads since epoch {event.leader_epoch}, does not have the record"
                )
                self.add(LOST, event.topic, event.partition, offset, what)
        log.end = min(log.end, event.log_end_offset)
        log.unmarked = {
            producer_id: [offset for offset in offsets if offset < log.end]
            for producer_id, offsets in log.unmarked.items()
        }

    def judge(self) -> None:
        for topic in dict.fromkeys(topic for topic, _ in self.logs):
            self._judge_topic(topic)

    def _judge_topic(self, topic: str) -> None:
        seen: dict[str, tuple[int, int, _Record]] = {}
        for (name, partition), log in self.logs.items():
            if name != topic:
                continue
            for offset, record in sorted(log.records.items()):
                if record.fingerprint == _NOT_COMPARED:
                    continue
                first = seen.setdefault(record.fingerprint, (partition, offset, record))
                if first[2] is not record:
                    self._duplicate(topic, partition, offset, record, first)
            self._judge_order(topic, partition, log)

    def _duplicate(
        self, topic: str, partition: int, offset: int, record: _Record, first: tuple[int, int, _Record]
    ) -> None:
        where = f"offset {first[1]}" if first[0] == partition else f"offset {first[1]} of partition {first[0]}"
        what = (
            f"the same record as at {where}, written by request {record.request} of client {record.client!r} "
            f"{record.at_ms - first[2].at_ms} ms after request {first[2].request}"
        )
        self.add(DUPLICATE, topic, partition, offset, what)

    def _judge_order(self, topic: str, partition: int, log: _Log) -> None:
        """By the first place of each record: a duplicate further down is a duplicate, and no disorder."""
        latest: dict[str, tuple[int, int]] = {}  # client -> (number of the try, offset)
        placed: set[tuple[str, str]] = set()
        for offset, record in sorted(log.records.items()):
            who = record.client, record.fingerprint
            if who in placed or record.fingerprint == _NOT_COMPARED:
                continue
            placed.add(who)
            tried = log.first_tried[who]
            before = latest.get(record.client)
            if before is not None and tried < before[0]:
                what = f"client {record.client!r} tried this record before the one at offset {before[1]}"
                self.add(REORDERED, topic, partition, offset, what)
            else:
                latest[record.client] = tried, offset


def check_history(journal: Iterable[Event], kinds: Collection[str] = KINDS) -> list[Finding]:
    """What is wrong, of these kinds, in the order of the journal; all that needs its end comes last."""
    dropped = getattr(journal, "dropped", 0)
    if dropped:
        raise ValueError(_CANNOT_TELL.format(dropped))
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"there is no kind {unknown[0]!r} of finding; there are: {', '.join(KINDS)}")
    history = _History()
    for event in journal:
        history.on(event)
    history.judge()
    return [finding for finding in history.findings if finding.kind in kinds]


def describe(findings: Iterable[Finding]) -> str:
    """One line each."""
    return "\n".join(map(str, findings))
