"""The limit for the bytes of all connections in one turn of the loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine

import pytest

from fakebroker.core.security.identity import PLAINTEXT
from fakebroker.network.connection import Connection
from fakebroker.server.turn.intake import Intake

MIB = 1 << 20


class Transport(asyncio.ReadTransport):
    """A transport that only knows whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.closing = False

    def is_reading(self) -> bool:
        return self.reading

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def on_a_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(**arguments: str) -> None:
        asyncio.run(test(**arguments))

    return run


def connection(number: int = 1) -> Connection:
    return Connection(1, f"peer {number}", "127.0.0.1", 100 * MIB, number, PLAINTEXT)


@on_a_loop
async def test_a_connection_beyond_the_limit_of_a_turn_is_read_again_in_the_next_turn() -> None:
    intake = Intake(asyncio.get_running_loop())
    first, second = Transport(), Transport()
    buffer = memoryview(bytearray(MIB))

    intake.was_read(connection(1), first, 3 * MIB)
    assert (first.reading, len(intake.room(buffer))) == (True, MIB)
    intake.was_read(connection(2), second, MIB)
    assert (first.reading, second.reading, intake.is_holding) == (True, False, True)
    assert len(intake.room(buffer)) == 4096, "a connection that was about to be read may bring 4096 bytes"
    intake.was_read(connection(1), first, 4096)
    assert first.reading is False

    await asyncio.sleep(0)
    assert (first.reading, second.reading, intake.is_holding) == (True, True, False)
    assert len(intake.room(buffer)) == MIB


@on_a_loop
async def test_small_reads_are_not_looked_at() -> None:
    intake = Intake(asyncio.get_running_loop())
    transport = Transport()
    for _ in range(1000):
        intake.was_read(connection(), transport, 16_383)
    assert transport.reading


@pytest.mark.parametrize("why", ["paused", "closing"])
@on_a_loop
async def test_a_paused_or_closing_connection_is_not_read_again(why: str) -> None:
    """The core has paused the connection meanwhile, or it is closing."""
    intake = Intake(asyncio.get_running_loop())
    transport, held = Transport(), connection()
    intake.was_read(held, transport, 4 * MIB)
    held.reading_paused = why == "paused"
    transport.closing = why == "closing"
    await asyncio.sleep(0)
    assert not transport.reading


@on_a_loop
async def test_a_connection_that_is_paused_already_is_left_alone() -> None:
    intake = Intake(asyncio.get_running_loop())
    transport, paused = Transport(), connection()
    paused.reading_paused = True
    intake.was_read(paused, transport, 4 * MIB)
    assert (transport.reading, intake.is_holding) == (True, False)


@on_a_loop
async def test_after_stop_no_connection_is_read_again() -> None:
    intake = Intake(asyncio.get_running_loop())
    transport = Transport()
    intake.was_read(connection(), transport, 4 * MIB)
    intake.stop()
    await asyncio.sleep(0)
    assert not transport.reading
