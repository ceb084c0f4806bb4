"""Kafka's variable-length integers: seven bits a byte, low group first, the high bit says that more follow.

Theory   An unsigned varint carries lengths and tags, in at most 5 bytes. Signed ones (zigzag: 0, -1, 1, -2 ... become
         0, 1, 2, 3 ...) occur only inside record batches: a varint has at most 5 bytes, a varlong at most 10.
Source   clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java
Differs  Kafka drops the bits above 32 (or 64) of the last byte; here they are an error, except in `decode_kept_bits`.
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.errors import ProtocolError

__all__ = [
    "decode_kept_bits",
    "decode_unsigned_varint",
    "decode_varint",
    "decode_varlong",
    "encode_unsigned_varint",
    "encode_varint",
]

_BITS_OF_FIVE_BYTES: Final = 35

_SHORT: Final = [bytes((value,) if value < 128 else (value & 0x7F | 0x80, value >> 7)) for value in range(1024)]


def encode_unsigned_varint(value: int) -> bytes:
    """Return the bytes of a number that is not negative."""
    if value < 1024:
        return _SHORT[value]
    encoded = bytearray()
    while value >= 128:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_varint(value: int) -> bytes:
    """Return the zigzag bytes of a signed number of at most 64 bits; a varint and a varlong of one value are the
    same."""
    return encode_unsigned_varint(value << 1 if value >= 0 else ~(value << 1))


def decode_unsigned_varint(buffer: bytes, offset: int, bits: int = 32) -> tuple[int, int]:
    """Return the number at the offset, and the offset behind it.

    Raises ProtocolError when the buffer ends within the number or the number does not fit into `bits`.
    """
    value = shift = 0
    try:
        while (byte := buffer[offset]) >= 128:
            value |= (byte & 0x7F) << shift
            shift += 7
            offset += 1
            if shift >= bits:
                raise ProtocolError(f"A varint is longer than {bits} bits allow.")
    except IndexError:
        raise ProtocolError("The bytes end within a varint.") from None
    value |= byte << shift
    if value >> bits:
        raise ProtocolError(f"A varint does not fit into {bits} bits.")
    return value, offset + 1


def decode_kept_bits(buffer: bytes, offset: int) -> tuple[int, int]:
    """Return a signed number of 32 bits, and the offset behind it. Like Kafka it drops the bits above these in the five
    bytes. Raises ProtocolError when the buffer ends within the number, or the number has more bytes."""
    value, offset = decode_unsigned_varint(buffer, offset, _BITS_OF_FIVE_BYTES)
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value, offset


def decode_varint(buffer: bytes, offset: int) -> tuple[int, int]:
    """Return a zigzag number of 32 bits, and the offset behind it."""
    value, offset = decode_unsigned_varint(buffer, offset)
    return (value >> 1) ^ -(value & 1), offset


def decode_varlong(buffer: bytes, offset: int) -> tuple[int, int]:
    """Return a zigzag number of 64 bits, and the offset behind it."""
    value, offset = decode_unsigned_varint(buffer, offset, 64)
    return (value >> 1) ^ -(value & 1), offset
