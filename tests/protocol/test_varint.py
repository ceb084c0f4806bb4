from __future__ import annotations

import pytest
from construct import VarInt, ZigZag
from hypothesis import given
from hypothesis import strategies as st
from protocol_strategies import i32s, i64s

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import (
    decode_unsigned_varint,
    decode_varint,
    decode_varlong,
    encode_unsigned_varint,
    encode_varint,
)


@pytest.mark.parametrize(("value", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_unsigned_examples(value: int, encoded: str) -> None:
    assert encode_unsigned_varint(value) == bytes.fromhex(encoded)


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001"), (300, "d804")]
)
def test_signed_examples(value: int, encoded: str) -> None:
    assert encode_varint(value) == bytes.fromhex(encoded)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_unsigned_is_what_construct_says(value: int, before: bytes, behind: bytes) -> None:
    encoded = encode_unsigned_varint(value)
    assert encoded == VarInt.build(value)
    assert decode_unsigned_varint(before + encoded + behind, len(before)) == (value, len(before + encoded))


@given(i32s)
def test_varint_is_what_construct_says(value: int) -> None:
    assert encode_varint(value) == ZigZag.build(value)
    assert decode_varint(ZigZag.build(value), 0) == (value, len(ZigZag.build(value)))


@given(i64s)
def test_varlong_is_what_construct_says(value: int) -> None:
    assert encode_varint(value) == ZigZag.build(value)
    assert decode_varlong(ZigZag.build(value), 0) == (value, len(ZigZag.build(value)))


@pytest.mark.parametrize("encoded", ["", "80", "ffffffff"])
def test_ends_early(encoded: str) -> None:
    with pytest.raises(ProtocolError, match="end within"):
        decode_unsigned_varint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize(
    ("encoded", "bits"),
    [("ffffffff10", 32), ("ffffffffff00", 32), ("ffffffffffffffffff02", 64), ("ffffffffffffffffffff00", 64)],
)
def test_too_large(encoded: str, bits: int) -> None:
    with pytest.raises(ProtocolError, match=f"{bits} bits"):
        decode_unsigned_varint(bytes.fromhex(encoded), 0, bits)
