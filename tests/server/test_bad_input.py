"""The responses to wrong input: Kafka's error, or a closed connection and one line in the log.

Source   clients/.../network/NetworkReceive.java; core/.../network/SocketServer.scala; KafkaApis.scala @ 4.0.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from struct import pack
from uuid import UUID

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import (
    API_VERSIONS,
    CREATE_TOPICS,
    METADATA,
    PRODUCE,
    Produced,
    api_versions,
    batch,
    metadata,
    produce,
    request,
)
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.apis import registry
from fakebroker.protocol.record_batch import compute_crc

CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
MESSAGE_TOO_LARGE = 10
INVALID_REQUIRED_ACKS = 21
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
INVALID_RECORD = 87
UNKNOWN_TOPIC_ID = 100
UNKNOWN_SERVER_ERROR = -1

MAX_REQUEST_BYTES = 2_000


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1) as cluster:
        cluster.create_topic("t", partitions=2)
        yield cluster


@pytest.fixture
def client(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.endpoints[0]) as raw:
        yield raw


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "fakebroker")
    return caplog


def peer_of(client: RawClient) -> str:
    host, port = client.socket.getsockname()
    return f"{host}:{port}"


def frame(payload: bytes) -> bytes:
    return pack(">i", len(payload)) + payload


# What closes a connection: (bytes, what the log line says about it).
CLOSING = {
    "a negative frame length": (pack(">i", -1), "frame length -1 is negative"),
    "the smallest frame length": (pack(">i", -(2**31)), "frame length -2147483648 is negative"),
    "the largest frame length": (pack(">i", 2**31 - 1), "frame length 2147483647 is above the limit of 104857600"),
    "a frame one byte too long": (pack(">i", 104_857_601), "frame length 104857601 is above the limit of 104857600"),
    "TLS": (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        "It begins as TLS does: this listener is plain text, so the client",
    ),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "It begins as HTTP does: this port speaks Kafka's protocol"),
    "SSH": (b"SSH-2.0-OpenSSH_9.6\r\n", "It begins as SSH does"),
    "the PROXY protocol": (b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "It begins as the PROXY protocol does"),
    "the PROXY protocol, version 2": (
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\1\x0a\0\0\2\0\1\0\2",
        "It begins as the PROXY protocol does",
    ),
    "SASL PLAIN without a handshake": (frame(b"\0alice\0secret"), "It looks like a SASL token that no SaslHandshake"),
    "SCRAM without a handshake": (frame(b"n,,n=alice,r=abc"), "It looks like a SASL token that no SaslHandshake"),
    "GSSAPI without a handshake": (frame(b"\x60\x82\x02\x00"), "It looks like a SASL token that no SaslHandshake"),
    "a frame without bytes": (frame(b""), "too short for an API key"),
    "half an API key": (frame(b"\0"), "too short for an API key"),
    "a header that ends early": (frame(pack(">hhi", PRODUCE, 9, 1)), "too short for its header"),
    "a client id that overruns": (frame(pack(">hhih", PRODUCE, 9, 1, 50) + b"abc"), "client id claims 50 bytes"),
    "header tags that overrun": (frame(pack(">hhih", PRODUCE, 9, 1, 0) + b"\x01\x00\x63"), "tagged field claims 99"),
    "an unknown API key": (frame(pack(">hhih", 9999, 0, 1, 0)), "API key 9999"),
    "a negative API key": (frame(pack(">hhih", -1, 0, 1, 0)), "API key -1"),
    "an API of Kafka's that is not served": (frame(pack(">hhih", 52, 0, 1, 0)), "API key 52 (Vote)"),
    "a version above": (frame(pack(">hhih", PRODUCE, 14, 1, 0) + b"\0"), "Produce v14 is not served, only v3 to v13"),
    "a version below": (frame(pack(">hhih", PRODUCE, 2, 1, 0)), "Produce v2 is not served, only v3 to v13"),
    "a negative version": (frame(pack(">hhih", METADATA, -1, 1, 0)), "Metadata v-1 is not served, only v0 to v13"),
    "a body that is missing": (frame(pack(">hhih", PRODUCE, 3, 1, 0)), "Produce v3 request is malformed"),
    "a body that ends early": (frame(produce("t")[4:-8]), "Produce v9 request is malformed"),
    "an array that overruns": (
        frame(pack(">hhihhhii", PRODUCE, 3, 1, 0, -1, -1, 0, 2**31 - 1)),
        "Produce v3 request is malformed",
    ),
    "a null where none may be": (
        frame(pack(">hhihhhii", PRODUCE, 3, 1, 0, -1, -1, 0, -1)),
        "Produce v3 request is malformed",
    ),
    "text that is null where none may be": (
        frame(pack(">hhihih", METADATA, 1, 1, 0, 1, -2)),
        "Metadata v1 request is malformed",
    ),
}


@pytest.mark.parametrize(("data", "reason"), CLOSING.values(), ids=CLOSING.keys())
def test_a_client_that_sends_nonsense_is_disconnected(client: RawClient, data: bytes, reason: str) -> None:
    client.send(data)

    assert client.is_closed_by_broker()


@pytest.mark.parametrize(("data", "reason"), CLOSING.values(), ids=CLOSING.keys())
def test_one_line_of_the_log_names_the_peer_and_the_reason(
    client: RawClient, log: pytest.LogCaptureFixture, data: bytes, reason: str
) -> None:
    client.send(data)
    client.is_closed_by_broker()

    (line,) = log.messages
    assert line.startswith(f"closed the connection from {peer_of(client)}: ")
    assert reason in line
    assert "\n" not in line


@pytest.mark.parametrize(("data", "reason"), CLOSING.values(), ids=CLOSING.keys())
def test_bad_bytes_leave_other_connections_served(
    kafka: FakeCluster, client: RawClient, data: bytes, reason: str
) -> None:
    with RawClient(kafka.endpoints[0]) as other:
        client.send(data)
        client.is_closed_by_broker()

        assert Produced(other.ask(produce("t"))).partitions == {0: (0, 0)}


@pytest.mark.parametrize(("data", "reason"), CLOSING.values(), ids=CLOSING.keys())
def test_what_was_asked_before_the_nonsense_is_answered(client: RawClient, data: bytes, reason: str) -> None:
    client.send(produce("t"), data)

    assert Produced(client.receive()).partitions == {0: (0, 0)}
    assert client.is_closed_by_broker()


@pytest.mark.parametrize("cut", [1, 3, 4, 20])
def test_a_client_that_leaves_in_the_middle_of_a_frame_leaves_one_line(
    client: RawClient, log: pytest.LogCaptureFixture, cut: int
) -> None:
    client.send(produce("t")[:cut])
    client.socket.shutdown(socket.SHUT_WR)

    assert client.is_closed_by_broker()
    wait_until(lambda: bool(log.messages), "the line in the log")
    (line,) = log.messages
    assert line == f"{peer_of(client)} went away in the middle of a request: {cut} bytes of it had arrived"


def test_a_client_that_leaves_between_frames_leaves_no_line(client: RawClient, log: pytest.LogCaptureFixture) -> None:
    client.ask(produce("t"))
    client.socket.shutdown(socket.SHUT_WR)

    assert client.is_closed_by_broker()
    assert log.messages == []


@pytest.fixture
def strict() -> Iterator[RawClient]:
    """Return a client of a broker that accepts small requests only."""
    with (
        FakeCluster(brokers=1, config={"socket.request.max.bytes": MAX_REQUEST_BYTES}) as cluster,
        RawClient(cluster.endpoints[0]) as raw,
    ):
        yield raw


def sized_metadata(size: int) -> bytes:
    """Return a Metadata request of exactly that many bytes behind the length."""
    empty = len(metadata([""], version=1)) - 4
    return metadata(["x" * (size - empty)], version=1)


def test_a_request_of_exactly_socket_request_max_bytes_is_answered(strict: RawClient) -> None:
    _, answer = decode_response(METADATA, 1, strict.ask(sized_metadata(MAX_REQUEST_BYTES)))

    assert len(answer.topics) == 1


def test_a_request_above_socket_request_max_bytes_closes_the_connection(
    strict: RawClient, log: pytest.LogCaptureFixture
) -> None:
    strict.send(sized_metadata(MAX_REQUEST_BYTES + 1))

    assert strict.is_closed_by_broker()
    assert "frame length 2001 is above the limit of 2000 bytes" in log.text


# ApiVersions.


@pytest.mark.parametrize("version", [6, 99, 32_767, -1, -32_768])
def test_an_unknown_version_of_api_versions_is_answered_in_the_layout_of_v0(client: RawClient, version: int) -> None:
    ours = registry.load()[API_VERSIONS].max_version
    client.send(frame(pack(">hhih", API_VERSIONS, version, 1, 4) + b"demo\0" + b"\xffnonsense"))

    assert client.receive() == bytes.fromhex("00000001 0023 00000001 0012 0000") + pack(">h", ours)


def test_the_answer_to_an_unknown_version_is_the_golden_one(client: RawClient) -> None:
    client.send(frame(pack(">hhih", API_VERSIONS, 6, 1, 4) + b"demo\0"))

    expected = bytes.fromhex("00000010 00000001 0023 00000001 0012 0000 0005")
    assert frame(client.receive()) == expected


def test_a_client_of_the_future_may_ask_again_on_the_same_connection(client: RawClient) -> None:
    client.ask(frame(pack(">hhih", API_VERSIONS, 99, 1, 4) + b"demo\0"))

    _, answer = decode_response(API_VERSIONS, 3, client.ask(api_versions(3)))
    assert answer.error_code == 0


# Produce. Each case: what one partition is given, and its error; the base offset is -1 with all of them.

GOOD = batch(b"a", b"b")


def changed(offset: int, new: bytes) -> bytes:
    """Return GOOD with some bytes overwritten and a correct CRC."""
    data = bytearray(GOOD)
    data[offset : offset + len(new)] = new
    data[17:21] = pack(">I", compute_crc(data, 0, len(data)))
    return bytes(data)


BAD_RECORDS: dict[str, tuple[bytes | None, int]] = {
    "null": (None, UNKNOWN_SERVER_ERROR),
    "one byte": (b"\0", INVALID_RECORD),
    "a header only": (GOOD[:61], INVALID_RECORD),
    "cut short": (GOOD[:-1], INVALID_RECORD),
    "two batches": (GOOD + GOOD, INVALID_RECORD),
    "magic 0": (changed(16, b"\0"), INVALID_RECORD),
    "magic 1": (changed(16, b"\1"), INVALID_RECORD),
    "magic 3": (changed(16, b"\3"), CORRUPT_MESSAGE),
    "a flipped bit": (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), CORRUPT_MESSAGE),
    "a wrong CRC": (GOOD[:17] + b"\0\0\0\0" + GOOD[21:], CORRUPT_MESSAGE),
    "a length below a header's": (GOOD[:8] + pack(">i", 40) + GOOD[12:52], CORRUPT_MESSAGE),
    "a length that leaves no room for a producer id": (GOOD[:8] + pack(">i", 38) + GOOD[12:50], UNKNOWN_SERVER_ERROR),
    "a length of zero": (GOOD[:8] + pack(">i", 0) + GOOD[12:], CORRUPT_MESSAGE),
    "a negative length": (GOOD[:8] + pack(">i", -1) + GOOD[12:], CORRUPT_MESSAGE),
    "a base offset": (changed(0, pack(">q", 1)), INVALID_RECORD),
    "a control batch": (changed(21, pack(">h", 0x20)), INVALID_RECORD),
    "a transactional batch without an id": (changed(21, pack(">h", 0x10)), TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    "codec 5": (changed(21, pack(">h", 5)), UNKNOWN_SERVER_ERROR),
    "codec 7": (changed(21, pack(">h", 7)), UNKNOWN_SERVER_ERROR),
    "no records": (changed(57, pack(">i", 0)), INVALID_RECORD),
    "a negative count": (changed(57, pack(">i", -1)), INVALID_RECORD),
    "a count too small": (changed(57, pack(">i", 1)), INVALID_RECORD),
    "a count too large": (changed(57, pack(">i", 3)), INVALID_RECORD),
    "a last offset delta too large": (changed(23, pack(">i", 9)), INVALID_RECORD),
    "a negative last offset delta": (changed(23, pack(">i", -2)), INVALID_RECORD),
    "a producer id without a sequence": (changed(43, pack(">qh", 7, 0)), INVALID_RECORD),
}


@pytest.mark.parametrize("version", [3, 7, 9, 12])
@pytest.mark.parametrize(("records", "error"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_records_that_kafka_refuses_are_refused(
    client: RawClient, records: bytes | None, error: int, version: int
) -> None:
    answer = Produced(client.ask(produce("t", records=records, version=version)), version)

    assert answer.partitions == {0: (error, -1)}


@pytest.mark.parametrize("version", [3, 9])
def test_an_empty_record_set_is_refused(client: RawClient, version: int) -> None:
    answer = Produced(client.ask(produce("t", partitions={0: b""}, version=version)), version)

    assert answer.partitions == {0: (INVALID_RECORD, -1)}


@pytest.mark.parametrize(("records", "error"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_refused_records_leave_no_trace_in_the_log(client: RawClient, records: bytes | None, error: int) -> None:
    client.ask(produce("t", records=records))

    assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}


def test_a_refused_partition_does_not_harm_another_of_its_request(client: RawClient) -> None:
    corrupt, error = BAD_RECORDS["a flipped bit"]
    answer = Produced(client.ask(produce("t", partitions={0: corrupt, 1: GOOD})))

    assert answer.partitions == {0: (error, -1), 1: (0, 0)}


def test_records_above_max_message_bytes_are_refused(kafka: FakeCluster, client: RawClient) -> None:
    kafka.create_topic("small", configs={"max.message.bytes": len(GOOD) - 1})

    assert Produced(client.ask(produce("small", records=GOOD))).partitions == {0: (MESSAGE_TOO_LARGE, -1)}


def test_records_of_exactly_max_message_bytes_are_taken(kafka: FakeCluster, client: RawClient) -> None:
    kafka.create_topic("small", configs={"max.message.bytes": len(GOOD)})

    assert Produced(client.ask(produce("small", records=GOOD))).partitions == {0: (0, 0)}


@pytest.mark.parametrize("version", [3, 6])
def test_zstd_is_refused_below_v7(client: RawClient, version: int) -> None:
    zstd = changed(21, pack(">h", 4))
    answer = Produced(client.ask(produce("t", records=zstd, version=version)), version)

    assert answer.partitions == {0: (76, -1)}


def test_an_unknown_topic_is_told(client: RawClient) -> None:
    answer = Produced(client.ask(produce("nobody")))

    assert answer.partitions == {0: (UNKNOWN_TOPIC_OR_PARTITION, -1)}


def test_producing_makes_no_topic(kafka: FakeCluster, client: RawClient) -> None:
    client.ask(produce("nobody"))

    kafka.create_topic("nobody")  # would raise if it were there


@pytest.mark.parametrize("partition", [2, -1, 2**31 - 1, -(2**31)])
def test_an_unknown_partition_is_told(client: RawClient, partition: int) -> None:
    answer = Produced(client.ask(produce("t", partition)))

    assert answer.partitions == {partition: (UNKNOWN_TOPIC_OR_PARTITION, -1)}


def test_an_unknown_topic_id_is_told(client: RawClient) -> None:
    answer = Produced(client.ask(produce(UUID(int=7), version=13)), 13)

    assert answer.partitions == {0: (UNKNOWN_TOPIC_ID, -1)}


def test_no_topic_id_is_an_unknown_one(client: RawClient) -> None:
    answer = Produced(client.ask(produce(UUID(int=0), version=13)), 13)

    assert answer.partitions == {0: (UNKNOWN_TOPIC_ID, -1)}


@pytest.mark.parametrize("acks", [2, -2, 7, 32_767, -32_768])
def test_acks_that_mean_nothing_are_refused(client: RawClient, acks: int) -> None:
    answer = Produced(client.ask(produce("t", acks=acks, partitions={0: GOOD, 1: GOOD})))

    assert answer.partitions == {0: (INVALID_REQUIRED_ACKS, -1), 1: (INVALID_REQUIRED_ACKS, -1)}


def test_acks_that_mean_nothing_append_nothing(client: RawClient) -> None:
    client.ask(produce("t", acks=2))

    assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}


def test_an_unknown_topic_comes_before_acks_that_mean_nothing(client: RawClient) -> None:
    answer = Produced(client.ask(produce("nobody", acks=7)))

    assert answer.partitions == {0: (UNKNOWN_TOPIC_OR_PARTITION, -1)}


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
def test_a_timeout_that_is_over_is_answered_at_once(client: RawClient, kafka: FakeCluster, timeout_ms: int) -> None:
    answer = Produced(client.ask(produce("t", timeout_ms=timeout_ms)))

    assert answer.partitions == {0: (0, 0)}


# acks=0.


def test_a_good_request_with_acks_0_is_met_with_silence(client: RawClient) -> None:
    client.send(produce("t", acks=0, correlation_id=1), produce("t", acks=1, correlation_id=2))

    answer = Produced(client.receive())
    assert (answer.correlation_id, answer.partitions) == (2, {0: (0, 1)})


UNANSWERED = {
    "an unknown topic": (produce("nobody", acks=0), "UNKNOWN_TOPIC_OR_PARTITION on nobody-0"),
    "corrupt records": (produce("t", acks=0, records=GOOD[:-1] + b"!"), "CORRUPT_MESSAGE on t-0"),
    "null records": (produce("t", acks=0, records=None), "UNKNOWN_SERVER_ERROR on t-0"),
    "no records": (produce("t", acks=0, partitions={0: b""}), "INVALID_RECORD on t-0"),
    "one bad partition of two": (
        produce("t", acks=0, partitions={0: GOOD, 5: GOOD}),
        "UNKNOWN_TOPIC_OR_PARTITION on t-5",
    ),
    "two bad partitions of three": (
        produce("t", acks=0, partitions={0: GOOD, 5: GOOD, 7: GOOD}),
        "UNKNOWN_TOPIC_OR_PARTITION on t-5, UNKNOWN_TOPIC_OR_PARTITION on t-7",
    ),
}


@pytest.mark.parametrize(("data", "reason"), UNANSWERED.values(), ids=UNANSWERED.keys())
def test_a_failed_request_with_acks_0_closes_the_connection(client: RawClient, data: bytes, reason: str) -> None:
    client.send(data)

    assert client.is_closed_by_broker()


@pytest.mark.parametrize(("data", "reason"), UNANSWERED.values(), ids=UNANSWERED.keys())
def test_a_failed_request_with_acks_0_leaves_one_line(
    client: RawClient, log: pytest.LogCaptureFixture, data: bytes, reason: str
) -> None:
    client.send(data)
    client.is_closed_by_broker()

    assert log.messages == [
        f"closed the connection from {peer_of(client)}: a produce request with acks=0, correlation id 1, "
        f"client id 'test' failed: {reason}"
    ]


# Answers that are errors are no news for the log.


def test_an_error_that_is_answered_leaves_no_line(client: RawClient, log: pytest.LogCaptureFixture) -> None:
    client.ask(produce("nobody"))
    client.ask(produce("t", acks=7))
    client.ask(produce("t", records=GOOD[:-1] + b"!"))

    assert log.messages == []


def test_a_request_with_bytes_behind_its_end_is_answered(client: RawClient) -> None:
    # Kafka reads the fields and looks no further.
    answer = Produced(client.ask(frame(produce("t")[4:] + b"more")))

    assert answer.partitions == {0: (0, 0)}


def test_a_frame_that_comes_byte_by_byte_is_answered(client: RawClient) -> None:
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in produce("t"):
        client.send(bytes([byte]))

    assert Produced(client.receive()).partitions == {0: (0, 0)}


# CreateTopics and Metadata: what is wrong with a topic is told for that topic.


def create_topics(*topics: dict[str, object], version: int = 7) -> bytes:
    defaults = {"num_partitions": -1, "replication_factor": -1, "assignments": [], "configs": []}
    return request(CREATE_TOPICS, version, {"topics": [defaults | topic for topic in topics], "validate_only": False})


def created(client: RawClient, *topics: dict[str, object]) -> list[tuple[str, int]]:
    _, answer = decode_response(CREATE_TOPICS, 7, client.ask(create_topics(*topics)))
    return [(topic.name, int(topic.error_code)) for topic in answer.topics]


BAD_TOPICS: dict[str, tuple[dict[str, object], int]] = {
    "a topic that is there": ({"name": "t"}, 36),
    "an empty name": ({"name": ""}, 17),
    "two dots": ({"name": ".."}, 17),
    "a blank": ({"name": "a b"}, 17),
    "a name too long": ({"name": "x" * 250}, 17),
    "no partitions": ({"name": "n", "num_partitions": 0}, 37),
    "negative partitions": ({"name": "n", "num_partitions": -2}, 37),
    "no replicas": ({"name": "n", "replication_factor": 0}, 38),
    "more replicas than brokers": ({"name": "n", "replication_factor": 2}, 38),
    "an unknown broker": ({"name": "n", "assignments": [{"partition_index": 0, "broker_ids": [9]}]}, 39),
    "an unknown setting": ({"name": "n", "configs": [{"name": "no.such", "value": "1"}]}, 40),
    "a setting that is no number": ({"name": "n", "configs": [{"name": "min.insync.replicas", "value": "x"}]}, 40),
    "a setting that is null": ({"name": "n", "configs": [{"name": "min.insync.replicas", "value": None}]}, 40),
}


@pytest.mark.parametrize(("topic", "error"), BAD_TOPICS.values(), ids=BAD_TOPICS.keys())
def test_a_topic_that_cannot_be_made_is_told_and_its_neighbour_is_made(
    client: RawClient, topic: dict[str, object], error: int
) -> None:
    assert created(client, topic, {"name": "good"}) == [(topic["name"], error), ("good", 0)]


def test_too_many_partitions_are_refused_with_the_whole_request(client: RawClient) -> None:
    assert created(client, {"name": "n", "num_partitions": 2**31 - 1}, {"name": "good"}) == [("n", 44), ("good", 44)]


def test_a_topic_named_twice_is_refused_once(client: RawClient) -> None:
    assert created(client, {"name": "twice"}, {"name": "twice"}) == [("twice", 42)]


def metadata_of(client: RawClient, name: str, allow: bool = True) -> int:
    _, answer = decode_response(METADATA, 12, client.ask(metadata([name], allow_auto_topic_creation=allow)))
    (topic,) = answer.topics
    assert topic.name == name
    return int(topic.error_code)


def test_metadata_of_a_new_topic_makes_it(client: RawClient) -> None:
    assert [metadata_of(client, "new") for _ in range(2)] == [UNKNOWN_TOPIC_OR_PARTITION, 0]


def test_metadata_makes_no_topic_when_the_request_forbids_it(client: RawClient) -> None:
    assert [metadata_of(client, "new", allow=False) for _ in range(2)] == [UNKNOWN_TOPIC_OR_PARTITION] * 2


@pytest.mark.parametrize("allow", [True, False])
def test_metadata_of_a_name_that_cannot_be_is_told_so(client: RawClient, allow: bool) -> None:
    assert metadata_of(client, "a b", allow) == 17


def test_metadata_makes_no_topic_when_the_broker_forbids_it() -> None:
    with (
        FakeCluster(brokers=1, config={"auto.create.topics.enable": False}) as cluster,
        RawClient(cluster.endpoints[0]) as client,
    ):
        assert [metadata_of(client, "new") for _ in range(2)] == [UNKNOWN_TOPIC_OR_PARTITION] * 2
