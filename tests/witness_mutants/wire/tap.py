"""A tap between the sockets and the brokers of this process: it sees all messages, and alters one.

Theory   To both sides it is a proxy that nothing reveals. Addresses are those of the two ends, since the verdict finds
         a request in the journal by the load's address. What comes behind a
         delayed frame of a connection waits for it, as in TCP.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pytest

from fakebroker.network.connection import Connection
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import FrameDecoder, encode_frame
from fakebroker.server.driver import Driver
from witness_mutants.wire.altering import DELAY_S, Alteration, Altered, alter
from witness_mutants.wire.batches import NothingToChange
from witness_mutants.wire.fields import partitions_of
from witness_mutants.wire.messages import Message

Pass = Callable[[list[bytes]], None]


class Done(NamedTuple):
    """A message that was altered. `peer` is the address of the load on its connection, `asked` the request that it is,
    or that it answers. `is_leaders`: the broker leads a partition that it is about."""

    peer: str
    altered: Altered
    message: Message
    asked: Message
    is_leaders: bool


class Lane:
    """One direction of a connection."""

    def __init__(self) -> None:
        self.decoder = FrameDecoder()
        self.held: list[bytes] | None = None  # behind a delayed frame


class Tap:
    """`seen` has all messages in their order, `done` what was altered."""

    def __init__(self, alteration: Alteration | None = None) -> None:
        self.seen: list[Message] = []
        self.done: Done | None = None
        self._alteration = alteration
        self._lanes: defaultdict[tuple[Connection, bool], Lane] = defaultdict(Lane)
        self._asked: dict[tuple[Connection, int], Message] = {}  # requests by correlation id
        self._leaders: dict[tuple[str, int | None], int] = {}
        self._previous: dict[str, Message] = {}
        self._counts: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Tap all connections that brokers of this process get during the block."""
        received, write = Driver.received, Driver._write

        def tapped_received(driver: Driver, connection: Connection, data: bytes | memoryview) -> None:
            def let_in(frames: list[bytes]) -> None:
                for frame in frames:
                    if connection in driver.transports:
                        received(driver, connection, frame)

            self._take(driver, connection, True, [data], let_in)

        def tapped_write(driver: Driver, connection: Connection, parts: list[Any]) -> None:
            self._take(driver, connection, False, parts, lambda frames: write(driver, connection, frames))

        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(Driver, "received", tapped_received)
            patches.setattr(Driver, "_write", tapped_write)
            yield

    def _take(self, driver: Driver, connection: Connection, is_request: bool, parts: list[Any], let: Pass) -> None:
        lane = self._lanes[connection, is_request]
        frames: list[bytes] = []
        for part in parts:
            lane.decoder.feed(part)
        while (frame := lane.decoder.next_frame()) is not None:
            altered = self._altered(connection, is_request, frame)
            if altered is not None and altered.is_delayed and lane.held is None:
                let(frames)
                frames, lane.held = [], []
                driver._loop.call_later(DELAY_S, self._release, lane, let)
            frames += [encode_frame(frame)] if altered is None else altered.frames
            if is_request:
                for passed in frames[-1:] if altered is None else altered.frames:
                    self._note(connection, passed[4:])
        if lane.held is not None:
            lane.held += frames
        elif frames:
            let(frames)

    def _release(self, lane: Lane, let: Pass) -> None:
        frames, lane.held = lane.held or [], None
        let(frames)

    def _note(self, connection: Connection, frame: bytes) -> None:
        """Note a request as the broker gets it. One that cannot be read is not answered."""
        with suppress(ProtocolError):
            message = Message.request(frame)
            self._asked[connection, message.correlation_id] = message

    def _altered(self, connection: Connection, is_request: bool, frame: bytes) -> Altered | None:
        """Look at a message, and return its replacement; None if it is not changed."""
        try:
            if is_request:
                message = request = Message.request(frame)
            else:
                request = self._asked[connection, int.from_bytes(frame[:4], "big")]
                message = Message.response(request.api, request.version, frame)
        except (ProtocolError, KeyError):  # a response to a request that was altered
            return None
        name, whole = message.name, encode_frame(frame)
        before, number = self._previous.get(name), self._counts[name]
        self.seen.append(message)
        self._previous[name] = message
        self._counts[name] += 1
        if name.startswith("Metadata") and not is_request:
            self._leaders |= {
                (topic.name, part.partition_index): part.leader_id
                for topic in message.body.topics
                for part in topic.partitions
            }
        wanted = self._alteration
        if wanted is None or self.done is not None or name != wanted.message or number < wanted.ordinal:
            return None
        try:
            altered = alter(whole, message, before, wanted)
        except NothingToChange:
            return None
        leads = any(self._leaders.get(part) == connection.broker_id for part in partitions_of(message.body))
        self.done = Done(connection.peer, altered, message, request, leads)
        return altered
