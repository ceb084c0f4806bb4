"""Reading back the log: keys, batches, records beyond the high watermark, and a broker that is gone."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
import zlib
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import produce

from fakebroker import FakeCluster
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import encode_response, response_type
from fakebroker.protocol.record_batch import Record, encode_batch, read_batch_header
from fakebroker_load.log import (
    LOG_SCHEMA,
    PART_SCHEMA,
    Asker,
    await_readable,
    log_ends,
    make_key,
    read_key,
)
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.spark.reading_back import in_ranges
from fakebroker_load.wire.client import WireError, find_leaders
from fakebroker_load.wire.log_messages import OFFSET_FOR_LEADER_EPOCH, batches, decode_end_offset, records_of
from fakebroker_load.worker import run_in_loop

PLACE = ("t", 0)


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"run",
        b"run/1",
        b"run/1/2/3",
        b"other/1/2",
        b"run/-1/2",
        b"run/x/2",
        b"run/1/9999999999",
        b"\xff/1/2",
    ],
)
def test_keys_of_others(key: bytes | None) -> None:
    assert read_key("run", key) == (None, None)


def test_a_key_is_read_as_it_was_made() -> None:
    assert read_key("run", make_key("run", 12, 345)) == (12, 345)


def batch(*keys: bytes, base: int = 0) -> bytes:
    return encode_batch([Record(key, b"v") for key in keys], base_timestamp_ms=0, base_offset=base)


def test_a_batch_that_is_cut_is_left_for_the_next_fetch() -> None:
    first, second = batch(b"a", b"b"), batch(b"c", base=2)
    assert [(base, last) for base, last, _ in batches(first + second[:-1])] == [(0, 1)]
    batches_read = list(batches(first + second))
    assert [(base, last) for base, last, _ in batches_read] == [(0, 1), (2, 2)]
    assert [[record.key for record in records or ()] for _, _, records in batches_read] == [[b"a", b"b"], [b"c"]]


@pytest.mark.parametrize("length", [-1, 0, -61, 48])
def test_a_batch_that_claims_too_little_is_no_batch(length: int) -> None:
    broken = bytearray(batch(b"a"))
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(ProtocolError, match="claims"):
        list(batches(bytes(broken)))


def rows(kafka: FakeCluster, start: int, readable: int) -> list[dict[str, Any]]:
    broker = kafka.endpoints[0]
    part = {
        "run": "r", "run_id": "id", "topic": "t", "partition": 0, "host": broker.host, "port": broker.port,
        "start_offset": start, "readable_offset": readable, "end_offset": readable, "same_leader": True,
    }  # fmt: skip
    given = pa.RecordBatch.from_pylist([part], schema=PART_SCHEMA)
    return [row for read_part in read_parts(iter([given])) for row in read_part.cast(LOG_SCHEMA).to_pylist()]


def test_what_stands_beyond_the_high_watermark() -> None:
    with FakeCluster(brokers=2, config={"replica.lag.time.max.ms": 3_600_000}) as kafka:
        kafka.create_topic("t", assignments=[[1, 2]])
        bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
        with RawClient(kafka.endpoints[0]) as client:
            client.ask(produce("t", records=batch(b"id/0/0", b"id/0/1"), acks=-1))
            kafka.followers.freeze("t")
            client.ask(produce("t", records=batch(b"else"), acks=1))
        ends = log_ends(run_in_loop(find_leaders(bootstrap, {"t": 1})))
        assert ends[PLACE].offset == 3
        assert await_readable(ends, within_s=0.05) == {PLACE: 2}
        waits: list[float] = []

        def thaw(seconds: float) -> None:
            waits.append(seconds)
            kafka.followers.resume("t")

        assert await_readable(ends, sleep=thaw) == {PLACE: 3}
        assert waits
        crc = zlib.crc32(b"v")
        assert [(row["offset"], row["connection"], row["sequence"], row["value_crc"]) for row in rows(kafka, 0, 3)] == [
            (0, 0, 0, crc), (1, 0, 1, crc), (2, None, None, crc)
        ]  # fmt: skip
        assert [row["offset"] for row in rows(kafka, 1, 2)] == [1]  # from within a batch, to within one
        (gone,) = rows(kafka, 9, 10)
        assert (gone["offset"], gone["connection"], gone["problem"]) == (9, None, "records gone")


def test_an_unreachable_broker_raises_a_wire_error() -> None:
    with pytest.raises(WireError, match="does not answer"):
        Asker("127.0.0.1", free_ports(1))


def test_records_that_cannot_be_read_are_none() -> None:
    batch = encode_batch([Record(b"k", b"v")], base_timestamp_ms=0)
    header = read_batch_header(batch)
    assert records_of(header, batch) == [Record(b"k", b"v", (), 0, 0)]
    assert records_of(header, batch[:-1] + b"\x7f") is None


def test_the_response_to_another_request_is_none() -> None:
    """The response is a repetition of an earlier one."""

    class Twice(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1_000)
            self.request.sendall(struct.pack(">ii", 4, 1) * 2)
            self.request.recv(1_000)

    with socketserver.TCPServer(("127.0.0.1", 0), Twice) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with Asker(*server.server_address) as asker:
            assert asker.probe() == 1
            with pytest.raises(WireError, match="responded to another request"):
                asker.probe()
        thread.join()


def test_in_ranges_the_same_is_read() -> None:
    with FakeCluster() as kafka, RawClient(kafka.endpoints[0]) as client:
        kafka.create_topic("t", 1, 3)
        batches_of = [
            batch(*(make_key("run", 0, 10 * count_ + one) for one in range(count_))) for count_ in (1, 4, 2, 9)
        ]
        for batch_ in batches_of:
            client.ask(produce("t", records=batch_, acks=-1))
        whole = rows(kafka, 0, 16)
        assert [row["offset"] for row in whole] == list(range(16))
        for offsets in range(1, 18):
            ranges = in_ranges([{"start_offset": 0, "readable_offset": 16}], offsets)
            parts = [rows(kafka, part["start_offset"], part["readable_offset"]) for part in ranges]
            assert [row for part in parts for row in part] == whole
    assert in_ranges([{"start_offset": 5, "readable_offset": 5}]) == []


def test_the_end_of_another_epoch_is_no_end() -> None:
    """Kafka returns the start of the first epoch for an epoch below it."""
    topics = [
        {
            "topic": "t",
            "partitions": [{"partition": 0, "error_code": ErrorCode.none, "leader_epoch": 2, "end_offset": 9}],
        }
    ]
    answer = build(response_type(OFFSET_FOR_LEADER_EPOCH, 3), {"throttle_time": timedelta(0), "topics": topics})
    frame = encode_response(answer, 1)[4:]
    assert decode_end_offset(frame, "t", 0, 2) == 9
    with pytest.raises(ProtocolError, match="is about epoch 2, the request was about 3"):
        decode_end_offset(frame, "t", 0, 3)


def test_a_leader_without_an_epoch_is_not_asked_where_its_log_ends() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Asker(*server.getsockname()) as asker,
        pytest.raises(WireError, match="The log of t-0 cannot be read: its leader has the epoch -1"),
    ):
        asker.end_offset("t", 0, -1)
