"""Large frames that are received in their place, in any mixture with bytes that are fed."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol import large_frame
from fakebroker.protocol.framing import FrameDecoder, encode_frame
from fakebroker.protocol.slices import finish

READ_BYTES = 262_144

sizes = st.sampled_from([0, 1, 3_000, 131_071, 196_608, 524_288, 600_000, 1_300_000])


def frames_of(lengths: list[int]) -> list[bytes]:
    return [
        bytes([number + 1]) * (size // 2) + bytes([number + 101]) * (size - size // 2)
        for number, size in enumerate(lengths)
    ]


def whole_frames(decoder: FrameDecoder, in_slices: bool) -> list[bytes]:
    """Return the complete frames, put together at once or in slices."""
    frames_ = []
    while (frame := decoder.next_in_parts() if in_slices else decoder.next_frame()) is not None:
        frames_.append(frame if isinstance(frame, bytes) else finish(frame.join_in_slices()))
    return frames_


@given(
    lengths=st.lists(sizes, max_size=6),
    reads=st.lists(st.sampled_from([1, 3, 999, 65_536, 65_541, READ_BYTES]), min_size=1, max_size=8),
    in_place=st.lists(st.booleans(), min_size=1, max_size=5),
    ask_after_each=st.booleans(),
    in_slices=st.booleans(),
)
def test_a_stream_gives_the_same_frames_wherever_it_is_received(
    lengths: list[int], reads: list[int], in_place: list[bool], ask_after_each: bool, in_slices: bool
) -> None:
    frames = frames_of(lengths)
    stream = memoryview(b"".join(map(encode_frame, frames)))
    decoder = FrameDecoder()
    received_frames: list[bytes] = []
    received = turn = 0
    while received < len(stream):
        # The smallest reads only sometimes, or a frame of a megabyte takes a million of them.
        size = reads[turn % len(reads)] if turn < 200 else READ_BYTES
        buffer = decoder.get_buffer()
        if buffer is not None and in_place[turn % len(in_place)]:
            data = stream[received : received + min(size, len(buffer))]
            buffer[: len(data)] = data
            decoder.feed(buffer[: len(data)])
        else:
            data = stream[received : received + size]
            decoder.feed(bytes(data))
        received += len(data)
        turn += 1
        if ask_after_each:
            received_frames += whole_frames(decoder, in_slices)
        assert decoder.buffered == received - sum(len(frame) + 4 for frame in received_frames)
    received_frames += whole_frames(decoder, in_slices)
    assert received_frames == frames
    assert all(type(frame) is bytes for frame in received_frames)
    assert decoder.buffered == 0


def test_a_large_frame_is_received_in_its_place() -> None:
    """The rest of a large frame goes to one buffer after the other, once its length and a first part are there. No
    buffer reaches beyond the frame."""
    decoder = FrameDecoder()
    decoder.feed((1_000_000).to_bytes(4, "big") + bytes(70_000))
    assert decoder.next_frame() is None
    left = 930_000
    while left:
        buffer = decoder.get_buffer()
        assert buffer is not None
        assert 0 < len(buffer) <= left
        left -= len(buffer)
        buffer[:] = b"x" * len(buffer)
        decoder.feed(buffer)
        assert decoder.buffered == 1_000_004 - left
    assert decoder.get_buffer() is None
    assert decoder.next_frame() == bytes(70_000) + b"x" * 930_000


@pytest.mark.parametrize("begun", [0, 1, 65_535])
def test_a_client_that_only_announces_a_large_frame_gets_no_memory(begun: int) -> None:
    decoder = FrameDecoder()
    decoder.feed((100_000_000).to_bytes(4, "big") + bytes(begun))
    assert decoder.next_frame() is None
    assert decoder.get_buffer() is None
    assert decoder.buffered == begun + 4


def test_memory_is_held_in_proportion_to_what_has_come() -> None:
    """Many connections announce 100 MB each, and the frame of one of them grows."""
    large_frame.LargeFrame([], 1).room()  # the first one of a process prepares the heap
    large_frame._spare_blocks.clear()  # these are held for any connection
    tracemalloc.start()
    try:
        decoders = [FrameDecoder() for _ in range(50)]
        before, _ = tracemalloc.get_traced_memory()
        for decoder in decoders:
            decoder.feed((100_000_000).to_bytes(4, "big") + bytes(67_580))
            assert decoder.next_frame() is None
            assert decoder.get_buffer() is not None
        held, most = (bytes_ - before for bytes_ in tracemalloc.get_traced_memory())
        assert held < 2.2 * 67_584 * len(decoders)
        assert most < 3 * 67_584 * len(decoders)
        [growing, *_] = decoders
        before = tracemalloc.get_traced_memory()[0] - held // len(decoders)
        received = 67_584
        for _ in range(200):
            buffer = growing.get_buffer()
            assert buffer is not None
            size = min(len(buffer), 10_000)
            growing.feed(buffer[:size])
            received += size
            assert tracemalloc.get_traced_memory()[0] - before < 2.2 * received
    finally:
        tracemalloc.stop()


def test_nothing_of_a_frame_shows_in_the_next_one() -> None:
    """The memory is used again."""
    decoder = FrameDecoder()
    for fill in (b"a", b"b"):
        decoder.feed((500_000).to_bytes(4, "big") + fill * 100_000)
        assert decoder.next_frame() is None
        left = 400_000
        while left:
            buffer = decoder.get_buffer()
            assert buffer is not None
            part = min(len(buffer), 7_001)
            buffer[:part] = fill * part
            decoder.feed(buffer[:part])
            left -= part
        first = decoder.next_frame()
        assert first == fill * 500_000


def test_two_decoders_share_no_memory_while_both_receive() -> None:
    decoders = FrameDecoder(), FrameDecoder()
    for number, decoder in enumerate(decoders):
        decoder.feed((600_000).to_bytes(4, "big") + bytes([number]) * 100_000)
        assert decoder.next_frame() is None
    left = [500_000, 500_000]
    while any(left):
        for number, decoder in enumerate(decoders):
            buffer = decoder.get_buffer()
            assert buffer is not None
            part = min(len(buffer), 10_000)
            buffer[:part] = bytes([number]) * part
            decoder.feed(buffer[:part])
            left[number] -= part
    assert [decoder.next_frame() for decoder in decoders] == [bytes(600_000), b"\x01" * 600_000]
