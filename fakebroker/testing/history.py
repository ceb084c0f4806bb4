"""Is what clients did to a cluster sound? Read from its journal: what was lost, doubled, reordered or left out.

    findings = check_history(kafka.journal)
    assert not findings, describe(findings)

Theory   The journal tells every append with a fingerprint of each record, every answer, and every end of a leadership.
         So the log can be built again, record by record, and held against what clients were told.
           lost        a client was told NONE (acks 1 or all), and then a new leader did not have the record; or who
                       told him did not know that somebody else led by then; or his batch was taken for the duplicate of
                       another one, whose producer id, epoch and sequence it has, and other records stand there
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

from fakebroker.core.journal.events import Event
from fakebroker.testing.producers.findings import DUPLICATE, GAP, LOST, REORDERED, Finding, describe
from fakebroker.testing.producers.rebuilt import Log, LoggedRecord, RebuiltLogs

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

    def _judge_order(self, topic: str, partition: int, log: Log) -> None:
        """By the first place of each record: a duplicate further down is a duplicate, and no disorder."""
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
    """What is wrong, of these kinds, in the order of the journal; all that needs its end comes last."""
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"there is no kind {unknown[0]!r} of finding; there are: {', '.join(KINDS)}")
    history = _History()
    history.hear(journal)
    history.judge()
    return [finding for finding in history.findings if finding.kind in kinds]
