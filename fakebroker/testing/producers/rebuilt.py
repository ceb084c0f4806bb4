"""Logs rebuilt record by record from what a journal tells: each append, each answer, each leadership.

Theory   A new leader tells where its log ends, and what stood behind that is cut off. It comes back if the next leader
         has it: the journal does not tell what followers fetch, so who led before may have kept it, and a leader that
         stood still may have led in name only. It is gone for good when another record stands there.
         A leader that does not know that others lead appends to a log aside; who leads next may have that, or nobody.
Errors   ValueError if the journal has dropped events: then it cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fakebroker.core.journal.broker_events import LeaderStale, MetadataCaughtUp
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
from fakebroker.protocol.topic_name import is_internal
from fakebroker.testing.producers.findings import GAP, LOST, Finding

CANNOT_TELL = "the journal has dropped {} events, and cannot tell: keep more of them"

_ABORT = "ABORT"

_Place = tuple[str, int]  # topic and partition


class LoggedRecord(NamedTuple):
    """A record in a log: who wrote it with which request, when, and whether the same may stand elsewhere, or in any
    order."""

    fingerprint: str
    client: str
    request: int
    at_ms: int
    is_compared: bool


class _Cut(NamedTuple):
    """A record that the present leader does not have, the acks of who was told that it is there, and what was found."""

    record: LoggedRecord
    acks: int | None
    finding: Finding | None


class Log:
    def __init__(self, epoch: int = 0, begins: int = 0) -> None:
        """`epoch` is that in which somebody goes on, and `begins` where the log went on without him."""
        self.epoch = epoch
        self.begins = begins
        self.records: dict[int, LoggedRecord] = {}
        self.end = 0
        self.start = 0
        self.leader = -1
        self.aside: dict[int, Log] = {}  # broker -> what it appends while it does not know that others lead
        self.heard: list[int] = []  # who of these has heard since
        self.told: dict[int, int] = {}  # offset -> acks with which a client was told that it is there
        self.first_tried: dict[tuple[str, str], int] = {}  # (client, fingerprint) -> its number
        self.cut: dict[int, _Cut] = {}  # offset -> what the present leader does not have
        self.nameless = -1  # a request whose records have no fingerprints
        # producer id -> its records behind its last mark, by offset and request
        self.unmarked: dict[int, list[tuple[int, int]]] = {}


def _was_told(record: LoggedRecord, acks: int) -> str:
    how = "all" if acks == -1 else str(acks)
    return f"client {record.client!r} was told that request {record.request} had succeeded (acks={how})"


class RebuiltLogs:
    """What a journal has told so far: `logs` by topic and partition, `deleted` those of topics that are gone."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.logs: dict[_Place, Log] = {}
        self.deleted: list[dict[_Place, Log]] = []
        self.clients: dict[int, str] = {}
        self.acks: dict[int, int] = {}
        self.appended: dict[tuple[int, str, int], tuple[Append, Log]] = {}
        self.tries = 0

    def log(self, topic: str, partition: int) -> Log:
        return self.logs.setdefault((topic, partition), Log())

    def add(self, kind: str, topic: str, partition: int, offset: int, what: str) -> Finding:
        finding = Finding(kind, topic, partition, offset, f"{topic}-{partition} offset {offset}: {what}")
        self.findings.append(finding)
        return finding

    def topic_deleted(self, topic: str) -> None:
        """About to happen; for those who want to know."""

    def hear(self, journal: Iterable[Event]) -> None:
        dropped = getattr(journal, "dropped", 0)
        if dropped:
            raise ValueError(CANNOT_TELL.format(dropped))
        for event in journal:
            self.on(event)

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
            case LeaderStale():
                log = self.log(event.topic, event.partition)
                log.aside[event.broker] = Log(event.leader_epoch, log.end)
            case MetadataCaughtUp():
                for log in self.logs.values():
                    if event.broker in log.aside:
                        log.heard.append(event.broker)
            case LogStartMoved():
                self.log(event.topic, event.partition).start = event.log_start_offset
            case Dropped():
                raise ValueError(CANNOT_TELL.format(event.events))
            case TopicDeleted():
                self.topic_deleted(event.topic)
                self.deleted.append({place: log for place, log in self.logs.items() if place[0] == event.topic})
                self.logs = {place: log for place, log in self.logs.items() if place[0] != event.topic}

    def _append(self, event: Append) -> None:
        log, client = self.log(event.topic, event.partition), self.clients.get(event.request, "")
        for fingerprint in event.records:
            self.tries += 1
            log.first_tried.setdefault((client, fingerprint), self.tries)
        if event.error != NO_ERROR:
            return
        if event.broker in log.aside and event.broker != log.leader:
            log = log.aside[event.broker]
            log.end = max(log.end, event.base_offset)
        self.appended[event.request, event.topic, event.partition] = event, log
        if event.is_duplicate:
            return
        if event.base_offset != log.end:
            what = f"the log ended at {log.end}, and the next batch was put at {event.base_offset}"
            self.add(GAP, event.topic, event.partition, event.base_offset, what)
        if not event.records:
            self.log(event.topic, event.partition).nameless = event.request
        is_of_coordinator = is_internal(event.topic) or event.producer_id >= 0 > event.base_sequence
        for offset, fingerprint in enumerate(event.records, event.base_offset):
            log.cut.pop(offset, None)
            log.records[offset] = LoggedRecord(fingerprint, client, event.request, event.mono_ms, not is_of_coordinator)
        log.end = event.last_offset + 1
        if event.producer_id >= 0 and not is_of_coordinator:
            written = ((offset, event.request) for offset in range(event.base_offset, log.end))
            log.unmarked.setdefault(event.producer_id, []).extend(written)

    def _marked(self, event: MarkerWritten) -> None:
        log = self.log(event.topic, event.partition)
        for offset, request in log.unmarked.pop(event.producer_id, []):
            record = log.records.get(offset)
            if event.result == _ABORT and record is not None and record.request == request:
                log.records[offset] = record._replace(is_compared=False)

    def _answer(self, event: Answer) -> None:
        if event.outcome != "sent":
            return  # nobody was told
        for told in event.partitions:
            found = self.appended.get((event.request, told.topic, told.partition))
            if found is not None and told.error == NO_ERROR:
                acks = self.acks[event.request]
                append, log = found
                if append.is_duplicate:
                    self._judge_likeness(append, log)
                for offset in range(append.base_offset, append.last_offset + 1):
                    log.told[offset] = acks

    def _judge_likeness(self, append: Append, log: Log) -> None:
        """Somebody was told that his batch is there already. What has been deleted by now stood there nevertheless."""
        beneath = self.log(append.topic, append.partition).records
        for offset, fingerprint in enumerate(append.records, append.base_offset):
            there = log.records.get(offset) or (beneath.get(offset) if offset < log.begins else None)
            if there is not None and there.fingerprint != fingerprint:
                client = self.clients.get(append.request, "")
                told = _was_told(there._replace(client=client, request=append.request), self.acks[append.request])
                what = (
                    f"{told}, and the record that stands there is another one, of request {there.request}: the broker "
                    f"took the batch for that one's duplicate, by its producer id {append.producer_id}, epoch "
                    f"{append.producer_epoch} and sequence {append.base_sequence}"
                )
                self.add(LOST, append.topic, append.partition, offset, what)

    def _leader_changed(self, event: LeaderChanged) -> None:
        log = self.log(event.topic, event.partition)
        log.leader = event.leader
        if event.leader == -1:
            return
        if log.aside:  # while nobody else led it went on, and whoever leads now may have that
            whose = (
                event.leader if event.leader in log.aside else max(log.aside, key=lambda each: log.aside[each].epoch)
            )
            aside = log.aside[whose]
            for offset in range(log.end, min(aside.end, event.log_end_offset)):
                if offset in aside.records:
                    log.records[offset] = aside.records.pop(offset)
                if offset in aside.told:
                    log.told[offset] = aside.told.pop(offset)
            log.end = max(log.end, min(aside.end, event.log_end_offset))
        while log.heard:
            self.judge_aside(event.topic, event.partition, log, log.heard.pop())
        self._give_back(log, event.log_end_offset)
        for offset in range(max(event.log_end_offset, log.start), log.end):
            record, acks = log.records.pop(offset, None), log.told.pop(offset, None)
            if record is not None:
                log.cut[offset] = _Cut(record, acks, self._judge_cut(event, offset, record, acks))
        log.end = min(log.end, event.log_end_offset)

    def _give_back(self, log: Log, end: int) -> None:
        """A leader may have what the one before it had not: who is deposed cuts nothing off before it has fetched."""
        while log.end < end and log.end in log.cut:
            record, acks, finding = log.cut.pop(log.end)
            log.records[log.end] = record
            if acks is not None:
                log.told[log.end] = acks
            if finding is not None:
                self.findings.remove(finding)
            log.end += 1

    def _judge_cut(self, event: LeaderChanged, offset: int, record: LoggedRecord, acks: int | None) -> Finding | None:
        if acks is None:
            return None
        what = (
            f"{_was_told(record, acks)}, and broker {event.leader}, which leads since epoch {event.leader_epoch}, does "
            "not have the record"
        )
        return self.add(LOST, event.topic, event.partition, offset, what)

    def judge_aside(self, topic: str, partition: int, log: Log, broker: int) -> None:
        """A broker has heard that somebody else leads, and whoever was next does not have what it took meanwhile."""
        aside = log.aside.pop(broker, None) or Log()
        for offset, record in sorted(aside.records.items()):
            if offset in aside.told:
                told = _was_told(record, aside.told[offset])
                what = f"{told}, by broker {broker}, which did not know that it led no more"
                self.add(LOST, topic, partition, offset, what)


def logs_of(journal: Iterable[Event]) -> list[dict[tuple[str, int], Log]]:
    """The logs as their last leaders have them, by topic and partition: those of topics that were deleted, then those
    that are there. ValueError if the journal has dropped events."""
    rebuilt = RebuiltLogs()
    rebuilt.hear(journal)
    return [*rebuilt.deleted, rebuilt.logs]
