"""Followers with another log than their leader are found, and unknown parts are not claimed."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from support.raw_client import RawClient
from support.requests import produce, request

from fakebroker import FakeCluster
from fakebroker.core.clock import Now
from fakebroker.core.replication.follower import Follower
from fakebroker.core.replication.isr import update_follower_fetch_state
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker_load.log import PART_SCHEMA, log_ends, part_rows, shown_watermarks
from fakebroker_load.readback import followers
from fakebroker_load.readback.followers import NOT_ON_A_FOLLOWER, OTHER_ON_A_FOLLOWER, UNREADABLE_ON_A_FOLLOWER
from fakebroker_load.readback.parts import GONE, read_parts
from fakebroker_load.wire.client import find_leaders
from fakebroker_load.worker import run_in_loop

pytestmark = pytest.mark.interpreted

FIVE = 5
UNREADABLE = [UNREADABLE_ON_A_FOLLOWER]
DELETE_RECORDS = 21


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(followers, "CURRENT_WITHIN_S", 0.2)
    with FakeCluster(brokers=3, config={"replica.lag.time.max.ms": 3_600_000}) as cluster:
        cluster.create_topic("t", assignments=[[1, 2, 3]])
        yield cluster


def send(kafka: FakeCluster, count: int = FIVE) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        for number in range(count):
            records = encode_batch([Record(b"id/0/%d" % number, b"v")], base_timestamp_ms=0)
            client.ask(produce("t", records=records, acks=1))


def found(kafka: FakeCluster, act: Callable[[], Any] = lambda: None, **changes: Any) -> list[str]:
    """Return the findings about the partition besides its records."""
    bootstrap = [(broker.host, broker.port) for broker in kafka.endpoints]
    ends = log_ends(run_in_loop(find_leaders(bootstrap, {"t": 1})))
    readable = {place: shown.offset for place, shown in shown_watermarks(ends).items()}
    (part,) = part_rows(("r", "id"), ends, ends, readable, {})
    act()
    given = pa.RecordBatch.from_pylist([part | {"start_offset": 0} | changes], schema=PART_SCHEMA)
    rows = [row for read_part in read_parts(iter([given])) for row in read_part.to_pylist()]
    assert all(row["fingerprint"] is None for row in rows if row["problem"])
    return [row["problem"] for row in rows if row["problem"]]


def test_followers_that_have_all(kafka: FakeCluster) -> None:
    send(kafka)
    assert found(kafka) == []


def test_followers_that_say_that_they_have_it_and_do_not(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(self: Follower, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        if update_follower_fetch_state(self.partition, self._replica, up_to, caught_up_time_ms, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(self.partition)

    monkeypatch.setattr(Follower, "_copy", copy)
    send(kafka)
    assert found(kafka) == [NOT_ON_A_FOLLOWER] * 2


def test_a_follower_with_other_bytes(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(self: Any, part: Any, start: int, end: int) -> Any:
        digest = honest_read(self, part, start, end)
        digest.crc += 1
        return digest

    honest_read = followers.read_digest
    monkeypatch.setattr(followers, "read_digest", read)
    send(kafka)
    assert found(kafka) == [OTHER_ON_A_FOLLOWER] * 2


def test_followers_that_are_behind_and_those_that_are_gone_are_not_accused(kafka: FakeCluster) -> None:
    send(kafka)
    kafka.followers.freeze("t")
    send(kafka)
    assert found(kafka) == []  # what is shown is below the watermark, which they have
    assert found(kafka, act=kafka.brokers[2].kill) == []


def test_records_that_are_deleted_are_gone_and_the_rest_is_read(kafka: FakeCluster) -> None:
    send(kafka)
    values = {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": 2}]}]}
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(request(DELETE_RECORDS, 2, values | {"timeout": timedelta(seconds=5)}))
    assert found(kafka) == [GONE]


def test_a_log_that_is_shorter_than_it_was(kafka: FakeCluster) -> None:
    send(kafka)
    assert found(kafka, readable_offset=FIVE + 4, end_offset=FIVE + 4) == [GONE]


def test_what_metadata_says_and_cannot_be_is_told(kafka: FakeCluster) -> None:
    send(kafka)
    assert found(kafka, metadata_problem="in sync, and no replica") == ["in sync, and no replica"]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        pytest.param(lambda good: struct.pack(">i", -5), UNREADABLE, id="a negative length"),
        pytest.param(lambda good: good[:4] + bytes([good[4] ^ 1]) + good[5:], UNREADABLE, id="another id"),
        pytest.param(lambda good: good.replace(b"\x02t", b"\x02u"), UNREADABLE, id="about another topic"),
        pytest.param(
            lambda good: struct.pack(">i", 20) + good[4:24],
            UNREADABLE,
            id="the fields of half a response",
        ),
        pytest.param(lambda good: good[:24], [], id="cut by the end of the connection"),
        pytest.param(lambda good: b"", [], id="no response"),
        pytest.param(lambda good: good, [], id="the leader's own response"),
    ],
)
def test_a_follower_whose_bytes_are_no_response_is_a_finding(
    kafka: FakeCluster, response: Callable[[bytes], bytes], expected: list[str]
) -> None:
    """The follower is a proxy of the leader."""
    send(kafka)
    leader = kafka.endpoints[0]

    class Follower(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with socket.create_connection((leader.host, leader.port)) as upstream:
                while (head := self.rfile.read(4)) and (body := self.rfile.read(*struct.unpack(">i", head))):
                    upstream.sendall(head + body)
                    frame = read_frame(upstream)
                    if (garbled := response(frame)) != frame:
                        self.wfile.write(garbled)
                        return
                    self.wfile.write(frame)

    with socketserver.TCPServer(("127.0.0.1", 0), Follower) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert found(kafka, followers=["{}:{}".format(*server.server_address)]) == expected
        thread.join()


def test_a_follower_that_refuses_is_not_compared(kafka: FakeCluster) -> None:
    send(kafka)
    fault = kafka.faults.add(when={"api": "Fetch", "broker": 2}, do="NOT_LEADER_OR_FOLLOWER", times="every_time")
    assert found(kafka) == []
    assert fault.hits > 0


def read_frame(sock: socket.socket) -> bytes:
    with sock.makefile("rb") as file:
        head = file.read(4)
        return head + file.read(*struct.unpack(">i", head))
