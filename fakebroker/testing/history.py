"""The judge of a journal: it finds records that were lost, duplicated, reordered or skipped.

    findings = check_history(kafka.journal)
    assert not findings, describe(findings)

Theory   The journal has each append with a fingerprint of each record, each response, and each end of a leadership. So
         the log can be rebuilt, record by record, and compared with the responses.

         - lost: a client got NONE (acks 1 or all), but the record is gone. A new leader did not have it; or the broker
           that responded did not know of a newer leader; or the batch was taken for a duplicate of another one with the
           same producer id, epoch and sequence, and that one has other records.
         - duplicate: the same record is twice in a topic. Records with equal key, value and headers are the same, so a
           test gives each record its own value.
         - reordered: a client tried a record before another one of the same partition, but it is behind that one.
         - gap: an offset was skipped. This is a fault of the broker, not of the client.

         Records deleted by retention or with their topic are not lost. Records of an aborted transaction may be written
         again in any order, so they are neither duplicates nor reordered. Transaction markers and the records of
         coordinators are all alike, and are not compared.
Limit    A client is identified by its client id, and "tried before" is the order of handling. A request that did not
         reach a log (unknown topic, wrong broker) has not tried a record.
Errors   ValueError if the journal has dropped events, as a judgement is then impossible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fakebroker.core.journal.events import Event
from fakebroker.testing.producers.findings import DUPLICATE, GAP, LOST, REORDERED, Finding, describe
from fakebroker.testing.producers.rebuilt import LoggedRecord, RebuiltLog, RebuiltLogs

__all__ = ["DUPLICATE", "GAP", "LOST", "REORDERED", "Finding", "check_history", "describe"]

KINDS = (LOST, DUPLICATE, REORDERED, GAP)


class _History(RebuiltLogs):
    def topic_deleted(self, topic: str) -> None:
        self._judge_topic(topic)

    def judge(self) -> None:
        for (topic, partition), log in self.logs.items():
            for broker in list(log.aside):
                self.judge_aside(topic, partition, log, broker)
        for topic in dict.fromkeys(topic for topic, _ in self.logs):
            self._judge_topic(topic)

    def _judge_topic(self, topic: str) -> None:
        seen: dict[str, tuple[int, int, LoggedRecord]] = {}
        for (name, partition), log in self.logs.items():
            if name != topic:
                continue
            for offset, record in sorted(log.records.items()):
                if not record.is_compared:
                    continue
                first = seen.setdefault(record.fingerprint, (partition, offset, record))
                if first[2] is not record:
                    self._duplicate(topic, partition, offset, record, first)
            self._judge_order(topic, partition, log)

    def _duplicate(
        self, topic: str, partition: int, offset: int, record: LoggedRecord, first: tuple[int, int, LoggedRecord]
    ) -> None:
        where = f"offset {first[1]}" if first[0] == partition else f"offset {first[1]} of partition {first[0]}"
        what = (
            f"the same record as at {where}, written by request {record.request} of client {record.client!r} "
            f"{record.at_ms - first[2].at_ms} ms after request {first[2].request}"
        )
        self.add(DUPLICATE, topic, partition, offset, what)

    def _judge_order(self, topic: str, partition: int, log: RebuiltLog) -> None:
        """Judge the order by the first place of each record: a later copy is a duplicate, not reordered."""
        latest: dict[str, tuple[int, int]] = {}  # client -> (number of the try, offset)
        placed: set[tuple[str, str]] = set()
        for offset, record in sorted(log.records.items()):
            who = record.client, record.fingerprint
            if who in placed or not record.is_compared:
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
    """Return the findings of these kinds in the order of the journal. Those that need its end come last."""
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"there is no kind {unknown[0]!r} of finding; there are: {', '.join(KINDS)}")
    history = _History()
    history.hear(journal)
    history.judge()
    return [finding for finding in history.findings if finding.kind in kinds]
