"""The content of the logs in the end: where they begin and end, and the connection over which they are read back.

Theory   A client's own notes cannot show that an acknowledged record is in the log. So the key of each record names its
         run and its request. The log ends are noted before and after the load, and all records in between are read.
         Judging joins them with the requests. A consumer reads up to the high watermark only. Records beyond it, which
         frozen followers do not have, are waited for, then reported as not readable.
Shape    `Part` is a partition before and after a run. LOG_SCHEMA has a row for each record; `connection` is null if its
         key is not of the run.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.record_batch import BatchHeader, Record
from fakebroker_load.results.column import INT, LONG, PARTITION, RUN, TEXT, TOPIC, YES_NO, Column, schema_of
from fakebroker_load.traffic.committed import hidden_batches
from fakebroker_load.wire.client import CONNECT_TIMEOUT_S, WireError
from fakebroker_load.wire.log_messages import (
    FetchedPartition,
    OffsetOutOfRangeError,
    RefusedError,
    decode_end_offset,
    decode_fetch,
    encode_end_offset,
    encode_fetch,
    records_of,
    whole_batches,
)
from fakebroker_load.wire.messages import ClusterMetadata, decode_metadata, encode_metadata, encode_probe

READABLE_WITHIN_S = 10.0
POLL_S = 0.05
FETCH_WAIT_MS = 500
MAX_ANSWER_BYTES = 128 << 20  # one batch may exceed the requested size

LOG_COLUMNS = (
    RUN,
    TOPIC,
    PARTITION,
    Column("offset", LONG, "offset of the record"),
    Column("connection", INT, "connection of the request that sent it, by its key; null: the key is not of this run"),
    Column("sequence", INT, "sequence of that request"),
    Column("value_crc", LONG, "CRC-32 of the record's value"),
    Column("fingerprint", TEXT, "digest of the whole record"),
    Column("visible", YES_NO, "true: shown to consumers that read committed transactions; null: the topic has none"),
    Column("timestamp_ms", LONG, "timestamp of the record; null: the topic has log append times"),
    Column("append_ms", LONG, "log append time of the record; null: the topic has the producers' times"),
    Column("producer_id", LONG, "producer id of the batch; -1: none"),
    Column("compression", TEXT, "compression of the batch"),
    Column(
        "problem",
        TEXT,
        "what is wrong with the batch, the partition from this offset on, or its metadata; null: nothing",
    ),
)
LOG_SCHEMA = schema_of(LOG_COLUMNS)
# Why no rule judges a column.
_FOUND = "They say with what the log was read, and what was found then stands in its records."
_HOW_READ = "They say how the log was read, and nothing of what was found."

PART_COLUMNS = (
    RUN,
    Column(
        "run_id",
        TEXT,
        "id of the run, with which its topics and the keys of its records begin or end",
        unjudged=_HOW_READ,
    ),
    TOPIC,
    PARTITION,
    Column("host", TEXT, "host of the leader in the end", unjudged=_HOW_READ),
    Column("port", INT, "port of the leader in the end", unjudged=_HOW_READ),
    Column("start_offset", LONG, "log end offset before the run"),
    Column("readable_offset", LONG, "offset up to which the log could be read behind the run: its high watermark"),
    Column("end_offset", LONG, "log end offset behind the run"),
    Column(
        "same_leader",
        YES_NO,
        "true: no leader was elected meanwhile",
        unjudged="If it is false, timed-out records may be lost, and fewer rules apply. A journal has the leaders.",
    ),
    Column("first_epoch", INT, "leader epoch before the run", unjudged=_FOUND),
    Column("leader_epoch", INT, "leader epoch behind the run"),
    Column(
        "followers",
        pa.list_(TEXT),
        "addresses, host:port, of the followers that are in sync in the end",
        unjudged=_FOUND,
    ),
    Column(
        "metadata_problem",
        TEXT,
        "what is wrong with the partition in a Metadata response; null: nothing",
        unjudged=_FOUND,
    ),
    Column(
        "transactional", YES_NO, "true: read as a consumer of committed transactions; null: not", unjudged=_HOW_READ
    ),
    Column("shown_offset", LONG, "high watermark that a Fetch was shown before stopped followers went on"),
    Column("shown_local", TEXT, "own address of the connection of that Fetch"),
    Column("shown_correlation_id", INT, "correlation id of that Fetch"),
    Column(
        "stood_still",
        YES_NO,
        "true: until then no follower had fetched, and none had left the ISR",
        unjudged="If it is not so, what timed out may have been replicated since, and less is claimed.",
    ),
)
PART_SCHEMA = schema_of(PART_COLUMNS)

Row = dict[str, Any]
Place = tuple[str, int]


@dataclass(frozen=True)
class LogEnd:
    """The log end of a partition at its leader."""

    host: str
    port: int
    leader_epoch: int
    offset: int
    followers: tuple[str, ...] = ()  # addresses of the followers in sync
    metadata_problem: str | None = None


class RecordsGone(WireError):
    """The log does not have this offset."""


class Unreadable(WireError):
    """The broker sent bytes that are no response to the request."""


class LogBatch(NamedTuple):
    """A batch of the log. `records` is None if they are compressed. `is_shown`: a read_committed consumer sees it."""

    header: BatchHeader
    data: bytes
    records: list[Record] | None
    is_shown: bool


class Asker:
    """A connection for one request after another."""

    def __init__(self, host: str, port: int) -> None:
        self._place = f"{host}:{port}"
        self._asked = 0
        try:
            self._socket = socket.create_connection((host, port), CONNECT_TIMEOUT_S)
        except OSError as error:
            raise WireError(f"The log cannot be read: {self._place} does not answer ({error}).") from None
        address = self._socket.getsockname()
        self.local = f"{address[0]}:{address[1]}"  # as the broker sees it, unless a proxy is in between

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    @property
    def correlation_id(self) -> int:
        """Return the correlation id of the last request."""
        return self._asked

    def probe(self) -> int:
        """Send a request without effect, and read its response. Return the correlation id."""
        self._ask(encode_probe(self._next()))
        return self.correlation_id

    def metadata(self, topic: str) -> ClusterMetadata:
        """Return the metadata of one topic. Raises WireError."""
        try:
            return decode_metadata(self._ask(encode_metadata(self._next(), [topic])))
        except ProtocolError as error:
            raise WireError(f"{self._place} does not say who leads {topic}: {error}") from None

    def end_offset(self, topic: str, partition: int, leader_epoch: int) -> int:
        """Return where the log ends. Raises WireError."""
        if leader_epoch < 0:
            raise WireError(f"The log of {topic}-{partition} cannot be read: its leader has the epoch {leader_epoch}")
        try:
            ask = encode_end_offset(self._next(), topic, partition, leader_epoch)
            return decode_end_offset(self._ask(ask), topic, partition, leader_epoch)
        except ProtocolError as error:
            raise WireError(f"The log of {topic}-{partition} cannot be read: {error}") from None

    def fetch(
        self, topic: str, partition: int, offset: int, max_wait_ms: int, is_committed: bool = False
    ) -> FetchedPartition:
        ask = encode_fetch(self._next(), topic, partition, offset, max_wait_ms, is_committed)
        try:
            return decode_fetch(self._ask(ask), topic, partition)
        except OffsetOutOfRangeError as error:
            raise RecordsGone(f"The log of {topic}-{partition} cannot be read: {error}") from None
        except ProtocolError as error:
            kind = WireError if isinstance(error, RefusedError) else Unreadable
            raise kind(f"The log of {topic}-{partition} cannot be read: {error}") from None

    def batches(self, topic: str, partition: int, offset: int, is_committed: bool = False) -> list[LogBatch]:
        """Return batches, beginning with the one that has this offset. Raises RecordsGone, Unreadable, WireError."""
        try:
            fetched = self.fetch(topic, partition, offset, FETCH_WAIT_MS, is_committed)
            hidden = hidden_batches(fetched) if is_committed else set()
            return [
                LogBatch(header, data, records_of(header, data), header.base_offset not in hidden)
                for header, data in whole_batches(fetched.records)
                if header.last_offset >= offset
            ]
        except ProtocolError as error:
            raise Unreadable(f"The log of {topic}-{partition} cannot be read at {offset}: {error}") from None

    def _next(self) -> int:
        self._asked += 1
        return self._asked

    def _ask(self, frame: bytes) -> bytes:
        try:
            self._socket.sendall(frame)
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 <= size <= MAX_ANSWER_BYTES:
                raise Unreadable(f"The log cannot be read: {self._place} sent a response of {size} bytes.")
            answer = self._receive(size)
        except OSError as error:
            raise WireError(f"The log cannot be read: {self._place} does not answer ({error}).") from None
        if answer[:4] != struct.pack(">i", self._asked):
            raise Unreadable(f"The log cannot be read: {self._place} responded to another request.")
        return answer

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise OSError("it has closed the connection")
            parts += part
        return bytes(parts)


def log_ends(metadata: ClusterMetadata) -> dict[Place, LogEnd]:
    """Return the present ends of these partitions' logs, at their leaders. Raises WireError."""
    ends: dict[Place, LogEnd] = {}
    for address in sorted(set(metadata.leaders.values())):
        with Asker(*address) as asker:
            for place in sorted(place for place, leader in metadata.leaders.items() if leader == address):
                epoch = metadata.epochs[place]
                end = asker.end_offset(*place, epoch)
                followers, problem = metadata.followers.get(place, ()), metadata.contradictions.get(place)
                ends[place] = LogEnd(*address, epoch, end, followers, problem)
    return ends


class ShownWatermark(NamedTuple):
    """The high watermark in the response to one of our Fetches."""

    offset: int
    local: str
    correlation_id: int


def shown_watermarks(ends: Mapping[Place, LogEnd]) -> dict[Place, ShownWatermark]:
    """Return the high watermarks that a consumer is shown now. Raises WireError."""
    shown: dict[Place, ShownWatermark] = {}
    for address in sorted({(end.host, end.port) for end in ends.values()}):
        with Asker(*address) as asker:
            for place, end in ends.items():
                if (end.host, end.port) == address:
                    watermark = _watermark(asker, place, end.offset)
                    shown[place] = ShownWatermark(watermark, asker.local, asker.correlation_id)
    return shown


def standing_still(frozen: Collection[str], metadata: ClusterMetadata) -> set[Place]:
    """Return the partitions of `frozen` topics of which no follower has left the ISR, by the present metadata. Their
    high watermarks cannot have moved."""
    return {place for place in metadata.whole if place[0] in frozen}


def await_readable(
    ends: Mapping[Place, LogEnd], within_s: float = READABLE_WITHIN_S, sleep: Callable[[float], None] = time.sleep
) -> dict[Place, int]:
    """Return the offset up to which a consumer can read each log. Wait until it is the log's end, or the time is
    over."""
    deadline = time.monotonic() + within_s
    readable: dict[Place, int] = {}
    left = dict(ends)
    while True:
        for address in sorted({(end.host, end.port) for end in left.values()}):
            with Asker(*address) as asker:
                for place, end in left.items():
                    if (end.host, end.port) == address:
                        readable[place] = min(end.offset, _watermark(asker, place, end.offset))
        left = {place: end for place, end in left.items() if readable[place] < end.offset}
        if not left or time.monotonic() > deadline:
            return readable
        sleep(POLL_S)


def _watermark(asker: Asker, place: Place, offset: int) -> int:
    """Return the high watermark that a consumer is shown; -1 if the log does not have this offset."""
    try:
        return asker.fetch(*place, offset, 0).high_watermark
    except RecordsGone:
        return -1


def part_rows(
    run: tuple[str, str],
    before: Mapping[Place, LogEnd],
    ends: Mapping[Place, LogEnd],
    readable: Mapping[Place, int],
    shown: Mapping[Place, ShownWatermark],
    transactional: Collection[str] = (),
    still: Collection[Place] = (),
) -> list[Row]:
    """Return rows of PART_SCHEMA for a run (its name and its id), with the logs since `before`. `transactional` are the
    topics with transactions. `still` are the partitions of which no follower had moved."""
    return [
        {
            "run": run[0],
            "run_id": run[1],
            "topic": place[0],
            "partition": place[1],
            "host": end.host,
            "port": end.port,
            "start_offset": before[place].offset,
            "readable_offset": readable[place],
            "end_offset": end.offset,
            "same_leader": before[place].leader_epoch == end.leader_epoch,
            "first_epoch": before[place].leader_epoch,
            "leader_epoch": end.leader_epoch,
            "followers": list(end.followers),
            "metadata_problem": end.metadata_problem or before[place].metadata_problem,
            "transactional": place[0] in transactional or None,
            "stood_still": place in still,
            **({f"shown_{name}": value for name, value in shown[place]._asdict().items()} if place in shown else {}),
        }
        for place, end in ends.items()
    ]


def make_key(run_id: str, connection: int, sequence: int) -> bytes:
    """Return the key of a record: its run and its request."""
    return f"{run_id}/{connection}/{sequence}".encode()


def read_key(run_id: str, key: bytes | None) -> tuple[int | None, int | None]:
    """Return connection and sequence; None for both if the key is not of that run."""
    match (key or b"").decode(errors="replace").split("/"):
        case [run, *numbers] if run == run_id and len(numbers) == 2:
            if all(number.isascii() and number.isdecimal() and len(number) < 10 for number in numbers):
                return int(numbers[0]), int(numbers[1])
    return None, None
