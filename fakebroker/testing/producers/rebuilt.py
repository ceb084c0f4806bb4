"""Logs rebuilt record by record from the events of a journal: appends, responses, leaderships.

Theory   A new leader reports its log end offset, and records beyond it are cut off. They return if the next leader has
         them: the journal does not report what followers fetch. So the earlier leader may have kept them, and a paused
         leader may have led in name only. They are gone for good when other records have their offsets. A leader that
         does not know of newer leaders appends to a log aside; the next leader may have these records, or no broker.
Errors   ValueError if the journal has dropped events and is incomplete.
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
    """A record in a log: the client, request and time of its write. `is_compared` is False if copies may be elsewhere
    or in any order."""

    fingerprint: str
    client: str
    request: int
    at_ms: int
    is_compared: bool


class _CutRecord(NamedTuple):
    """A record that the current leader does not have, the acks with which it was acknowledged, and its finding."""

    record: LoggedRecord
    acks: int | None
    finding: Finding | None


class RebuiltLog:
    def __init__(self, epoch: int = 0, begins: int = 0) -> None:
        """Create the log of leader epoch `epoch`; `begins` is where it diverges from the main log."""
        self.epoch = epoch
        self.begins = begins
        self.records: dict[int, LoggedRecord] = {}
        self.end = 0
        self.start = 0
        self.leader = -1
        self.aside: dict[int, RebuiltLog] = {}  # Appends of stale leaders, by broker.
        self.heard: list[int] = []  # Those that have learnt of newer leaders.
        self.told: dict[int, int] = {}  # Acks of acknowledged records, by offset.
        self.first_tried: dict[tuple[str, str], int] = {}  # Number of the try, by (client, fingerprint).
        self.cut: dict[int, _CutRecord] = {}  # Records that the current leader lacks, by offset.
        self.nameless = -1  # A request without fingerprints of its records.
        # By producer id: (offset, request) of its records after its last transaction marker.
        self.unmarked: dict[int, list[tuple[int, int]]] = {}


def _was_told(record: LoggedRecord, acks: int) -> str:
    how = "all" if acks == -1 else str(acks)
    return f"client {record.client!r} was told that request {record.request} had succeeded (acks={how})"


class RebuiltLogs:
    """The logs at the current event. `logs` are by topic and partition; `deleted` are those of deleted topics."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.logs: dict[_Place, RebuiltLog] = {}
        self.deleted: list[dict[_Place, RebuiltLog]] = []
        self.clients: dict[int, str] = {}
        self.acks: dict[int, int] = {}
        self.appended: dict[tuple[int, str, int], tuple[Append, RebuiltLog]] = {}
        self.tries = 0

    def log(self, topic: str, partition: int) -> RebuiltLog:
        return self.logs.setdefault((topic, partition), RebuiltLog())

    def add(self, kind: str, topic: str, partition: int, offset: int, what: str) -> Finding:
        finding = Finding(kind, topic, partition, offset, f"{topic}-{partition} offset {offset}: {what}")
        self.findings.append(finding)
        return finding

    def topic_deleted(self, topic: str) -> None:
        """Handle a topic that is about to be deleted; for subclasses."""

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
                log.aside[event.broker] = RebuiltLog(event.leader_epoch, log.end)
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
            return  # the client got no response
        for answered in event.partitions:
            appended = self.appended.get((event.request, answered.topic, answered.partition))
            if appended is not None and answered.error == NO_ERROR:
                acks = self.acks[event.request]
                append, log = appended
                if append.is_duplicate:
                    self._judge_likeness(append, log)
                for offset in range(append.base_offset, append.last_offset + 1):
                    log.told[offset] = acks

    def _judge_likeness(self, append: Append, log: RebuiltLog) -> None:
        """Check an acknowledged duplicate against the record at its offset, even if that was deleted meanwhile."""
        beneath = self.log(append.topic, append.partition).records
        for offset, fingerprint in enumerate(append.records, append.base_offset):
            there = log.records.get(offset) or (beneath.get(offset) if offset < log.begins else None)
            if there is not None and there.fingerprint != fingerprint:
                client = self.clients.get(append.request, "")
                claim = _was_told(there._replace(client=client, request=append.request), self.acks[append.request])
                what = (
                    f"{claim}, and the record that stands there is another one, of request {there.request}: the broker "
                    f"took the batch for that one's duplicate, by its producer id {append.producer_id}, epoch "
                    f"{append.producer_epoch} and sequence {append.base_sequence}"
                )
                self.add(LOST, append.topic, append.partition, offset, what)

    def _leader_changed(self, event: LeaderChanged) -> None:
        log = self.log(event.topic, event.partition)
        log.leader = event.leader
        if event.leader == -1:
            return
        if log.aside:  # a stale leader continued while no other broker led; the new leader may have its records
            whose = (
                event.leader if event.leader in log.aside else max(log.aside, key=lambda stale: log.aside[stale].epoch)
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
                log.cut[offset] = _CutRecord(record, acks, self._judge_cut(event, offset, record, acks))
        log.end = min(log.end, event.log_end_offset)

    def _give_back(self, log: RebuiltLog, end: int) -> None:
        """Restore records that the new leader has and the one before did not: a deposed leader truncates only when it
        fetches."""
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

    def judge_aside(self, topic: str, partition: int, log: RebuiltLog, broker: int) -> None:
        """Judge the log of a stale leader: it has learnt of a newer leader, which does not have its records."""
        aside = log.aside.pop(broker, None) or RebuiltLog()
        for offset, record in sorted(aside.records.items()):
            if offset in aside.told:
                claim = _was_told(record, aside.told[offset])
                what = f"{claim}, by broker {broker}, which did not know that it led no more"
                self.add(LOST, topic, partition, offset, what)


def logs_of(journal: Iterable[Event]) -> list[dict[tuple[str, int], RebuiltLog]]:
    """Return the logs of the last leaders, by topic and partition: first those of deleted topics, then the existing
    ones. Raises ValueError if the journal has dropped events."""
    rebuilt = RebuiltLogs()
    rebuilt.hear(journal)
    return [*rebuilt.deleted, rebuilt.logs]
