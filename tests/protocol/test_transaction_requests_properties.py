"""AddPartitionsToTxn and EndTxn requests by hand and by kio: all versions, whatever the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.damage import Damage, damaged, damages, told
from support.message_strategies import messages

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import encode_request, is_flexible, request_type
from fakebroker.protocol.slices import finish
from fakebroker.protocol.transactions.by_hand import read_add_partitions, read_end_txn
from fakebroker.protocol.transactions.requests import (
    read_add_partitions_in_slices,
    read_add_partitions_of_kio,
    read_end_txn_in_slices,
    read_end_txn_of_kio,
)


class Kind(NamedTuple):
    key: int
    by_hand: Callable[[int, Any, int], Any]
    of_kio: Callable[[int, Any, int], Any]
    in_slices: Callable[[int, Any, int, int], Any]


ADD = Kind(24, read_add_partitions, read_add_partitions_of_kio, read_add_partitions_in_slices)
END = Kind(26, read_end_txn, read_end_txn_of_kio, read_end_txn_in_slices)

kinds_and_versions = st.sampled_from([(kind, version) for kind in (ADD, END) for version in range(6)])


@st.composite
def received_requests(draw: st.DrawFn) -> tuple[Kind, int, bytes, int]:
    """A version, a frame, and where the body starts."""
    kind, version = draw(kinds_and_versions)
    frame = encode_request(draw(messages(request_type(kind.key, version))), 7, "me")[4:]
    return kind, version, frame, decode_request_header(frame, is_flexible(kind.key, version)).body_offset


def three_ways(kind: Kind, version: int, received: bytes, offset: int) -> list[object]:
    return [
        told(lambda: kind.by_hand(version, received, offset)),
        told(lambda: kind.of_kio(version, received, offset)),
        told(lambda: finish(kind.in_slices(version, received, offset, 1_000_000))),
    ]


@given(received_requests(), damages)
def test_all_read_the_same_and_find_the_same_fault(request: tuple[Kind, int, bytes, int], damage: Damage) -> None:
    kind, version, frame, offset = request
    by_hand, general, sliced = three_ways(kind, version, damaged(frame, offset, damage), offset)
    assert by_hand == general == sliced


@given(asked=kinds_and_versions, received=st.lists(st.sampled_from([0, 1, 2, 3, 128, 255])).map(bytes))
def test_all_say_the_same_of_any_bytes(asked: tuple[Kind, int], received: bytes) -> None:
    by_hand, general, sliced = three_ways(*asked, received, 0)
    assert by_hand == general == sliced
