"""The wire client against a stub: its rows, and that it never hangs."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest
from load_stub import Answer, Behave, Produce, frozen, healthy, stub_broker
from support.stream_server import stream_server
from support.watchdog import LIMIT_S, run

from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker_load.wire.client import (
    SILENT_AT_ONCE,
    ClientConnection,
    Exchange,
    RequestOutcome,
    WireError,
    connect,
    drive,
    find_leaders,
    sleep_until,
)
from fakebroker_load.wire.messages import ProduceResult, decode_produce, encode_produce

GRACE_MS = 150  # where an answer is missing
PATIENCE_MS = 60_000  # where all answers come


def run_on_both_loops(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    uvloop = pytest.importorskip("uvloop")
    asyncio.run(main())
    uvloop.run(main())


def requests(count: int, *, acks: int = -1, timeout_ms: int = 20, every_ms: int = 0) -> list[Exchange]:
    return [
        Exchange(
            correlation_id=number,
            request=encode_produce(
                correlation_id=number,
                acks=acks,
                timeout_ms=timeout_ms,
                topics=[("t", [(0, encode_batch([Record(None, b"v")], base_timestamp_ms=0))])],
            ),
            wants_answer=acks != 0,
            timeout_ms=timeout_ms,
            intended_ns=(number - 1) * every_ms * 1_000_000,
        )
        for number in range(1, count + 1)
    ]


async def drive_against(
    behave: Behave, exchanges: list[Exchange], pipelined: int = 1, grace_ms: int = PATIENCE_MS
) -> int:
    """Drive one connection against the stub; return the start of the run."""
    async with stub_broker(behave) as broker:
        connection = await connect("127.0.0.1", broker.port)
        assert connection is not None
        start_ns = time.monotonic_ns()
        async with asyncio.timeout(LIMIT_S):
            await drive(connection, exchanges, start_ns=start_ns, pipelined=pipelined, grace_ms=grace_ms)
        return start_ns


def outcomes(exchanges: list[Exchange]) -> list[str]:
    return [str(exchange.outcome) for exchange in exchanges]


def test_answers_are_noted_with_their_times() -> None:
    async def main() -> None:
        exchanges = requests(3, timeout_ms=20)
        start_ns = await drive_against(frozen, exchanges)
        assert outcomes(exchanges) == ["answered"] * 3
        before_ns = start_ns
        for number, exchange in enumerate(exchanges):
            assert exchange.sent_ns is not None
            assert exchange.answered_ns is not None
            assert exchange.answer is not None
            assert before_ns <= exchange.sent_ns  # one at a time
            assert exchange.answered_ns - exchange.sent_ns >= 20_000_000
            assert decode_produce(exchange.answer) == ProduceResult("t", 0, 7, number)
            before_ns = exchange.answered_ns

    run_on_both_loops(main)


def test_nothing_is_sent_before_its_time() -> None:
    async def main() -> None:
        exchanges = requests(4, acks=1, every_ms=7)
        start_ns = await drive_against(healthy, exchanges)
        for exchange in exchanges:
            assert exchange.sent_ns is not None
            assert exchange.sent_ns >= start_ns + exchange.intended_ns

    run_on_both_loops(main)


def test_pipelined_requests_are_sent_ahead_of_the_answers() -> None:
    async def main() -> None:
        exchanges = requests(4, timeout_ms=20)
        await drive_against(frozen, exchanges, pipelined=3)
        assert outcomes(exchanges) == ["answered"] * 4
        sent = [exchange.sent_ns or 0 for exchange in exchanges]
        answered = [exchange.answered_ns or 0 for exchange in exchanges]
        assert sent[2] < answered[0] <= sent[3]  # three at once, and the fourth when there is room
        assert answered == sorted(answered)
        assert answered[2] - sent[0] >= 60_000_000

    run_on_both_loops(main)


def test_acks_0_is_silent_only_if_the_probe_is_the_next_thing_answered() -> None:
    async def main() -> None:
        exchanges = requests(3, acks=0)
        await drive_against(healthy, exchanges)
        assert outcomes(exchanges) == ["silent"] * 3
        assert {exchange.answered_ns for exchange in exchanges} == {None}

    run_on_both_loops(main)


def test_a_broker_that_answers_acks_0_is_found_out() -> None:
    async def main() -> None:
        exchanges = requests(2, acks=0)
        await drive_against(lambda request: Answer(drop=request.number == 1), exchanges)
        assert outcomes(exchanges) == ["answered", "silent"]

    asyncio.run(main())


def test_a_connection_closed_after_acks_0_proves_nothing() -> None:
    async def main() -> None:
        exchanges = requests(2, acks=0)
        await drive_against(lambda request: Answer(drop=True, close=request.number == 1), exchanges)
        assert outcomes(exchanges) == ["closed"] * 2

    asyncio.run(main())


def test_a_broker_that_closes_leaves_the_rest_unsent() -> None:
    async def main() -> None:
        exchanges = requests(4)
        await drive_against(lambda request: Answer(close=request.number == 1), exchanges)
        assert outcomes(exchanges) == ["answered", "closed", "not sent", "not sent"]
        assert exchanges[2].sent_ns is None

    asyncio.run(main())


def test_a_missing_answer_is_waited_for_until_timeout_and_grace() -> None:
    async def main() -> None:
        # The first is answered at once, on a busy machine later; it has the time.
        exchanges = [*requests(1, timeout_ms=PATIENCE_MS), *requests(3, timeout_ms=20)[1:]]
        start_ns = await drive_against(lambda request: Answer(drop=request.number == 1), exchanges, grace_ms=GRACE_MS)
        assert outcomes(exchanges) == ["answered", "no answer", "not sent"]
        assert time.monotonic_ns() - start_ns >= (20 + GRACE_MS) * 1_000_000

    asyncio.run(main())


@pytest.mark.parametrize(
    "raw",
    [b"\xff\xff\xff\xff", b"\x00\x00\x00\x01\x00", b"\x00\x00\x00\x08\x00\x00\x99\x99\x00\x00\x00\x00"],
    ids=["negative length", "too short for an id", "an unknown correlation id"],
)
def test_bytes_that_make_no_sense_end_the_connection(raw: bytes) -> None:
    async def main() -> None:
        exchanges = requests(2)
        await drive_against(lambda request: Answer(raw=raw), exchanges)
        assert outcomes(exchanges) == ["garbled", "not sent"]

    asyncio.run(main())


def test_answers_out_of_order_are_noted() -> None:
    async def main() -> None:
        def swap(request: Produce) -> Answer:
            return Answer(after_ms=20, correlation_id=3 - request.correlation_id)

        exchanges = requests(2)
        await drive_against(swap, exchanges, pipelined=2)
        assert outcomes(exchanges) == ["answered", "out of order"]

    asyncio.run(main())


def test_a_broker_that_is_not_there() -> None:
    async def main() -> None:
        async with stub_broker() as broker:
            port = broker.port
        assert await connect("127.0.0.1", port) is None
        with pytest.raises(WireError, match=f"No broker answers at 127.0.0.1:{port}"):
            await find_leaders([("127.0.0.1", port)], {"t": 1})

    asyncio.run(main())


def test_leaders_are_found_from_the_first_broker_that_answers() -> None:
    async def main() -> None:
        async with stub_broker() as gone:
            pass
        async with stub_broker(partitions=2) as broker:
            here = ("127.0.0.1", broker.port)
            metadata = await find_leaders([("127.0.0.1", gone.port), here], {"t": 2})
            assert metadata.leaders == {("t", 0): here, ("t", 1): here}

    asyncio.run(main())


def test_a_topic_with_too_few_partitions_is_one_sentence() -> None:
    async def main() -> None:
        async with stub_broker(partitions=2) as broker:
            with pytest.raises(WireError, match=r"scenario needs \(partition t-2 does not exist\)\.$"):
                await find_leaders([("127.0.0.1", broker.port)], {"t": 3}, within_s=0.1)

    asyncio.run(main())


def test_a_server_that_is_no_broker_is_one_sentence() -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(4)
            writer.write(b"\x00\x00\x00\x05\x00\x00\x00\x01\x00")
            writer.close()

        async with stream_server(serve) as port:
            with pytest.raises(WireError, match="does not answer like a Kafka broker"):
                await find_leaders([("127.0.0.1", port)], {"t": 1})

    asyncio.run(main())


def test_sleep_ends_after_its_target_and_not_before() -> None:
    async def main() -> None:
        target_ns = time.monotonic_ns() + 3_300_000
        await sleep_until(target_ns)
        assert time.monotonic_ns() >= target_ns
        await sleep_until(target_ns)

    run_on_both_loops(main)


def test_outcomes_are_told_apart() -> None:
    assert list(RequestOutcome.__members__) == [
        outcome.name for outcome in RequestOutcome
    ]  # no two of them have the same words


def test_silence_is_proved_from_time_to_time_and_each_end_is_told_once() -> None:
    async def main() -> None:
        ended: list[Exchange] = []
        exchanges = requests(2 * SILENT_AT_ONCE + 5, acks=0)
        held: list[int] = []
        async with stub_broker(healthy) as broker:
            connection = await connect("127.0.0.1", broker.port, ended.append)
            assert connection is not None
            left = await drive(
                connection,
                exchanges,
                start_ns=time.monotonic_ns(),
                pipelined=1,
                grace_ms=PATIENCE_MS,
                on_sent=lambda: held.append(len(connection.silent)),
            )
        assert list(left) == []
        assert ended == exchanges  # in their order, and no probe among them
        assert outcomes(exchanges) == ["silent"] * len(exchanges)
        assert max(held) == SILENT_AT_ONCE

    run_on_both_loops(main)


def test_what_was_not_sent_is_given_back_and_the_rest_told_once() -> None:
    async def main() -> None:
        ended: list[Exchange] = []
        exchanges = requests(5)

        def two(request: Produce) -> Answer:
            return Answer(close=request.number == 2)

        async with stub_broker(two) as broker:
            connection = await connect("127.0.0.1", broker.port, ended.append)
            assert connection is not None
            left = await drive(connection, exchanges, start_ns=time.monotonic_ns(), pipelined=1, grace_ms=PATIENCE_MS)
        assert ended == exchanges[:3]
        assert list(left) == exchanges[3:]
        assert outcomes(exchanges) == ["answered", "answered", "closed", "not sent", "not sent"]

    run_on_both_loops(main)


def test_a_response_that_arrived_while_the_load_was_paused_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer of the wait fires ten seconds late, before the loop has read the bytes that came meanwhile."""
    sent_ns, timeout_ms, grace_ms = 5_000_000_000, 100, 60_000
    looks = count(1)

    async def main() -> Exchange:
        connection = ClientConnection()
        connection._transport = Mock()
        exchange = Exchange(correlation_id=7, request=b"", wants_answer=True, timeout_ms=timeout_ms, intended_ns=0)
        monkeypatch.setattr("time.monotonic_ns", lambda: sent_ns)
        connection.send(exchange)

        def clock() -> int:
            look, due_ns = next(looks), sent_ns + (timeout_ms + grace_ms) * 1_000_000
            if look == 3:  # it waits again
                asyncio.get_running_loop().call_soon(connection.data_received, struct.pack(">ii", 4, 7))
            return due_ns if look == 1 else due_ns + 10_000_000_000

        monkeypatch.setattr("time.monotonic_ns", clock)
        assert await connection.room(1, grace_ms)
        return exchange

    assert run(main()).outcome == RequestOutcome.ANSWERED
