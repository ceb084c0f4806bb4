"""Requests that are cut off or have wrong bytes, and the messages about them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from fakebroker.protocol.errors import ProtocolError

Damage = tuple[int, list[tuple[int, int]]]

# After how many bytes of the body it is cut off, and which of them are others.
damages = st.tuples(
    st.integers(0, 400),
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 127, 128, 255])), max_size=3),
)


def damaged(frame: bytes, offset: int, damage: Damage) -> bytes:
    """Return the frame with damage to the body, which starts at `offset`."""
    cut, changes = damage
    changed = bytearray(frame)
    for place, value in changes:
        if offset + place < len(changed):
            changed[offset + place] = value
    return bytes(changed[: offset + cut])


def told(call: Callable[[], object]) -> object:
    """Return the result of the call, or its error message."""
    try:
        return call()
    except ProtocolError as problem:
        return str(problem)
