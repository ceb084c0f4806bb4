"""The judge of transactions: producers and readers report, and rules that do not depend on the coordinator are checked.
The names are Jepsen's.

    history = TransactionHistory()
    history.begins("t1", "producer")
    history.writes("t1", ("orders", 0), b"a")               # it sends a record; each has its own value

    history.written("t1", b"a", offset)                     # the record was acknowledged at this offset
    history.asks("t1", commits=True)                        # an EndTxn request; its result follows, if there is one
    history.ends("t1", committed=True)

    history.reads("me", ("orders", 0), offset, b"a", watermark=end)  # each record; the high watermark, if known
    history.passes("me", ("orders", 0), offset + 1)         # it has read everything visible below this

    history.finish()
    assert not history.findings, describe(history.findings)

Theory   Findings for a read_committed reader:

           aborted read      it got a record of a transaction that was aborted, or that its producer gave up

           precommitted read it got a record before its producer sent the commit

           fractured read    it got a part of a transaction's records in one partition before the rest was replicated,
                             so before the transaction marker can be: it sees one part now and another later.
                             Kafka promises no moment at which all of a transaction becomes visible: each partition
                             has its own marker, and another open transaction may delay the rest.

           torn transaction  it got one part of a transaction, and passed another for good; or the offsets of a
                             transaction are committed without its records, or the other way round

         Findings for every reader:

           lost write        a record was acknowledged, and its transaction was committed or the reader reads
                             uncommitted: the reader has passed it without getting it. Or another record had its
                             offset before

           duplicate         a record is at two offsets
           reordered         records of one producer are not in the order in which it sent them
           unsettled         a wait for the end of a transaction failed

         A producer sends a commit only after all of its records are acknowledged.
Limit    Topics that lose records (retention, unclean elections) cannot be judged. If a producer got no result for its
         transaction, only the readers' reports show how it ended.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakebroker.testing.history import Finding

ABORTED_READ, PRECOMMITTED_READ, FRACTURED_READ = "aborted read", "precommitted read", "fractured read"
TORN, LOST_WRITE = "torn transaction", "lost write"
DUPLICATE, REORDERED, UNSETTLED = "duplicate", "reordered", "unsettled"
ANOMALIES = (ABORTED_READ, PRECOMMITTED_READ, TORN, LOST_WRITE, FRACTURED_READ)
TRANSACTION_KINDS = (*ANOMALIES, DUPLICATE, REORDERED, UNSETTLED)

Place = tuple[str, int]  # topic and partition


class _Transaction:
    """A transaction. `cuts` has by partition the lowest high watermark that came with a part of it."""

    def __init__(self, name: str, producer: str) -> None:
        self.name, self.producer = name, producer
        self.records: list[_Record] = []
        self.asked: bool | None = None  # True for a commit, False for an abort
        self.committed: bool | None = None  # the reported result
        self.cuts: dict[Place, tuple[int, str]] = {}


class _Record:
    """A record. `offset` is its place, as far as reported; `is_sure` means that its producer reported it."""

    def __init__(self, value: bytes, place: Place, transaction: _Transaction | None) -> None:
        self.value, self.place, self.transaction = value, place, transaction
        self.offset = -1
        self.is_sure = False


class _Reader:
    def __init__(self, is_committed: bool) -> None:
        self.is_committed = is_committed
        self.given: dict[Place, dict[int, bytes]] = {}
        self.passed: dict[Place, int] = {}


class TransactionHistory:
    """The reports of producers and readers, as they happen. `findings` are the violations."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._transactions: dict[str, _Transaction] = {}
        self._records: dict[bytes, _Record] = {}
        self._standing: dict[tuple[Place, int], bytes] = {}
        self._readers: dict[str, _Reader] = {}
        self._effects: dict[tuple[Place, int], list[bytes]] = {}

    # Reports of producers.

    def begins(self, transaction: str, producer: str) -> None:
        self._transactions[transaction] = _Transaction(transaction, producer)

    def writes(self, transaction: str | None, place: Place, value: bytes) -> None:
        """Report a record that is sent, or will be, in a transaction or in none. Repetitions are ignored."""
        if value not in self._records:
            within = None if transaction is None else self._transactions[transaction]
            record = self._records[value] = _Record(value, place, within)
            if within is not None:
                within.records.append(record)

    def written(self, value: bytes, offset: int) -> None:
        """Report a record that was acknowledged with acks=all."""
        record = self._records[value]
        record.is_sure = True
        self._stands(record, offset, "its producer was told so")

    def asks(self, transaction: str, commits: bool) -> None:
        """Report an EndTxn request, or that the producer gives up (`commits` is False)."""
        self._transactions[transaction].asked = commits

    def ends(self, transaction: str, committed: bool) -> None:
        """Report the end of a transaction: its response, or a final refusal before a commit was possible."""
        ended = self._transactions[transaction]
        ended.committed = committed
        if not committed:
            for reader_name, reader in self._readers.items():
                for record in ended.records:
                    if reader.is_committed and record.offset in reader.given.get(record.place, {}):
                        self._add(
                            ABORTED_READ,
                            record,
                            f"{reader_name} has read it, and {ended.name} turned out to be aborted",
                        )

    def effect(self, place: Place, offset: int, value: bytes) -> None:
        """Report the output value of the input record at this offset, before it is written; each attempt has its
        own."""
        values = self._effects.setdefault((place, offset), [])
        if value not in values:
            values.append(value)

    # Reports of readers.

    def reads(
        self,
        reader: str,
        place: Place,
        offset: int,
        value: bytes,
        watermark: int | None = None,
        is_committed: bool = True,
    ) -> None:
        """Report a record that a reader got, with the high watermark of the response. `is_committed`: it reads
        committed data."""
        state = self._reader(reader, is_committed)
        state.given.setdefault(place, {})[offset] = value
        record = self._records.get(value)
        if record is None:
            self.findings.append(
                Finding(LOST_WRITE, *place, offset, f"{place} offset {offset}: no client wrote {value!r}")
            )
            return
        self._stands(record, offset, f"{reader} read it")
        if is_committed and record.transaction is not None:
            self._judge_read(reader, record, record.transaction)
            if watermark is not None:
                self._judge_part(reader, record, record.transaction, watermark)

    def passes(self, reader: str, place: Place, to: int, is_committed: bool = True) -> None:
        """Report that the reader got every record that it may read below this offset, from the beginning of the
        partition."""
        self._reader(reader, is_committed).passed[place] = to

    def unsettled(self, what: str) -> None:
        """Report a wait that failed."""
        self.findings.append(Finding(UNSETTLED, "", -1, -1, what))

    # The end.

    def finish(self, committed_offsets: Mapping[Place, int] | None = None) -> None:
        """Judge when all readers have read everything. `committed_offsets` are those of the group with reported
        effects."""
        for name, reader in self._readers.items():
            if reader.is_committed:
                for transaction in self._transactions.values():
                    self._judge_whole(name, reader, transaction)
            else:
                self._judge_lost(name, reader)
        self._judge_order()
        for place, to in (committed_offsets or {}).items():
            self._judge_effects(place, to)

    # Judgement.

    def _reader(self, name: str, is_committed: bool) -> _Reader:
        return self._readers.setdefault(name, _Reader(is_committed))

    def _stands(self, record: _Record, offset: int, who: str) -> None:
        if record.offset not in (-1, offset):
            self._add(DUPLICATE, record, f"it stands at {offset} as well: {who}")
        record.offset = offset
        value = self._standing.setdefault((record.place, offset), record.value)
        if value != record.value:
            self._add(LOST_WRITE, record, f"{value!r} stood there before: {who}")
        transaction = record.transaction
        cut = None if transaction is None else transaction.cuts.get(record.place)
        if transaction is not None and cut is not None and offset >= cut[0]:
            what = f"{cut[1]} has read a part of {transaction.name} when only what is below {cut[0]} was replicated"
            self._add(FRACTURED_READ, record, what)

    def _judge_read(self, reader: str, record: _Record, transaction: _Transaction) -> None:
        if transaction.committed is False or (transaction.asked is False and transaction.committed is None):
            what = "was aborted" if transaction.committed is False else "was given up by its producer"
            self._add(ABORTED_READ, record, f"{reader} read it, and {transaction.name} {what}")
        elif transaction.asked is None:
            self._add(PRECOMMITTED_READ, record, f"{reader} read {transaction.name} before its commit was requested")

    def _judge_part(self, reader: str, record: _Record, transaction: _Transaction, watermark: int) -> None:
        if watermark < transaction.cuts.get(record.place, (watermark + 1, ""))[0]:
            transaction.cuts[record.place] = watermark, reader
        for other in transaction.records:
            if other.place == record.place and other.offset >= watermark:
                what = f"{reader} read {record.value!r} of {transaction.name} at the watermark {watermark}"
                self._add(FRACTURED_READ, other, what)

    def _judge_whole(self, name: str, reader: _Reader, transaction: _Transaction) -> None:
        """Check that a read_committed reader got all of a transaction that it has passed, or nothing."""
        passed = [
            record
            for record in transaction.records
            if record.is_sure and record.offset < reader.passed.get(record.place, 0)
        ]
        missing = [record for record in passed if reader.given.get(record.place, {}).get(record.offset) != record.value]
        if not missing or transaction.committed is False:
            return
        if len(missing) < len(passed):
            what = f"{name} has passed it, and has read {len(passed) - len(missing)} others of {transaction.name}"
            self._add(TORN, missing[0], what)
        elif transaction.committed:
            self._add(LOST_WRITE, missing[0], f"{name} has passed it, and {transaction.name} was committed")

    def _judge_lost(self, name: str, reader: _Reader) -> None:
        for record in self._records.values():
            if record.is_sure and record.offset < reader.passed.get(record.place, 0):
                given = reader.given.get(record.place, {}).get(record.offset)
                if given != record.value:
                    self._add(LOST_WRITE, record, f"{name} reads all, has passed it, and was given {given!r}")

    def _judge_order(self) -> None:
        latest: dict[tuple[str, Place], _Record] = {}
        for record in self._records.values():  # in the order in which they were sent
            if record.transaction is None or record.offset < 0:
                continue
            key = record.transaction.producer, record.place
            before = latest.get(key)
            if before is not None and before.offset > record.offset:
                self._add(REORDERED, record, f"it was sent after {before.value!r}, which stands at {before.offset}")
            latest[key] = record

    def _judge_effects(self, place: Place, to: int) -> None:
        seen = {
            value
            for reader in self._readers.values()
            if reader.is_committed
            for given in reader.given.values()
            for value in given.values()
        }
        for offset in range(to):
            values = [value for value in self._effects.get((place, offset), []) if value in seen]
            if len(values) != 1:
                what = f"{to} is committed, and of its effects {values} are to be seen"
                self._add_at(TORN, place, offset, what)
        for (where, offset), tried in self._effects.items():
            if where == place and offset >= to and (values := [value for value in tried if value in seen]):
                self._add_at(TORN, place, offset, f"only {to} is committed, and its effects {values} are to be seen")

    def _add(self, kind: str, record: _Record, what: str) -> None:
        self._add_at(kind, record.place, record.offset, f"{record.value!r}: {what}")

    def _add_at(self, kind: str, place: Place, offset: int, what: str) -> None:
        where = f"{place[0]}-{place[1]}" + (f" offset {offset}" if offset >= 0 else "")
        self.findings.append(Finding(kind, *place, offset, f"{where}: {what}"))
