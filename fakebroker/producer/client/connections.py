"""Connections as the network client sees them, on one side; effects and bytes on the other.

Theory   Every attempt to connect has a number. What is told of a number that is not the node's any more is ignored.
         A poll (`take`) closes the connection that was idle for too long, one at most; it is heard of as one that the
         broker closed, and what was answered before comes before.
Units    monotonic milliseconds.
Source   clients/.../common/network/Selector.java, for plain connections.
Differs  What is to be sent counts as written when the effect is there. An answer that makes no sense ends the
         connection, as one with a negative length does in Kafka; there the sender logs an error and forgets the request
         of any other, whose batch then waits for delivery.timeout.ms, and in 2.0 for ever.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Final

from fakebroker.producer.client.effects import Connect, Disconnect, Effect, SendBytes
from fakebroker.producer.client.frames import decode, encode
from fakebroker.producer.client.idle_expiry import IdleExpiryManager
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from fakebroker.producer.network.selectable import Happened, Selectable
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.errors import ProtocolError

_LENGTH: Final = struct.Struct(">i")


class _Channel:
    def __init__(self, node: int) -> None:
        self.node = node
        self.is_connected = False
        self.received = bytearray()
        self.unanswered: deque[ClientRequest] = deque()


class Connections(Selectable):
    def __init__(self, config: ProducerConfig, now_ms: int) -> None:
        self._client_id = config.client_id
        self._generation = config.generation
        self._idle = IdleExpiryManager(config.connections_max_idle_ms, now_ms)
        self._channels: dict[int, _Channel] = {}
        self._number_of: dict[int, int] = {}  # by node
        self._next = 0
        self.listener: Listener | None = None
        self._effects: list[Effect] = []
        self._happened = Happened()
        self._later: list[tuple[int, object, int]] = []  # answers behind the first of a node
        self._lost_later: list[int] = []  # nodes that are gone when these are taken

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def connect(self, node: Node, now_ms: int) -> None:
        self._next += 1
        self._idle.update(node.node_id, now_ms)
        self._channels[self._next] = _Channel(node.node_id)
        self._number_of[node.node_id] = self._next
        self._effects.append(Connect(self._next, node.host, node.port))
        if self.listener is not None:
            self.listener.connecting(self._next, node.node_id)

    def close(self, node: int) -> None:
        number = self._number_of.pop(node, None)
        if number is not None:
            self._drop(number)
            happened = self._happened
            happened.completed_sends = [one for one in happened.completed_sends if one != node]
            happened.completed_receives = [one for one in happened.completed_receives if one[0] != node]
            happened.connected = [one for one in happened.connected if one != node]
            self._later = [one for one in self._later if one[0] != node]
            self._effects.append(Disconnect(number))
            if self.listener is not None:
                self.listener.disconnected(number, node, is_own=True, is_idle=False)

    def close_all(self) -> None:
        for node in list(self._number_of):
            self.close(node)

    def send(self, request: ClientRequest, now_ms: int) -> None:
        number = self._number_of[request.node]
        self._idle.update(request.node, now_ms)
        if request.expects_response:
            self._channels[number].unanswered.append(request)
        self._effects.append(SendBytes(number, encode(request, self._client_id, self._generation)))
        self._happened.completed_sends.append(request.node)
        if self.listener is not None:
            self.listener.request_sent(number, request)

    def is_channel_ready(self, node: int) -> bool:
        number = self._number_of.get(node)
        return number is not None and self._channels[number].is_connected

    def take(self, now_ms: int) -> Happened:
        idle = self._idle.poll_expired(now_ms)
        if idle is not None:
            number = self._number_of[idle]
            self._effects.append(Disconnect(number))
            self._end(number, is_own=True, is_idle=True)
        happened = self._happened
        if not self.has_more():
            return happened  # nothing, and nothing waits behind it
        self._happened = Happened()
        later, self._later = self._later, []
        for node, body, throttle_ms in later:
            self._answered(node, body, throttle_ms)
        lost, self._lost_later = self._lost_later, []
        for node in lost:
            self._disconnected(node)
        return happened

    def next_idle_ms(self) -> int | None:
        return self._idle.next_ms()

    def has_more(self) -> bool:
        """Whether the next `take` has something already."""
        happened = self._happened
        return bool(
            happened.completed_sends or happened.completed_receives or happened.connected or happened.disconnected
        )

    def connected(self, number: int, now_ms: int) -> bool:
        """Whether that is news."""
        channel = self._channels.get(number)
        if channel is None or channel.is_connected:
            return False
        self._idle.update(channel.node, now_ms)
        channel.is_connected = True
        if self.listener is not None:
            self.listener.connected(number, channel.node)
        self._happened.connected.append(channel.node)
        return True

    def lost(self, number: int) -> bool:
        """It was closed by the broker, or could not be made. Whether that is news."""
        if number not in self._channels:
            return False
        self._end(number, is_own=False, is_idle=False)
        return True

    def received(self, number: int, data: bytes, now_ms: int) -> bool:
        """Bytes that the broker sent. Whether an answer is whole. What makes no sense ends the connection."""
        channel = self._channels.get(number)
        if channel is None:
            return False
        self._idle.update(channel.node, now_ms)
        channel.received += data
        is_whole = False
        while len(channel.received) >= _LENGTH.size:
            length = _LENGTH.unpack_from(channel.received)[0]
            end = _LENGTH.size + length
            if length >= 0 and len(channel.received) < end:
                break
            frame = bytes(channel.received[_LENGTH.size : end])
            del channel.received[:end]
            is_whole = True
            try:
                if length < 0:
                    raise ProtocolError(f"an answer has a length of {length} bytes")
                if not channel.unanswered:
                    raise ProtocolError("an answer came where nothing was asked")
                request = channel.unanswered.popleft()
                body, throttle_ms = decode(request, frame)
            except ProtocolError as error:
                self._effects.append(Disconnect(number, str(error)))
                return self.lost(number)
            if self.listener is not None:
                self.listener.answer_received(number, request)
            self._answered(channel.node, body, throttle_ms)
        return is_whole

    def check_invariants(self) -> None:
        self._idle.check_invariants()
        assert set(self._number_of.values()) == set(self._channels)

    def _end(self, number: int, is_own: bool, is_idle: bool) -> None:
        """The client hears of it."""
        node = self._channels[number].node
        del self._number_of[node]
        self._drop(number)
        self._happened.connected = [one for one in self._happened.connected if one != node]
        self._disconnected(node)
        if self.listener is not None:
            self.listener.disconnected(number, node, is_own, is_idle)

    def _answered(self, node: int, body: object, throttle_ms: int) -> None:
        """A poll takes one answer of a node."""
        is_second = any(one[0] == node for one in self._happened.completed_receives)
        (self._later if is_second else self._happened.completed_receives).append((node, body, throttle_ms))

    def _disconnected(self, node: int) -> None:
        """What it answered before comes before."""
        has_answers = any(one[0] == node for one in self._later)
        (self._lost_later if has_answers else self._happened.disconnected).append(node)

    def _drop(self, number: int) -> None:
        self._idle.remove(self._channels.pop(number).node)
