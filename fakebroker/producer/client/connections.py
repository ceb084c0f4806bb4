"""The connections of a producer, between the network client on one side and effects and bytes on the other.

Theory   Each attempt to connect has a number. Events for a number that is no longer the node's are ignored. A poll
         (`take`) closes at most one idle connection. The client sees it as closed by the broker, after the responses
         that arrived before.
Units    monotonic milliseconds.
Source   clients/.../common/network/Selector.java, for plain connections.
Differs  Bytes count as written as soon as their effect exists. An invalid response closes the connection. In Kafka only
         one with a negative length does. After any other invalid response Kafka's sender logs an error and forgets the
         request. Its batch then waits for delivery.timeout.ms, in 2.0 for ever.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Final

from fakebroker.producer.client.effects import CloseConnection, Connect, Effect, SendBytes
from fakebroker.producer.client.frames import ProduceBody, decode, encode
from fakebroker.producer.client.idle_expiry import IdleExpiryManager
from fakebroker.producer.journal.events import AnswerReceived, Connected, Connecting, Disconnected, RequestSent
from fakebroker.producer.journal.probe import ProducerProbe
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from fakebroker.producer.network.selectable import PollResult, Selectable
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import api_name

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
        self.probe: ProducerProbe | None = None
        self._sent_ms: dict[int, int] = {}  # for the probe: when requests were sent, by correlation id
        self._effects: list[Effect] = []
        self._happened = PollResult()
        self._later: list[tuple[int, object, int]] = []  # responses behind the first of a node
        self._lost_later: list[int] = []  # nodes that are reported as closed after these responses

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    def connect(self, node: Node, now_ms: int) -> None:
        self._next += 1
        self._idle.update(node.node_id, now_ms)
        self._channels[self._next] = _Channel(node.node_id)
        self._number_of[node.node_id] = self._next
        self._effects.append(Connect(self._next, node.host, node.port))
        if self.probe is not None:
            self.probe.tell(Connecting(*self.probe.times, self._next, node.node_id))

    def close(self, node: int) -> None:
        number = self._number_of.pop(node, None)
        if number is not None:
            channel = self._drop(number)
            happened = self._happened
            happened.completed_sends = [one for one in happened.completed_sends if one != node]
            happened.completed_receives = [one for one in happened.completed_receives if one[0] != node]
            happened.connected = [one for one in happened.connected if one != node]
            self._later = [one for one in self._later if one[0] != node]
            self._effects.append(CloseConnection(number))
            if self.probe is not None:
                self._tell_disconnected(self.probe, number, channel)

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
        if self.probe is not None:
            self._tell_sent(self.probe, number, request)

    def is_channel_ready(self, node: int) -> bool:
        number = self._number_of.get(node)
        return number is not None and self._channels[number].is_connected

    def take(self, now_ms: int) -> PollResult:
        idle = self._idle.poll_expired(now_ms)
        if idle is not None:
            number = self._number_of[idle]
            self._effects.append(CloseConnection(number))
            self._end(number, "idle")
        happened = self._happened
        if not self.has_more():
            return happened  # no events now or later
        self._happened = PollResult()
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
        """Return True if the next `take` has events already."""
        happened = self._happened
        return bool(
            happened.completed_sends or happened.completed_receives or happened.connected or happened.disconnected
        )

    def connected(self, number: int, now_ms: int) -> bool:
        """Handle a made connection. Return True if the client has to be notified."""
        channel = self._channels.get(number)
        if channel is None or channel.is_connected:
            return False
        self._idle.update(channel.node, now_ms)
        channel.is_connected = True
        if self.probe is not None:
            self.probe.tell(Connected(*self.probe.times, number, channel.node))
        self._happened.connected.append(channel.node)
        return True

    def lost(self, number: int) -> bool:
        """Handle a connection that the broker closed, or that could not be made. Return True if the client has to be
        notified."""
        if number not in self._channels:
            return False
        self._end(number, "lost")
        return True

    def received(self, number: int, data: bytes, now_ms: int) -> bool:
        """Handle bytes from the broker. Return True if a response is complete. Invalid bytes close the connection."""
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
                    raise ProtocolError(f"a response has a length of {length} bytes")
                if not channel.unanswered:
                    raise ProtocolError("a response came without a request")
                request = channel.unanswered[0]
                body, throttle_ms = decode(request, frame)
            except ProtocolError as error:
                self._effects.append(CloseConnection(number, str(error)))
                return self.lost(number)
            channel.unanswered.popleft()
            if self.probe is not None:
                self._tell_answered(self.probe, number, request)
            self._answered(channel.node, body, throttle_ms)
        return is_whole

    def check_invariants(self) -> None:
        self._idle.check_invariants()
        assert set(self._number_of.values()) == set(self._channels)

    def _end(self, number: int, reason: str) -> None:
        """Report the end of a connection to the client."""
        channel = self._drop(number)
        node = channel.node
        del self._number_of[node]
        self._happened.connected = [one for one in self._happened.connected if one != node]
        self._disconnected(node)
        if self.probe is not None:
            self._tell_disconnected(self.probe, number, channel, reason)

    def _answered(self, node: int, body: object, throttle_ms: int) -> None:
        """Queue a response; a poll takes one response of each node."""
        is_second = any(one[0] == node for one in self._happened.completed_receives)
        (self._later if is_second else self._happened.completed_receives).append((node, body, throttle_ms))

    def _disconnected(self, node: int) -> None:
        """Queue the end of a connection, behind the responses that arrived before it."""
        has_answers = any(one[0] == node for one in self._later)
        (self._lost_later if has_answers else self._happened.disconnected).append(node)

    def _drop(self, number: int) -> _Channel:
        channel = self._channels.pop(number)
        self._idle.remove(channel.node)
        return channel

    def _tell_sent(self, probe: ProducerProbe, number: int, request: ClientRequest) -> None:
        if request.expects_response:
            self._sent_ms[request.correlation_id] = probe.now_ms
        if not probe.hears(RequestSent):
            return
        acks = timeout_ms = -1
        batches: tuple[int, ...] = ()
        if isinstance(request.body, ProduceBody):
            produced = request.body.request
            acks, timeout_ms = produced.acks, produced.timeout_ms
            batches = tuple(probe.number_of(batch) for _, batch in produced.batches.items())
        probe.tell(
            RequestSent(
                *probe.times,
                number,
                request.node,
                self._client_id,
                request.correlation_id,
                api_name(request.api_key),
                request.version,
                acks,
                timeout_ms,
                batches,
            )
        )

    def _tell_answered(self, probe: ProducerProbe, number: int, request: ClientRequest) -> None:
        self._sent_ms.pop(request.correlation_id, None)
        if probe.hears(AnswerReceived):
            probe.tell(AnswerReceived(*probe.times, number, request.node, request.correlation_id))

    def _tell_disconnected(self, probe: ProducerProbe, number: int, channel: _Channel, reason: str = "") -> None:
        """Tell the end of a connection. Without a reason the producer closed it: the reason is in its requests."""
        correlation_ids = tuple(request.correlation_id for request in channel.unanswered)
        sent_ms = [self._sent_ms.pop(correlation_id, probe.now_ms) for correlation_id in correlation_ids]
        if not reason:
            reason = "closed" if channel.is_connected else "not connected in time"
            waits = zip(sent_ms, channel.unanswered, strict=True)
            if any(probe.now_ms - since_ms > request.timeout_ms for since_ms, request in waits):
                reason = "no answer in time"
        probe.tell(Disconnected(*probe.times, number, channel.node, reason, correlation_ids))
