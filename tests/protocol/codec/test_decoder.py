"""The decoder reads what kio reads; untrusted bytes are read as Kafka reads them, or refused."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from io import BytesIO
from struct import error
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer
from support.message_strategies import damaged, damages, messages
from support.messages import decode_request, decode_response

from fakebroker.protocol.codec.decoder import Decoder
from fakebroker.protocol.codec.schemas import table_of
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import request_type, response_type, versions
from fakebroker.protocol.varint import encode_unsigned_varint

FETCH_V15 = "00000000 00000000 00000000 00 00000000 00000000 01 01 01"  # up to its tagged section


def read(api_key: int, version: int, body: str) -> Any:
    return decode_request(api_key, version, bytes.fromhex(body), 0)


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (0, 3, "ffff ffff 00007530 7fffffff"),
        (0, 3, "ffff ffff 00007530 00000001 0001 74 7fffffff"),
        (0, 9, "00 ffff 00007530 ffffffff07"),
        (0, 9, "00 ffff 00007530 02 02 74 ffffffff07"),
        (3, 1, "7fffffff"),
        (3, 12, "ffffffff07"),
        (19, 2, "7fffffff"),
        (19, 7, "ffffffff07"),
        (19, 7, "02 02 74 00000001 0001 ffffffff07"),
        (19, 7, "02 02 74 00000001 0001 02 00000000 ffffffff07"),
    ],
)
def test_a_count_in_the_billions_is_an_error_and_not_the_end(api_key: int, version: int, body: str) -> None:
    with pytest.raises(ProtocolError, match=r"claims \d+ elements, and only \d+ bytes are left"):
        read(api_key, version, body)


def test_counts_in_responses_too() -> None:
    with pytest.raises(ProtocolError, match="Produce v3 response is malformed: an array claims 2147483647 elements"):
        decode_response(0, 3, bytes.fromhex("00000001 7fffffff"))


@pytest.mark.parametrize("frame_size", [1_000, 100_000])
def test_a_count_is_weighed_against_the_smallest_element(frame_size: int) -> None:
    # A topic of Metadata v1 takes at least two bytes.
    count = frame_size // 2
    body = count.to_bytes(4, "big") + bytes(2 * count)
    assert len(decode_request(3, 1, body, 0).topics) == count
    with pytest.raises(ProtocolError, match=f"claims {count + 1} elements"):
        decode_request(3, 1, (count + 1).to_bytes(4, "big") + bytes(2 * count), 0)


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (0, 3, "ffff ffff 00007530 ffffffff"),
        (0, 9, "00 ffff 00007530 00 00"),
        (0, 9, "00 ffff 00007530 02 02 74 00 00 00"),
        (3, 0, "ffffffff"),
    ],
)
def test_null_where_an_array_has_none(api_key: int, version: int, body: str) -> None:
    with pytest.raises(ProtocolError, match="must not be null"):
        read(api_key, version, body)


def test_null_where_an_array_has_one() -> None:
    assert read(3, 1, "ffffffff").topics is None
    assert read(3, 12, "00 01 00 00").topics is None


@pytest.mark.parametrize("count", ["fffffffe", "80000000"])
def test_a_count_below_minus_one_is_null(count: str) -> None:
    assert read(3, 1, count).topics is None
    with pytest.raises(ProtocolError, match="an array must not be null"):
        read(3, 0, count)


@pytest.mark.parametrize("count", ["ffffffff0f", "8180808008", "ffffffff7f"])
def test_a_compact_count_of_a_negative_int_is_null(count: str) -> None:
    assert read(3, 12, f"{count} 01 00 00").topics is None
    with pytest.raises(ProtocolError, match="an array must not be null"):
        read(0, 9, "00 ffff 00007530" + count + "00")


def test_the_smallest_int_minus_one_is_the_largest() -> None:
    with pytest.raises(ProtocolError, match="an array claims 2147483647 elements"):
        read(3, 12, "8080808008 01 00 00")


def test_bits_above_32_fall_off() -> None:
    assert read(3, 12, "8180808070 01 00 00").topics == ()
    assert read(0, 9, "8180808010 ffff 00007530 8280808020 8280808030 74 01 00 8080808070").topic_data[0].name == "t"
    assert read(0, 9, "00 ffff 00007530 01 8180808070 638080808040 00").topic_data == ()


@pytest.mark.parametrize("length", ["fffe", "8000"])
def test_a_text_of_negative_length_is_null(length: str) -> None:
    request = read(0, 3, length + "ffff 00007530 00000000")
    assert request.transactional_id is None
    with pytest.raises(ProtocolError, match="null"):
        read(3, 1, "00000001" + length)


def test_a_time_of_minus_one_is_the_one_that_kafka_sends_with_an_error() -> None:
    """kio refuses it. Kafka's CreateDelegationToken has it where no token was made."""
    user = "0004 55736572 0005 616c696365"
    answer = decode_response(38, 1, bytes.fromhex("00000000 0040" + user + "ff" * 24 + "0000 00000000 00000000"))[1]
    minus_one = datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)
    assert (answer.issue_timestamp, answer.expiry_timestamp, answer.max_timestamp) == (minus_one,) * 3


def test_bytes_of_negative_length_are_null() -> None:
    request = read(0, 3, "ffff ffff 00007530 00000001 0001 74 00000001 00000000 80000000")
    assert request.topic_data[0].partition_data[0].records is None


def test_what_is_no_utf8_is_replaced() -> None:
    assert read(3, 1, "00000002 0003 61ff62 0001 74").topics[0].name == "a\ufffdb"
    flexible = read(3, 9, "03 04 61ff62 00 02 74 00 01 00 00 00")
    assert [topic.name for topic in flexible.topics] == ["a\ufffdb", "t"]
    assert flexible.allow_auto_topic_creation is True
    produce = read(0, 9, "03 c328 ffff 00007530 02 03 ff74 02 00000000 02 ff 00 00 00")
    assert (produce.transactional_id, produce.topic_data[0].name) == ("\ufffd(", "\ufffdt")
    assert produce.topic_data[0].partition_data[0].records == b"\xff"


def test_a_text_that_grows_too_long_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="a text is no UTF-8"):
        read(3, 1, "00000001 7fff" + "ff" * 0x7FFF)


def test_true_is_anything_but_zero() -> None:
    assert read(3, 4, "00000000 00").allow_auto_topic_creation is False
    for byte in ("01", "02", "80", "ff"):
        assert read(3, 4, "00000000" + byte).allow_auto_topic_creation is True


@pytest.mark.parametrize(("size", "is_read"), [(0x7FFF, True), (0x8000, False)])
def test_a_text_is_below_32_kib_in_any_layout(size: int, is_read: bool) -> None:
    """DescribeGroups v5 has one group id, and its length is a varint."""
    body = bytes([2]) + encode_unsigned_varint(size + 1) + b"g" * size + b"\0\0"
    if is_read:
        assert decode_request(15, 5, body, 0).groups == ("g" * size,)
    else:
        with pytest.raises(ProtocolError, match="a text has 32768 bytes, and may have 32767"):
            decode_request(15, 5, body, 0)


def test_a_boolean_is_repaired_alone() -> None:
    request = read(3, 8, "00000000 02 00 ff")
    assert request.allow_auto_topic_creation is True
    assert request.include_cluster_authorized_operations is False
    assert request.include_topic_authorized_operations is True


def test_unknown_tagged_fields_are_skipped_and_known_ones_are_kept() -> None:
    known = "01 0d 00000001 0000000000000005 00"  # tag 1: the replica's state
    alone = read(1, 15, FETCH_V15 + "01" + known)
    assert (alone.replica_state.replica_id, alone.replica_state.replica_epoch) == (1, 5)
    for section in (
        "02" + known + "05 02 aabb",
        "03" + "02 00" + known + "05 02 aabb",
        "02" + known + "8080808008 8100" + "00",
        "01" + "01 10 00000001 0000000000000005 01 07 01 aa",  # inside the known one
    ):
        assert read(1, 15, FETCH_V15 + section) == alone


def test_an_unknown_tagged_field_behind_a_boolean_that_is_repaired() -> None:
    # ApiVersions v3: tag 3 is a boolean, here 2, and 9 is unknown.
    _, response = decode_response(18, 3, bytes.fromhex("00000001 0000 01 00000000 02 03 01 02 09 00"))
    assert response.zk_migration_ready is True


def test_a_body_full_of_tagged_fields_takes_little_memory() -> None:
    count = 50_000
    body = bytes.fromhex("00 ffff 00007530 01") + encode_unsigned_varint(count) + b"\x05\0" * count
    tracemalloc.start()
    try:
        decode_request(0, 9, body, 0)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000


@pytest.mark.parametrize("section", ["01 05 03 aabb", "02 05 00", "01 05", "ffffffff0f 05 00", "80"])
def test_tagged_sections_that_overrun(section: str) -> None:
    with pytest.raises(ProtocolError, match="Fetch v15 request is malformed"):
        read(1, 15, FETCH_V15 + section)


# DescribeTopicPartitions v0: no topics, a limit, and the nullable cursor. Kafka looks at the marker's sign only.
@pytest.mark.parametrize("marker", ["00", "01", "02", "7f"])
def test_a_struct_that_is_there(marker: str) -> None:
    request = read(75, 0, "01 00000064" + marker + "02 74 00000003 00" + "00")
    assert (request.cursor.topic_name, request.cursor.partition_index) == ("t", 3)


@pytest.mark.parametrize("marker", ["ff", "fe", "80"])
def test_a_struct_that_is_null(marker: str) -> None:
    request = read(75, 0, "01 00000064" + marker + "00")
    assert request.cursor is None
    assert request.response_partition_limit == 100


EVERY_MESSAGE = [
    kind(api_key, version)
    for api_key in api_key_map
    for version in versions(api_key)
    for kind in (request_type, response_type)
]


def by_kio(message: Any) -> bytes:
    with BytesIO() as buffer:
        entity_writer(type(message))(buffer, message)
        return buffer.getvalue()


@given(data=st.data(), kind=st.sampled_from(EVERY_MESSAGE), behind=st.binary(max_size=3))
def test_a_message_is_what_kio_reads(data: st.DataObject, kind: type, behind: bytes) -> None:
    message = data.draw(messages(kind))
    body = by_kio(message)
    decoder = Decoder(b"head" + body + behind, 4, repairs=False)
    assert decoder.struct(table_of(kind)) == entity_reader(kind)(body, 0)[0] == message
    assert decoder.at == 4 + len(body)


@given(data=st.data(), kind=st.sampled_from(EVERY_MESSAGE), places=damages)
def test_what_is_read_of_damaged_bytes_is_a_message(
    data: st.DataObject, kind: type, places: list[tuple[int, bytes]]
) -> None:
    """kio can write it, and reads the same."""
    body = damaged(by_kio(data.draw(messages(kind))), places)
    try:
        read = Decoder(body, 0, repairs=True).struct(table_of(kind))
    except (ProtocolError, IndexError, error, ArithmeticError, ValueError):
        return
    written = by_kio(read)
    assert by_kio(entity_reader(kind)(written, 0)[0]) == written  # NaN is unlike itself
