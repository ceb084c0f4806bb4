"""The common parts of readers with and without a group: reading a partition, and their rows.

Theory   Each record that a reader gets has a row, with the high watermark in the same response. Its key names the
         request of the run. So judging knows which records were sent and not read, and which were read and not sent.
         A batch that contradicts itself has a row of its own, whether or not its records are for this reader.
         `done` is the last row of a reader; a reader without it has died.
"""

from __future__ import annotations

from typing import Any, Protocol

from fakebroker.protocol.record_batch import Record
from fakebroker_load.log import read_key
from fakebroker_load.plan import Row
from fakebroker_load.readback.batches import problem_of
from fakebroker_load.scenario.reads import PartitionToRead, ReaderOptions
from fakebroker_load.traffic.committed import hidden_batches
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.client import Exchange, WireError, ask_metadata
from fakebroker_load.wire.log_messages import decode_fetch, encode_fetch, records_of, whole_batches
from fakebroker_load.wire.messages import fingerprint

FETCH_WAIT_MS = 200
RETRY_S = 0.1
STALLED_S = 30.0  # a reader ends after this long without progress
KEPT = ("run", "group", "connection", "topic", "client", "client_id")


class Noter(Protocol):
    """The task's load, which takes the rows."""

    def has_sent(self) -> None: ...
    def note(self, row: Row, sent_ns: int | None, answered_ns: int | None, is_last: bool = False) -> None: ...


class Notes:
    """The rows of one reader, in the order of what it saw."""

    def __init__(self, load: Noter, row: Row, run_id: str, group_id: str | None = None) -> None:
        self._load = load
        self._kept = {name: row[name] for name in KEPT}
        self._run_id = run_id
        self._group_id = group_id
        self._sequence = 0

    def add(
        self,
        what: str,
        exchange: Exchange | None = None,
        *,
        outcome: str | None = None,
        error_code: int | None = None,
        local: str | None = None,
        fingerprint: str | None = None,
        partition: int | None = None,
        **read: Any,
    ) -> None:
        """Add a row. `read` are fields of the column `read`."""
        own: Row = {
            "sequence": self._sequence,
            "correlation_id": exchange and exchange.correlation_id,
            "partition": partition,
            "outcome": outcome or what,
            "error_code": error_code,
            "local": local,
            "fingerprint": fingerprint,
            "read": {"what": what, "group_id": self._group_id, **read},
        }
        self._sequence += 1
        times = (exchange.sent_ns, exchange.answered_ns) if exchange else (None, None)
        self._load.note(self._kept | own, *times, is_last=what == "done")

    def record(
        self,
        exchange: Exchange,
        local: str,
        partition: int,
        offset: int,
        high_watermark: int,
        record: Record,
        **of: Any,
    ) -> None:
        connection, sequence = read_key(self._run_id, record.key)
        self.add(
            "record",
            exchange,
            outcome="read",
            local=local,
            partition=partition,
            fingerprint=fingerprint(record),
            offset=offset,
            high_watermark=high_watermark,
            of_connection=connection,
            of_sequence=sequence,
            **of,
        )

    def damaged(self, exchange: Exchange, local: str, partition: int, offset: int, problem: str, **of: Any) -> None:
        """Add the row of a batch with a problem of readback/batches.py, which is about the log."""
        outcome = problem.replace("stored", "read")
        self.add("batch", exchange, outcome=outcome, local=local, partition=partition, offset=offset, **of)


class Cursor:
    """A position in one partition, read from its leader on its own connection. `of` are fields for each row."""

    _correlation_id = 1

    def __init__(
        self, notes: Notes, topic: str, part: PartitionToRead, reading: ReaderOptions, offset: int, **of: Any
    ) -> None:
        self._notes = notes
        self._topic = topic
        self.part = part
        self._reading = reading
        self._of = of
        self._leader = part.host, part.port
        self._caller: Caller | None = None
        self.position = offset
        self.given = 0

    @property
    def has_all(self) -> bool:
        """Return True if it has all records that the scenario sends."""
        if self._reading.is_transactional:
            return self.given >= self.part.records
        return self.position >= self.part.start + self.part.records

    async def fetch(self, wait_ms: int = FETCH_WAIT_MS) -> int:
        """Fetch once, and return the number of records. Raises ConnectionError, ProtocolError."""
        if self._caller is None:
            self._caller = await Caller.of(*self._leader, self._correlation_id)
        place, reading = (self._topic, self.part.partition), self._reading
        exchange, answer = await self._caller.ask(
            lambda number: encode_fetch(
                number, *place, self.position, wait_ms, reading.is_committed, reading.fetch_bytes
            ),
            wait_ms,
        )
        fetched = decode_fetch(answer, *place)
        hidden = hidden_batches(fetched) if reading.is_committed else set()
        before = self.given
        for header, data in whole_batches(fetched.records):
            base, last, records = header.base_offset, header.last_offset, records_of(header, data)
            if problem := problem_of(header, data, records):
                self._notes.damaged(exchange, self._caller.local, self.part.partition, base, problem, **self._of)
            # A batch that cannot be decompressed has one row for all of its records.
            for record in [Record(None, None)] if records is None else records:
                offset = base + (record.offset_delta or 0)
                if offset >= self.position and base not in hidden:
                    watermark = fetched.high_watermark
                    self._notes.record(
                        exchange, self._caller.local, self.part.partition, offset, watermark, record, **self._of
                    )
                    self.given += 1
            self.position = max(self.position, last + 1)
        return self.given - before

    async def find_leader(self) -> None:
        """Ask for the leader after an error, as it may have moved. Raises WireError if no broker responds."""
        await self.close()
        metadata = await ask_metadata([self._leader, *self._reading.places], [self._topic])
        self._leader = metadata.leaders.get((self._topic, self.part.partition), self._leader)

    async def close(self) -> None:
        if self._caller is not None:
            self._correlation_id = self._caller.next_correlation_id
            await self._caller.close()
            self._caller = None


FAILED = (OSError, WireError)  # with ProtocolError: the errors after which a reader tries again
