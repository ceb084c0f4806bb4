from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import DEFAULT_MAX_REQUEST_BYTES, FrameDecoder, encode_frame


def drain(decoder: FrameDecoder) -> list[bytes]:
    frames = []
    while (frame := decoder.next_frame()) is not None:
        frames.append(frame)
    return frames


@given(
    payloads=st.lists(st.binary(max_size=50) | st.integers(2000, 5000).map(b"x".__mul__), max_size=6),
    cuts=st.lists(st.integers(0, 10_000), max_size=8),
    ask_after_each=st.booleans(),
)
def test_frames_do_not_depend_on_how_the_stream_is_cut(
    payloads: list[bytes], cuts: list[int], ask_after_each: bool
) -> None:
    stream = b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    decoder = FrameDecoder()
    frames: list[bytes] = []
    for start, end in pairwise(edges):
        decoder.feed(stream[start:end])
        if ask_after_each:
            frames += drain(decoder)
            assert decoder.buffered == end - sum(4 + len(frame) for frame in frames)
    assert frames + drain(decoder) == payloads
    assert decoder.buffered == 0


@pytest.mark.parametrize("data", [b"\0\0\0\x01a", bytearray(b"\0\0\0\x01a"), memoryview(b"\0\0\0\x01a")])
def test_any_kind_of_bytes_may_be_fed(data: bytes | bytearray | memoryview) -> None:
    decoder = FrameDecoder()
    decoder.feed(data)
    frame = decoder.next_frame()
    assert frame == b"a"
    assert type(frame) is bytes


def test_a_bad_length_waits_for_its_turn_and_stays_bad() -> None:
    decoder = FrameDecoder(max_request_bytes=10)
    decoder.feed(encode_frame(b"good") + encode_frame(b"x" * 10) + encode_frame(b"x" * 11))
    assert decoder.next_frame() == b"good"
    assert decoder.next_frame() == b"x" * 10
    for _ in range(2):
        with pytest.raises(ProtocolError, match=r"frame length 11 .* limit of 10 bytes"):
            decoder.next_frame()


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        ("80000000", r"length -2147483648 is negative"),
        ("ffffffff", r"length -1 is negative"),
        ("06400001", r"length 104857601 .* limit of 104857600 bytes"),
    ],
)
def test_a_bad_length_is_seen_before_the_frame_comes(length: str, reason: str) -> None:
    decoder = FrameDecoder()
    decoder.feed(bytes.fromhex(length)[:3])
    assert decoder.next_frame() is None
    decoder.feed(bytes.fromhex(length)[3:])
    with pytest.raises(ProtocolError, match=reason):
        decoder.next_frame()


def test_the_largest_length_is_allowed() -> None:
    decoder = FrameDecoder()
    decoder.feed(DEFAULT_MAX_REQUEST_BYTES.to_bytes(4, "big"))
    assert decoder.next_frame() is None


def test_memory_of_consumed_frames_is_given_back() -> None:
    decoder = FrameDecoder()
    decoder.feed(encode_frame(bytes(1_000_000)) + encode_frame(bytes(1_000)) * 2 + b"\0")
    decoder.next_frame()
    assert len(decoder._data) < 100_000  # white box: nothing else tells what it holds
    assert drain(decoder) == [bytes(1_000)] * 2
    assert decoder.buffered == 1


@given(
    sizes=st.lists(st.sampled_from([0, 1, 100, 3_000, 70_000, 200_000]), max_size=6),
    cuts=st.lists(st.sampled_from([999, 4_000, 66_000, 262_144]), min_size=1, max_size=8),
)
def test_large_frames_in_pieces_of_any_size(sizes: list[int], cuts: list[int]) -> None:
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    stream = b"".join(map(encode_frame, frames))
    decoder = FrameDecoder()
    frames_: list[bytes] = []
    fed = 0
    while fed < len(stream):
        for cut in cuts:
            decoder.feed(stream[fed : fed + cut])
            fed = min(fed + cut, len(stream))
            if cut > 999:
                frames_ += drain(decoder)
            assert decoder.buffered == fed - sum(len(frame) + 4 for frame in frames_)
    assert frames_ + drain(decoder) == frames


def test_encode_frame() -> None:
    assert encode_frame(b"") == b"\0\0\0\0"
    assert encode_frame(b"abc") == b"\0\0\0\x03abc"
