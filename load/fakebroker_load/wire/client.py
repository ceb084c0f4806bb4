"""A client that sends frames over a raw socket. It notes to the microsecond when each was written and answered.

Theory   One `ClientConnection` is one socket. `drive` sends its requests in order, each no earlier than intended and
         with at most `pipelined` of them unanswered. Only the correlation id of a response is decoded at once. Bodies
         are read later: reading one response must not delay the note of the next one's arrival.
         Requests with acks=0 never get a response, which no wait can prove. So an ApiVersions request follows the last
         such request. Brokers answer a connection in order. If the first response is that of ApiVersions, all requests
         before it were read and got no response.
         Every wait has an end: the timeout of the oldest unanswered request and a grace period on top.
Units    _ns is time.monotonic_ns of this machine; only times of one machine can be compared.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import cast

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import FrameDecoder
from fakebroker_load.wire.messages import (
    ClusterMetadata,
    decode_metadata,
    encode_metadata,
    encode_probe,
    is_probe_answer,
)

CONNECT_TIMEOUT_S = 10
PROBE_CORRELATION_ID = 0x7FFF_FFFF  # above every planned one
METADATA_RETRY_S = 0.1
STOOD_STILL_NS = 200_000_000  # a timer that is this late shows that this process stood still
SILENT_AT_ONCE = 1_000  # acks=0 requests that are kept before they are shown to be silent


class RequestOutcome(StrEnum):
    ANSWERED = "answered"
    SILENT = "silent"  # acks=0: no response, and the connection was alive and empty afterwards
    MISSING = "no answer"  # none until timeout + grace
    OUT_OF_ORDER = "out of order"  # before the response to an older request: of the same connection
    GARBLED = "garbled"  # the bytes of the response cannot be read
    CLOSED = "closed"  # the connection ended first
    EXPIRED = "expired"  # in the producer: before its batch was in any request
    EXPIRED_IN_FLIGHT = "expired in flight"  # in the producer: after its batch was in a request
    REFUSED = "refused"  # by the producer: it was in no batch
    NOT_SENT = "not sent"  # the connection was lost, or never made: before its turn


class WireError(Exception):
    """The cluster cannot be used for the run; the message is for the user."""


@dataclass(slots=True, eq=False, kw_only=True)
class Exchange:
    """A request and its result."""

    correlation_id: int
    request: bytes  # the whole frame
    wants_answer: bool
    timeout_ms: int
    intended_ns: int  # after the start of the run
    sent_ns: int | None = None
    answered_ns: int | None = None
    answer: bytes | None = None  # the frame without its length
    outcome: RequestOutcome = RequestOutcome.NOT_SENT


Ended = Callable[[Exchange], None]  # called once for each request, when its outcome is known


class ClientConnection(asyncio.Protocol):
    """One socket. `waiting` holds requests that need a response, oldest first; `silent` those that must get none."""

    def __init__(self, ended: Ended = lambda exchange: None) -> None:
        self._ended = ended
        self.waiting: dict[int, Exchange] = {}
        self.silent: dict[int, Exchange] = {}
        self.closed = False
        self.local = ""  # our address, as the broker sees it unless a proxy is in between
        self.stray_correlation_id: int | None = None  # of a response without a request here
        self._decoder = FrameDecoder()
        self._last_answer_ns = 0
        self._news = asyncio.Event()
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport differs only in its base class
        if address := transport.get_extra_info("sockname"):
            self.local = f"{address[0]}:{address[1]}"

    def data_received(self, data: bytes) -> None:
        now_ns = time.monotonic_ns()
        try:
            self._decoder.feed(data)
            while (frame := self._decoder.next_frame()) is not None:
                self._take(frame, now_ns)
        except (ProtocolError, struct.error):
            self._give_up(RequestOutcome.GARBLED)
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up(RequestOutcome.CLOSED)
        self._news.set()
        self._lost.set()

    def _take(self, frame: bytes, now_ns: int) -> None:
        (correlation_id,) = struct.unpack_from(">i", frame)
        in_order = next(iter(self.waiting), None) == correlation_id
        exchange = self.waiting.pop(correlation_id, None)
        if exchange is None:
            in_order = True  # the order of unexpected responses does not matter
            exchange = self.silent.pop(correlation_id, None)
        if exchange is None:
            self.stray_correlation_id = correlation_id
            raise ProtocolError(f"There is no request with the correlation id {correlation_id}.")
        exchange.answered_ns = self._last_answer_ns = now_ns
        exchange.answer = frame
        exchange.outcome = RequestOutcome.ANSWERED if in_order else RequestOutcome.OUT_OF_ORDER
        self._end(exchange)

    def _end(self, *exchanges: Exchange) -> None:
        for exchange in exchanges:
            if exchange.correlation_id != PROBE_CORRELATION_ID:
                self._ended(exchange)

    def _give_up(self, outcome: RequestOutcome) -> None:
        """Give all unanswered requests this outcome, and close the connection."""
        unanswered = (*self.waiting.values(), *self.silent.values())
        for exchange in unanswered:
            exchange.outcome = outcome
        self.waiting.clear()
        self.silent.clear()
        self._end(*unanswered)
        self.closed = True
        self._transport.abort()

    def send(self, exchange: Exchange) -> None:
        (self.waiting if exchange.wants_answer else self.silent)[exchange.correlation_id] = exchange
        exchange.outcome = RequestOutcome.MISSING
        exchange.sent_ns = time.monotonic_ns()
        self._transport.write(exchange.request)

    async def room(self, limit: int, grace_ms: int) -> bool:
        """Wait until fewer than `limit` are unanswered. Return False if that did not happen; then the connection is
        given up."""
        stood_still_until_ns = 0
        while len(self.waiting) >= limit:
            oldest = next(iter(self.waiting.values()))
            handled_ns = max(oldest.sent_ns or 0, self._last_answer_ns)
            deadline_ns = handled_ns + (oldest.timeout_ms + grace_ms) * 1_000_000
            if stood_still_until_ns > deadline_ns:
                deadline_ns = stood_still_until_ns + grace_ms * 1_000_000
            self._news.clear()
            try:
                async with asyncio.timeout(max(0, deadline_ns - time.monotonic_ns()) / 1e9):
                    await self._news.wait()
            except TimeoutError:
                now_ns = time.monotonic_ns()
                if now_ns - deadline_ns > STOOD_STILL_NS:  # data that arrived meanwhile is still unread
                    stood_still_until_ns = now_ns
                else:
                    self._give_up(RequestOutcome.MISSING)
        return not self.closed

    async def prove_silence(self, grace_ms: int) -> None:
        """Show that the unanswered acks=0 requests get no response: the next response is that of a probe."""
        probe = internal(PROBE_CORRELATION_ID, encode_probe(PROBE_CORRELATION_ID))
        self.send(probe)
        if await self.room(1, grace_ms) and probe.answer is not None and is_probe_answer(probe.answer):
            silent = tuple(self.silent.values())
            for exchange in silent:
                exchange.outcome = RequestOutcome.SILENT
            self.silent.clear()
            self._end(*silent)
        else:
            self._give_up(RequestOutcome.CLOSED)

    async def close(self) -> None:
        """Close the socket, and wait until the loop has released it. There is nothing left to flush."""
        self._transport.abort()
        await self._lost.wait()


def internal(correlation_id: int, request: bytes) -> Exchange:
    """Return an exchange of our own, outside the plan."""
    return Exchange(correlation_id=correlation_id, request=request, wants_answer=True, timeout_ms=0, intended_ns=0)


async def connect(host: str, port: int, ended: Ended = lambda exchange: None) -> ClientConnection | None:
    """Return a new connection, or None if there is none in time."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            _, connection = await loop.create_connection(lambda: ClientConnection(ended), host, port)
    except OSError:  # TimeoutError is an OSError
        return None
    return connection


async def drive(
    connection: ClientConnection,
    exchanges: Iterable[Exchange],
    *,
    start_ns: int,
    pipelined: int,
    grace_ms: int,
    on_sent: Callable[[], None] = lambda: None,
) -> Iterator[Exchange]:
    """Send the requests of a connection, each at its time and in its turn, and wait for the responses. Each is taken
    from `exchanges` after the one before was sent. Return the requests that were not sent before the connection
    ended."""
    left = iter(exchanges)
    for exchange in left:
        await sleep_until(start_ns + exchange.intended_ns)
        if connection.closed or not await connection.room(pipelined, grace_ms):
            left = chain((exchange,), left)
            break
        connection.send(exchange)
        on_sent()
        if len(connection.silent) >= SILENT_AT_ONCE:
            await connection.prove_silence(grace_ms)
    if await connection.room(1, grace_ms) and connection.silent:
        await connection.prove_silence(grace_ms)
    await connection.close()
    return left


async def sleep_until(target_ns: int) -> None:
    # A loop's timer may fire early by its resolution, and no request may be sent before its time.
    while (left_ns := target_ns - time.monotonic_ns()) > 0:
        await asyncio.sleep(left_ns / 1e9)


async def find_leaders(
    bootstrap: list[tuple[str, int]], topics: dict[str, int], within_s: float = 10
) -> ClusterMetadata:
    """Return the metadata, once each partition has a leader. Ask again until then. Raises WireError if that fails."""
    deadline_ns = time.monotonic_ns() + int(within_s * 1e9)
    complaint = ""
    while time.monotonic_ns() < deadline_ns:
        metadata = await ask_metadata(bootstrap, list(topics))
        needed = [(topic, partition) for topic, count in topics.items() for partition in range(count)]
        missing = [f"{topic}-{partition}" for topic, partition in needed if (topic, partition) not in metadata.leaders]
        if not missing:
            return metadata
        complaint = "; ".join(metadata.problems) or f"partition {missing[0]} does not exist"
        await asyncio.sleep(METADATA_RETRY_S)
    raise WireError(f"The cluster has no leader for every partition that the scenario needs ({complaint}).")


async def ask_metadata(bootstrap: list[tuple[str, int]], topics: list[str]) -> ClusterMetadata:
    """Return the metadata of the first broker that responds."""
    for host, port in bootstrap:
        connection = await connect(host, port)
        if connection is None:
            continue
        ask = internal(1, encode_metadata(1, topics))
        connection.send(ask)
        await connection.room(1, grace_ms=5_000)
        await connection.close()
        if ask.answer is not None:
            try:
                return decode_metadata(ask.answer)
            except ProtocolError as error:
                raise WireError(f"{host}:{port} does not answer like a Kafka broker: {error}") from error
    places = ", ".join(f"{host}:{port}" for host, port in bootstrap)
    raise WireError(f"No broker answers at {places}.")
