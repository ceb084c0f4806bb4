"""A good frame becomes a bad one: bits, lengths, counts, varints; pieces doubled, cut off, or of another frame."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from conformance.frames import with_crc
from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.varint import encode_varint

from .pool import Pool

_BYTES = (0, 1, 2, 3, 7, 12, 15, 16, 64, 127, 128, 254, 255)
_NUMBERS = (0, 1, 2, -1, -2, 3, 127, 128, 255, 256, 1000, 32767, 65535, 65536, 1 << 20, 2**31 - 1, -(2**31))
_VARINTS = (
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x10",
    b"\xff" * 10,
    b"\x80\x00",
    b"\xff\xff\x03",
    b"\xfe\xff\xff\xff\x0f",
)
_LARGE_FRAME = 20_000  # what is larger is not doubled any more


def _flip(data: bytearray, random: Random, _: Pool) -> None:
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _telling_byte(data: bytearray, random: Random, _: Pool) -> None:
    data[random.randrange(len(data))] = random.choice(_BYTES)


def _number(data: bytearray, random: Random, _: Pool) -> None:
    """A length, a count, an index: a telling number of 2 or 4 bytes, anywhere."""
    size = random.choice((2, 4, 4))
    at = random.randrange(len(data))
    data[at : at + size] = (random.choice(_NUMBERS) & (1 << 8 * size) - 1).to_bytes(size, "big")


def _nudge(data: bytearray, random: Random, _: Pool) -> None:
    """A byte that is one more or less: a varint that nearly fits."""
    at = random.randrange(len(data))
    data[at] = (data[at] + random.choice((1, -1, 2, -2))) % 256


def _varint(data: bytearray, random: Random, _: Pool) -> None:
    at = random.randrange(len(data))
    data[at : at + random.choice((0, 1, 1, 5))] = random.choice(_VARINTS)


def _cut(data: bytearray, random: Random, _: Pool) -> None:
    del data[random.randrange(len(data)) :]


def _remove(data: bytearray, random: Random, _: Pool) -> None:
    at = random.randrange(len(data))
    del data[at : at + random.choice((1, 1, 2, 4, 16))]


def _insert(data: bytearray, random: Random, _: Pool) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = random.randbytes(random.choice((1, 1, 2, 4, 16)))


def _double(data: bytearray, random: Random, _: Pool) -> None:
    """A piece once more, or many times: an array with more than it says."""
    if len(data) > _LARGE_FRAME:
        return
    at = random.randrange(len(data))
    piece = data[at : at + random.choice((1, 4, 16, 64))]
    data[at:at] = piece * random.choice((1, 1, 2, 30))


def _splice(data: bytearray, random: Random, pool: Pool) -> None:
    """The beginning of this one, the end of another."""
    other = random.choice(pool.frames)
    data[random.randrange(len(data)) :] = other[random.randrange(4, len(other)) :]


def _other_api(data: bytearray, random: Random, _: Pool) -> None:
    """Send the body under another API or version."""
    if len(data) >= 4:
        at = random.choice((0, 2, 2))
        data[at : at + 2] = random.choice((0, 1, 2, 3, 5, 9, 12, 18, 19, 20, 22, 23, 60, 99, 65535)).to_bytes(2, "big")


Mutation = Callable[[bytearray, Random, Pool], None]
MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _flip,
    _telling_byte,
    _number,
    _number,
    _nudge,
    _nudge,
    _varint,
    _cut,
    _remove,
    _insert,
    _double,
    _splice,
    _other_api,
)


def mutated(data: bytes, random: Random, pool: Pool, most: int = 3) -> bytes:
    """Return the frame with one change or a few."""
    changed = bytearray(data)
    for _ in range(min(random.choice((1, 1, 1, 2, 3)), most)):
        if not changed:
            break
        random.choice(MUTATIONS)(changed, random, pool)
    return bytes(changed)


def batch(random: Random, pool: Pool) -> bytes:
    """A batch, mostly with something wrong in it that its CRC does not tell of."""
    data = random.choice(pool.batches)
    if random.random() < 0.3 or len(data) < RECORD_BATCH_OVERHEAD:
        return data
    at = RECORD_BATCH_OVERHEAD if random.random() < 0.6 else 21
    data = data[:at] + mutated(data[at:], random, pool, 2)
    if len(data) < RECORD_BATCH_OVERHEAD:
        return data
    if random.random() < 0.9:
        data = data[:8] + struct.pack(">i", len(data) - 12) + data[12:]
    return with_crc(data)


def produce(random: Random, pool: Pool) -> bytes:
    """A Produce request, without its length, that has such a batch."""
    head, tail, flexible = random.choice(pool.produces)
    records = batch(random, pool)
    length = _unsigned(len(records) + 1) if flexible else struct.pack(">i", len(records))
    return head + length + records + tail


def _unsigned(value: int) -> bytes:
    """An unsigned varint, by way of the signed one of an even number."""
    return encode_varint(value >> 1 if not value & 1 else -(value >> 1) - 1)


def frame(random: Random, pool: Pool) -> bytes:
    """Something to send: mostly one frame with its right length."""
    if random.random() < 0.35:
        inside = produce(random, pool)
        if random.random() < 0.2:
            inside = mutated(inside, random, pool, 1)
    else:
        inside = random.choice(pool.frames)[4:]
        if random.random() < 0.85:
            inside = mutated(inside, random, pool)
    length = len(inside)
    if random.random() < 0.01:
        length = random.choice((length - 1, length + 1, -1, 0, 2**31 - 1, length + 50))
    return struct.pack(">i", length) + inside
