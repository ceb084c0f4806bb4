"""The judge of producers: their calls and results, compared with the records in the logs.

    history = ProducerHistory()
    call = history.invokes("me", "orders", b"a")         # before the call; each record has its own value

    call.ok(partition, offset)                           # the client reported success; or
    call.failed("NOT_ENOUGH_REPLICAS")                   # refused or possibly written, by certainty.py; or
    call.unknown("timed out")                            # possibly written

    findings = history.check(kafka.journal)              # compare with the broker's journal; or
    findings = history.check_read(records)               # with records that were read, on any broker
    assert not findings, describe(findings)

    stock.py records stock clients:  producer = recorded(Producer(...), history)

Theory   A record is written or not, and the client knows which, or does not know. So a finding of a record is
           lost              it was acknowledged, and is nowhere in its topic
           misplaced         it was acknowledged at one place, and is only at another one
           written           each call was certainly refused, but the record is there
           duplicate         it is twice in a topic
           reordered         a client was called for it before another record of its partition, but it is behind that
                             one, and no later call explains that

         A record with an unknown outcome may be there once, or not: neither is a finding.

         `check_history` judges the broker by its responses; this judges both ends by the results of the client. It
         also finds a client that retries when it should not, takes an error for a success, or gives up too late.
Limit    Records are the same if key, value and headers are. Transactions have their own judge: records of an aborted
         transaction count as there, and are neither duplicates nor reordered. Records deleted by retention count as
         written. A log that was read begins at its first record.
Errors   ValueError if the journal is incomplete: it has dropped events, or a batch was too large for fingerprints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from threading import Lock
from typing import Final, NamedTuple

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.fingerprints import fingerprint
from fakebroker.protocol.record_batch import Record
from fakebroker.testing.producers.calls import CallOutcome, ProducerCall
from fakebroker.testing.producers.findings import DUPLICATE, LOST, REORDERED, Finding
from fakebroker.testing.producers.rebuilt import logs_of

MISPLACED, WRITTEN = "misplaced", "written"
PRODUCER_KINDS: Final = (LOST, MISPLACED, WRITTEN, DUPLICATE, REORDERED)

_Place = tuple[str, int]  # topic and partition


class ReadRecord(NamedTuple):
    """A record as a consumer read it."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class JudgedRecord(NamedTuple):
    """A record in a log. `is_compared` is False if copies may be elsewhere, as after an abort."""

    fingerprint: str
    is_compared: bool = True


class JudgedLog(NamedTuple):
    """The records of a log by offset, and its start: earlier records are not known any more."""

    records: Mapping[int, JudgedRecord]
    start: int = 0


class _Copy(NamedTuple):
    life: int
    partition: int
    offset: int
    is_compared: bool


class ProducerHistory:
    """The calls to clients in their order, with their results. Results may be reported from any thread."""

    def __init__(self) -> None:
        self.calls: list[ProducerCall] = []
        self.producers = 0  # number of recorded producers
        self._lock = Lock()

    def invokes(
        self,
        client: str,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> ProducerCall:
        """Record a call before it is made. `client` is the scope of ordering guarantees: one producer."""
        with self._lock:
            call = ProducerCall(len(self.calls) + 1, client, topic, value, key, headers)
            self.calls.append(call)
        return call

    def check(self, journal: Iterable[Event], kinds: Collection[str] = PRODUCER_KINDS) -> list[Finding]:
        """Return the findings of these kinds, by the logs in a broker's journal."""
        topics = {call.topic for call in self.calls}
        lives: list[dict[_Place, JudgedLog]] = []
        for life in logs_of(journal):
            lives.append({})
            for place, log in life.items():
                if place[0] in topics and log.nameless >= 0:
                    raise ValueError(
                        f"the journal has no fingerprints of the records of request {log.nameless}, which has put more "
                        f"into {place[0]}-{place[1]} than it looks at: write smaller batches"
                    )
                lives[-1][place] = JudgedLog(
                    {
                        offset: JudgedRecord(record.fingerprint, record.is_compared)
                        for offset, record in log.records.items()
                    }
                )
        return self.check_logs(lives, kinds)

    def check_read(self, records: Iterable[ReadRecord], kinds: Collection[str] = PRODUCER_KINDS) -> list[Finding]:
        """Return the findings, by all records that a consumer has read (`read_uncommitted`) from the beginning to the
        end."""
        logs: dict[_Place, dict[int, JudgedRecord]] = {}
        for record in records:
            said = fingerprint(Record(record.key, record.value, record.headers))
            logs.setdefault((record.topic, record.partition), {})[record.offset] = JudgedRecord(said)
        return self.check_logs([{place: JudgedLog(log, min(log)) for place, log in logs.items()}], kinds)

    def check_logs(
        self, lives: Iterable[Mapping[_Place, JudgedLog]], kinds: Collection[str] = PRODUCER_KINDS
    ) -> list[Finding]:
        """Return the findings, by logs. If a topic was deleted and created again, there is one set of logs for each
        life, in any order."""
        unknown = sorted(set(kinds) - set(PRODUCER_KINDS))
        if unknown:
            raise ValueError(f"there is no kind {unknown[0]!r} of finding; there are: {', '.join(PRODUCER_KINDS)}")
        check = _ProducerCheck(self.calls, list(lives))
        check.run()
        return sorted(
            (finding for finding in check.findings if finding.kind in kinds),
            key=lambda finding: (finding.topic, finding.partition, finding.offset, PRODUCER_KINDS.index(finding.kind)),
        )


class _ProducerCheck:
    def __init__(self, calls: Iterable[ProducerCall], lives: list[Mapping[_Place, JudgedLog]]) -> None:
        self.findings: list[Finding] = []
        self.lives = lives
        self.calls: dict[tuple[str, str], list[ProducerCall]] = {}  # (topic, fingerprint) -> calls in order
        for call in calls:
            self.calls.setdefault((call.topic, call.fingerprint), []).append(call)
        self.copies: dict[tuple[str, str], list[_Copy]] = {}
        self.is_cut: set[str] = set()  # topics of which a log does not start at 0
        for number, life in enumerate(lives):
            for (topic, partition), log in sorted(life.items()):
                if log.start:
                    self.is_cut.add(topic)
                for offset, record in sorted(log.records.items()):
                    if (topic, record.fingerprint) in self.calls:
                        copy = _Copy(number, partition, offset, record.is_compared)
                        self.copies.setdefault((topic, record.fingerprint), []).append(copy)

    def run(self) -> None:
        for what, calls in self.calls.items():
            copies = self.copies.get(what, [])
            self._judge_acknowledged(calls, copies)
            compared = [copy for copy in copies if copy.is_compared]
            if compared and not any(call.may_have_written for call in calls):
                self._judge_refused(calls[-1], compared[0])
            self._judge_copies(calls, compared)
        for number, life in enumerate(self.lives):
            for place, log in life.items():
                self._judge_order(number, place, log)

    def _add(self, kind: str, call: ProducerCall, partition: int, offset: int, what: str) -> None:
        where = call.topic if partition < 0 else f"{call.topic}-{partition} offset {offset}"
        self.findings.append(Finding(kind, call.topic, partition, offset, f"{where}: {call.shown}: {what}"))

    def _judge_acknowledged(self, calls: list[ProducerCall], copies: list[_Copy]) -> None:
        acknowledged = [call for call in calls if call.outcome is CallOutcome.OK]
        missed = [call for call in acknowledged if call.offset >= 0]
        claimed: set[_Copy] = set()
        for call in list(missed):
            here = [copy for copy in copies if (copy.partition, copy.offset) == (call.partition, call.offset)]
            if here:
                claimed.update(here)
                missed.remove(call)
            elif self._is_deleted(call):
                missed.remove(call)
        if not copies and calls[0].topic not in self.is_cut:
            missed += [call for call in acknowledged if call.offset < 0]
        elsewhere = [copy for copy in copies if copy not in claimed]
        for call in missed:
            said = f"client {call.client!r} was told that it stands here"
            if elsewhere:
                at = elsewhere[0]
                self._add(
                    MISPLACED,
                    call,
                    call.partition,
                    call.offset,
                    f"{said}, and it stands at offset {at.offset} of partition {at.partition}",
                )
            elif call.offset < 0:
                self._add(LOST, call, -1, -1, f"client {call.client!r} was told that it is written, and it is not")
            else:
                self._add(LOST, call, call.partition, call.offset, f"{said}, and {self._instead(call)}")

    def _is_deleted(self, call: ProducerCall) -> bool:
        place = call.topic, call.partition
        return any(place in life and call.offset < life[place].start for life in self.lives)

    def _instead(self, call: ProducerCall) -> str:
        place = call.topic, call.partition
        is_taken = any(place in life and call.offset in life[place].records for life in self.lives)
        return "another record does" if is_taken else "nothing does"

    def _judge_refused(self, call: ProducerCall, copy: _Copy) -> None:
        why = f" ({call.error})" if call.error else ""
        what = f"client {call.client!r} was told that it is not written{why}, and it stands here"
        self._add(WRITTEN, call, copy.partition, copy.offset, what)

    def _judge_copies(self, calls: list[ProducerCall], copies: list[_Copy]) -> None:
        first: dict[int, _Copy] = {}
        for copy in copies:
            one = first.setdefault(copy.life, copy)
            if one is not copy:
                times = "once" if len(calls) == 1 else f"{len(calls)} times"
                where = f"offset {one.offset}" + (f" of partition {one.partition}" * (one.partition != copy.partition))
                what = f"it stands at {where} as well; client {calls[0].client!r} was asked for it {times}"
                self._add(DUPLICATE, calls[0], copy.partition, copy.offset, what)

    def _judge_order(self, life: int, place: _Place, log: JudgedLog) -> None:
        """Judge the order by the first place of each record: a later copy is a duplicate, not reordered."""
        latest: dict[str, tuple[ProducerCall, int]] = {}  # client -> its last call so far, and the offset
        placed: set[str] = set()
        for offset, record in sorted(log.records.items()):
            calls = [call for call in self.calls.get((place[0], record.fingerprint), ()) if call.may_have_written]
            if not calls or not record.is_compared or record.fingerprint in placed:
                continue
            placed.add(record.fingerprint)
            client = calls[0].client
            if any(call.client != client for call in calls):
                continue  # several clients: the order is unknown
            before = latest.get(client)
            if before is not None and calls[-1].number < before[0].number:
                what = (
                    f"client {client!r} was asked for it before {before[0].shown}, which stands at offset {before[1]}"
                )
                self._add(REORDERED, calls[-1], place[1], offset, what)
            if before is None or calls[0].number > before[0].number:
                latest[client] = calls[0], offset
