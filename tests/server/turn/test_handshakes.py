"""The limit for the handshakes of TLS in one turn of the loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine

from fakebroker.core.security.identity import Listener
from fakebroker.network.connection import Connection
from fakebroker.server.turn.handshakes import Handshakes

SSL = Listener("SSL", "SSL")


class Transport(asyncio.Transport):
    """A transport that only knows whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.closing = False

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Peers:
    """Connections that begin a handshake at once."""

    def __init__(self, count: int) -> None:
        self.handshakes = Handshakes(asyncio.get_running_loop())
        self.transports = [Transport() for _ in range(count)]
        self.connections = [Connection(1, "peer", "127.0.0.1", 1 << 20, number, SSL) for number in range(count)]
        self.done: list[int] = []

    def begin(self) -> None:
        for number, (connection, transport) in enumerate(zip(self.connections, self.transports, strict=True)):
            self.handshakes.take(connection, transport, functools.partial(self.done.append, number))


def on_a_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    @functools.wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


@on_a_loop
async def test_a_turn_does_four_steps_and_the_others_wait_in_order() -> None:
    peers = Peers(10)
    peers.begin()
    assert peers.done == [0, 1, 2, 3]
    assert [transport.reading for transport in peers.transports] == [True] * 4 + [False] * 6
    await asyncio.sleep(0)
    assert peers.done == list(range(8))
    assert [transport.reading for transport in peers.transports] == [True] * 8 + [False] * 2
    holding = [peers.handshakes.is_holding]
    await asyncio.sleep(0)
    assert peers.done == list(range(10))
    holding.append(peers.handshakes.is_holding)
    assert holding == [True, False]
    assert all(transport.reading for transport in peers.transports)


@on_a_loop
async def test_a_later_step_waits_behind_those_that_wait() -> None:
    peers = Peers(6)
    peers.begin()
    await asyncio.sleep(0)
    peers.begin()
    assert peers.done == [0, 1, 2, 3, 4, 5, 0, 1]


@on_a_loop
async def test_a_turn_without_steps_ends_the_work() -> None:
    peers = Peers(1)
    peers.begin()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert peers.handshakes._next_turn is None
    peers.begin()
    assert peers.done == [0, 0]


@on_a_loop
async def test_a_connection_that_closes_while_it_waits_is_left_out() -> None:
    peers = Peers(6)
    peers.begin()
    peers.transports[4].closing = True
    await asyncio.sleep(0)
    assert peers.done == [0, 1, 2, 3, 5]
    assert not peers.transports[4].reading


@on_a_loop
async def test_a_connection_that_the_broker_has_paused_stays_paused() -> None:
    peers = Peers(5)
    peers.connections[4].reading_paused = True
    peers.transports[4].reading = False
    peers.begin()
    await asyncio.sleep(0)
    assert peers.done == list(range(5))
    assert not peers.transports[4].reading


@on_a_loop
async def test_nothing_is_done_after_the_stop() -> None:
    peers = Peers(6)
    peers.begin()
    peers.handshakes.stop()
    await asyncio.sleep(0)
    assert peers.done == [0, 1, 2, 3]


@on_a_loop
async def test_steps_that_go_on_take_no_more_turns_than_others() -> None:
    peers = Peers(1)
    (connection,), (transport,) = peers.connections, peers.transports

    def step() -> None:
        peers.done.append(0)
        peers.handshakes.take(connection, transport, step)

    step()
    done = []
    for _ in range(8):
        done.append(len(peers.done))
        await asyncio.sleep(0)
    assert done == [5 + 4 * turn for turn in range(8)]
    peers.handshakes.stop()


@on_a_loop
async def test_a_step_that_fails_does_not_stop_the_others() -> None:
    peers = Peers(10)
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context["exception"]))

    def fail() -> None:
        raise ValueError("a bug")

    for connection, transport in zip(peers.connections[:5], peers.transports[:5], strict=True):
        peers.handshakes.take(connection, transport, lambda: None)
    peers.handshakes.take(peers.connections[5], peers.transports[5], fail)
    for number in range(6, 10):
        step = functools.partial(peers.done.append, number)
        peers.handshakes.take(peers.connections[number], peers.transports[number], step)
    while peers.handshakes.is_holding:
        await asyncio.sleep(0)
    assert peers.done == [6, 7, 8, 9]
    assert list(map(str, failures)) == ["a bug"]
