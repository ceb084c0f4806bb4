"""Requests larger than one read of the socket, on both event loops."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import Produced, batch, fetch, metadata, produce
from support.topics import topic_of
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.protocol.varint import encode_unsigned_varint
from fakebroker.server import fake_cluster

LARGE = bytes(range(256)) * 3_900  # just below max.message.bytes, as the value of one record


@pytest.fixture(params=["uvloop", "asyncio"])
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    if request.param == "asyncio":
        monkeypatch.setattr(fake_cluster, "new_event_loop", asyncio.new_event_loop)
    else:
        pytest.importorskip("uvloop")
    with FakeCluster(brokers=1) as running:
        running.create_topic("t")
        yield running


@pytest.fixture
def client(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.endpoints[0]) as raw:
        yield raw


def log_of(kafka: FakeCluster) -> list[bytes]:
    """Return the batches in the leader's log of partition 0, as the clients sent them."""
    partition = topic_of(kafka._cluster.server.driver.cluster).partitions[0]
    return kafka._call(lambda: [logged.records for logged in partition.leader_log.batches])


def test_pipelined_large_and_small_requests_are_handled_in_order(kafka: FakeCluster, client: RawClient) -> None:
    sent = [batch(LARGE + b"%d" % number) if number % 3 else batch(b"%d" % number) for number in range(12)]
    client.send(*(produce("t", records=records, correlation_id=number) for number, records in enumerate(sent)))

    answers = [client.receive() for _ in sent]

    assert [Produced(answer).partitions for answer in answers] == [{0: (0, number)} for number in range(12)]
    assert [int.from_bytes(answer[:4], "big") for answer in answers] == list(range(12))
    assert log_of(kafka) == sent


@pytest.mark.parametrize("piece_bytes", [5_000, 100_000])
def test_a_large_request_can_arrive_in_many_pieces(kafka: FakeCluster, client: RawClient, piece_bytes: int) -> None:
    records = batch(LARGE)
    frame = produce("t", records=records)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for start in range(0, len(frame), piece_bytes):
        client.send(frame[start : start + piece_bytes])

    assert Produced(client.receive()).partitions == {0: (0, 0)}
    assert log_of(kafka) == [records]


def test_large_and_small_requests_without_a_journal() -> None:
    """Other classes handle requests if there is no journal."""
    sent = [batch(LARGE), batch(b"small"), batch(LARGE)]
    with FakeCluster(brokers=1, journal=0) as kafka:
        kafka.create_topic("t")
        with RawClient(kafka.endpoints[0]) as client:
            client.send(*(produce("t", records=records) for records in sent))
            assert [Produced(client.receive()).partitions for _ in sent] == [{0: (0, offset)} for offset in range(3)]
        assert log_of(kafka) == sent


def test_large_requests_of_several_clients_can_arrive_piece_by_piece_at_the_same_time(kafka: FakeCluster) -> None:
    clients = [RawClient(kafka.endpoints[0]) for _ in range(6)]
    sent = [batch(bytes([number]) * 900_000) for number in range(6)]
    frames = [produce("t", records=records) for records in sent]
    for start in range(0, len(frames[0]), 70_000):
        for client, frame in zip(clients, frames, strict=True):
            client.send(frame[start : start + 70_000])
    for client in clients:
        assert list(Produced(client.receive()).partitions) == [0]
        client.socket.close()
    assert sorted(log_of(kafka)) == sorted(sent)


@pytest.mark.parametrize("cut", [40_000, 300_000, 900_000])
def test_a_client_that_leaves_in_the_middle_of_a_large_request_leaves_one_line(
    kafka: FakeCluster, client: RawClient, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    client.send(produce("t", records=batch(LARGE))[:cut])
    client.socket.shutdown(socket.SHUT_WR)

    assert client.is_closed_by_broker()
    wait_until(lambda: bool(caplog.messages), "the line in the log")
    (line,) = caplog.messages
    assert line.endswith(f"went away in the middle of a request: {cut} bytes of it had arrived")


@pytest.mark.parametrize("version", [3, 9, 13])
def test_the_fields_around_large_records_are_read(kafka: FakeCluster, client: RawClient, version: int) -> None:
    """The first request also names a partition that does not exist. The second has a tagged field so long that the
    buffer of the frame is made before all of the field has arrived."""
    topic = topic_of(kafka._cluster.server.driver.cluster)
    name = topic.topic_id if version >= 13 else "t"
    records = batch(bytes(500_000))
    frame = produce(name, partitions={0: records, 7: records}, version=version)
    assert Produced(client.ask(frame), version).partitions == {0: (0, 0), 7: (3, -1)}

    frame = produce(name, records=records, version=version)
    if version >= 9:
        tags_at = 4 + 2 + 2 + 4 + 2 + len("test")
        assert frame[tags_at] == 0
        tags = b"\x01\x07" + encode_unsigned_varint(100_000) + bytes(100_000)
        frame = (len(frame) - 5 + len(tags)).to_bytes(4, "big") + frame[4:tags_at] + tags + frame[tags_at + 1 :]
    assert Produced(client.ask(frame), version).partitions == {0: (0, 1)}
    assert log_of(kafka) == [records, records]


def test_a_large_metadata_request(client: RawClient) -> None:
    names = [f"{number:05}" + "x" * 95 for number in range(4_000)]
    answer = decode_response(3, 12, client.ask(metadata(names, allow_auto_topic_creation=False)))[1]
    assert sorted(topic.name for topic in answer.topics) == names


def test_the_journal_has_the_sizes_and_arrival_times_of_large_requests(kafka: FakeCluster, client: RawClient) -> None:
    frames = [produce("t", records=batch(LARGE)), produce("t"), produce("t", records=batch(LARGE)), produce("t")]
    client.send(*frames)
    for _ in frames:
        client.receive()
    requests = kafka.journal.requests()
    assert [request.size for request in requests] == [len(frame) - 4 for frame in frames]
    arrived = [request.received_mono_ms for request in requests]
    assert arrived == sorted(arrived)
    assert all(request.received_mono_ms <= request.mono_ms for request in requests)


def test_a_large_batch_with_a_wrong_crc_leaves_the_log_empty(kafka: FakeCluster, client: RawClient) -> None:
    damaged = bytearray(batch(LARGE))
    damaged[-1] ^= 1
    assert Produced(client.ask(produce("t", records=bytes(damaged)))).partitions == {0: (2, -1)}
    assert log_of(kafka) == []

    assert Produced(client.ask(produce("t", records=batch(LARGE)))).partitions == {0: (0, 0)}


def test_a_fetch_returns_large_records_as_they_were_sent(kafka: FakeCluster, client: RawClient) -> None:
    """Only base offset and leader epoch of a batch differ: the leader assigns them."""
    records = batch(*[bytes([number]) * 150_000 for number in range(3)])
    for base_offset in (0, 3):
        assert Produced(client.ask(produce("t", records=records))).partitions == {0: (0, base_offset)}

    answer = decode_response(1, 11, client.ask(fetch("t")))[1]

    stamped = [offset.to_bytes(8, "big") + records[8:12] + bytes(4) + records[16:] for offset in (0, 3)]
    assert answer.responses[0].partitions[0].records == b"".join(stamped)


def test_the_first_deletion_for_lack_of_memory_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with FakeCluster(brokers=1, config={"log.memory.bytes": 2_000_000, "log.memory.full": "delete"}) as running:
        running.create_topic("t")
        with RawClient(running.endpoints[0]) as client:
            for _ in range(6):
                assert 0 in Produced(client.ask(produce("t", records=batch(LARGE)))).partitions
    assert caplog.messages == [
        "the logs have reached log.memory.bytes=2000000: from now on the oldest committed records are deleted to make "
        "room"
    ]
