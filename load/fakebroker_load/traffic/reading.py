"""What a reader reads, how, and the rows that tell of it: shared by those of a group and those of none.

Theory   A row for each record that it was given, with the high watermark that the same answer told. Its key says which
         request of the run it is of, so judging knows what was sent and never read, and what was read and never sent.
         `done` is the last row of a reader; whoever has none has died.
"""

from __future__ import annotations

from typing import Any, Protocol

from fakebroker.protocol.record_batch import Record
from fakebroker_load.log import read_key
from fakebroker_load.plan import Row
from fakebroker_load.scenario.reads import Part, Reading
from fakebroker_load.traffic.committed import hidden_batches
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.client import Exchange, WireError, ask_metadata
from fakebroker_load.wire.log_messages import batches, decode_fetch, encode_fetch
from fakebroker_load.wire.messages import fingerprint

FETCH_WAIT_MS = 200
RETRY_S = 0.1
STALLED_S = 30.0  # nothing new for so long, and a reader ends
KEPT = ("run", "group", "connection", "topic", "client", "client_id")


class Noter(Protocol):
    """Who takes the rows: the task's load."""

    def has_sent(self) -> None: ...
    def note(self, row: Row, sent_ns: int | None, answered_ns: int | None, is_last: bool = False) -> None: ...


class Notes:
    """The rows of one reader, in the order in which it saw what they tell."""

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
        """`read` are fields of the column of that name."""
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


class Cursor:
    """Reads one partition from an offset on, at its leader, on a connection of its own. `of` is told with each row."""

    _correlation_id = 1

    def __init__(self, notes: Notes, topic: str, part: Part, reading: Reading, offset: int, **of: Any) -> None:
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
        """That the scenario sends."""
        if self._reading.is_transactional:
            return self.given >= self.part.records
        return self.position >= self.part.start + self.part.records

    async def fetch(self, wait_ms: int = FETCH_WAIT_MS) -> int:
        """How many records came. Raises ConnectionError, ProtocolError."""
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
        for base, last, records in batches(fetched.records):
            # Compressed, and so not ours: one row for all of them.
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
        """After an error: it may have moved. Raises WireError if nobody knows."""
        await self.close()
        metadata = await ask_metadata([self._leader, *self._reading.places], [self._topic])
        self._leader = metadata.leaders.get((self._topic, self.part.partition), self._leader)

    async def close(self) -> None:
        if self._caller is not None:
            self._correlation_id = self._caller.next_correlation_id
            await self._caller.close()
            self._caller = None


FAILED = (OSError, WireError)  # and ProtocolError: what a reader tries again after
