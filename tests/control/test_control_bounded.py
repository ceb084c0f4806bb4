"""Many clients wait for events of a long journal: each event is read once, encoded once, and checked once for each
waiter."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from fastapi.openapi.utils import get_openapi
from support.http_peers import Client, a_service, get, post, work
from support.slices import most_calls_of_a_slice
from support.virtual_loop import VirtualLoop
from support.watchdog import run, until

from fakebroker.control import service as serving
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.journal.event_lines import EventLines
from fakebroker.core.journal.events import Answer, Append, Event, PartitionAnswer, Produce, Request
from fakebroker.core.journal.produced import EVENTS_OF_A_SLICE, Produces
from fakebroker.core.journal.view import ProduceSelection
from fakebroker.network.turn import Turn

MANY = 20_000
EVENTS_EACH = 4


def produced(requests: Iterable[int], error: str = "NONE") -> Iterator[Event]:
    """Return the events of so many Produce requests to t."""
    for number in requests:
        yield Request(1, 1, number, 1, 1, "Produce", 9, number, "me", 1, 100)
        yield Produce(1, 1, number, -1, 500, None, (("t", 0),))
        yield Append(1, 1, number, 1, "t", 0, "NONE", number, number, False, 0, -1, -1, -1, ("a",))
        yield Answer(2, 2, number, 1, "sent", 50, (PartitionAnswer("t", 0, error, number),))


def tell(hosted: HostedCluster, events: Iterable[Event]) -> None:
    for event in events:
        for listener in hosted.told.listeners:
            listener(event, b"")


class Counts:
    """Counters of the events that are read and of the entries that are checked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = self.looked_at = 0
        read, has = Produces.read, ProduceSelection.has

        def counted_read(produces: Produces, events: list[Event], *numbers: int) -> Any:
            self.read += len(events)
            return read(produces, events, *numbers)

        def counted_has(wanted: ProduceSelection, entry: Any) -> bool:
            self.looked_at += 1
            return has(wanted, entry)

        monkeypatch.setattr(Produces, "read", counted_read)
        monkeypatch.setattr(ProduceSelection, "has", counted_has)


async def settle(clients: Iterable[Client]) -> None:
    await until(lambda: all(client.received for client in clients), "the answers")


def test_waiters_share_one_reading_of_the_journal_and_look_at_new_answers_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            tell(hosted, produced(range(MANY // EVENTS_EACH)))
            counts = Counts(monkeypatch)
            body = {"error": "REQUEST_TIMED_OUT", "timeout_ms": 1_000, "timeout_wall_ms": 60_000}
            waiting = [Client(service, post("journal/expect", body)) for _ in range(20)]
            await until(lambda: counts.looked_at >= 20 * MANY // EVENTS_EACH, "the first looks")
            for number in range(10):
                tell(hosted, produced([MANY + number]))
                await work()
            tell(hosted, produced([2 * MANY], "REQUEST_TIMED_OUT"))
            await settle(waiting)

            assert all(client.answer[1]["matches"] for client in waiting)
            assert counts.read == MANY + 11 * EVENTS_EACH
            assert counts.looked_at <= 20 * (MANY // EVENTS_EACH + 11)
            await service.stop()

    run(test())


def test_what_is_told_while_a_waiter_looks_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event comes before the waiter waits for the next change."""

    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            tell(hosted, produced(range(MANY // EVENTS_EACH)))
            counts = Counts(monkeypatch)
            body = {"error": "REQUEST_TIMED_OUT", "timeout_ms": 1_000, "timeout_wall_ms": 60_000}
            waiting = Client(service, post("journal/expect", body))
            while not counts.looked_at:
                await asyncio.sleep(0)
            assert counts.looked_at < MANY // EVENTS_EACH
            tell(hosted, produced([MANY], "REQUEST_TIMED_OUT"))
            await settle([waiting])

            assert waiting.answer[1]["matches"]
            await service.stop()

    run(test())


def test_an_expectation_is_looked_for_in_bounded_turns() -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            hosted.work._turn = Turn()  # 8 slices in a turn
            tell(hosted, produced(range(MANY // EVENTS_EACH)))
            client = Client(service, post("journal/expect", {"error": "REQUEST_TIMED_OUT"}))
            turns = 0
            while not client.received:
                await asyncio.sleep(0)
                turns += 1

            assert not client.answer[1]["matches"]
            assert turns >= MANY / EVENTS_OF_A_SLICE / 8
            await service.stop()

    run(test())


def test_a_slice_of_reading_is_short_however_long_an_event_is() -> None:
    many = tuple(("t", partition) for partition in range(10_000))
    answers = tuple(PartitionAnswer("t", partition, "NONE", 1) for _, partition in many)
    long: list[Event] = [
        Request(1, 1, 1, 1, 1, "Produce", 9, 1, "me", 1, 100),
        Produce(1, 1, 1, -1, 500, None, many),
        Answer(2, 2, 1, 1, "sent", 50, answers),
    ]
    produces = Produces()

    def read(events: Iterable[Event], first: int, kept: int) -> Callable[[], Any]:
        def begin() -> Any:
            slices = produces.read(events, first, kept)
            next(slices)
            return slices

        return begin

    calls = 8 * EVENTS_OF_A_SLICE
    assert most_calls_of_a_slice(read(long, 0, 0)) <= calls
    assert produces.end == produces.answers == len(many)
    assert most_calls_of_a_slice(read(list(produced(range(2, 2 + MANY))), len(long), len(long))) <= calls
    assert produces.first == len(many)  # the long one is forgotten, in slices as well
    assert produces.find(0) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_journal_that_is_read_bit_by_bit_tells_the_same(seed: int) -> None:
    events = list(produced(range(40)))
    cuts = sorted({(seed * 37 + number * 29) % len(events) for number in range(12)} | {0, len(events)})
    bits, whole = Produces(), Produces()
    for begin, end in pairwise(cuts):
        for _ in bits.read(events[begin:end], begin):
            pass
    for _ in whole.read(events):
        pass

    assert (bits.first, bits.end, bits.answers) == (whole.first, whole.end, whole.answers)
    assert [bits.find(number) for number in range(bits.end)] == [whole.find(number) for number in range(whole.end)]
    assert bits.answered_since(0) == whole.answered_since(0)
    assert bits.answered_since(37) == [37, 38, 39]


def of_stream(client: Client) -> bytes:
    """Return the body that came in chunks."""
    body = client.received.partition(b"\r\n\r\n")[2]
    content = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        content, body = content + rest[:length], rest[length + 2 :]
    return content


def test_an_event_is_encoded_once_for_all_its_readers() -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            begun = hosted.told.total
            readers = [Client(service, get(f"events?after={begun}")) for _ in range(19)]
            readers.append(Client(service, get(f"events?after={begun}&event=append")))
            await work()
            tell(hosted, produced(range(500)))
            last = b"id: %d\n" % (begun + 4 * 500 - 1)
            await until(lambda: all(last in reader.received for reader in readers[:-1]), "the last event")
            await service.stop()

            assert hosted.lines.encoded == 4 * 500
            assert len({of_stream(reader).replace(b": alive\n\n", b"") for reader in readers[:-1]}) == 1
            assert readers[-1].received.count(b"event: append\n") == 500
            assert b"event: request\n" not in readers[-1].received

    run(test())


def test_lines_are_kept_for_those_that_follow_and_no_more() -> None:
    async def test() -> None:
        async with a_service() as service:
            ring = service.clusters.main.told
            tell(service.clusters.main, produced(range(4_000)))
            lines = EventLines()
            number = ring.first
            while number < ring.total:
                number = (await service.clusters.main.work.do(lines.read(ring, number, lambda event: True))).number

            assert len(lines._kept) == 10_000
            assert lines.encoded == ring.total
            await service.stop()

    run(test())


Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def virtually() -> Iterator[Run]:
    loop = VirtualLoop()
    yield loop.run_until_complete
    loop.close()


def test_a_reader_that_does_not_keep_up_is_told_so_and_dropped(
    virtually: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            slow = Client(service, get("events"), reads=False)
            await asyncio.sleep(1)
            tell(hosted, produced(range(500)))
            await asyncio.sleep(1)
            assert slow._is_paused
            hosted.told.journal.size = hosted.told.journal._room = 1_000 - len(hosted.told.journal)
            tell(hosted, produced(range(500, 2_000)))
            slow.read_on()
            await asyncio.sleep(1)

            stream = of_stream(slow)
            last = json.loads(stream.rpartition(b"event: end\ndata: ")[2])
            assert "events behind" in last["reason"]
            assert slow.received.endswith(b"0\r\n\r\n")
            assert [record.getMessage() for record in caplog.records] == [f"ended a stream of events: {last['reason']}"]
            assert hosted.streams == 0
            await service.stop()

    with caplog.at_level(logging.WARNING, "fakebroker"):
        virtually(test())


def test_a_client_that_reads_nothing_for_long_is_cut(virtually: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            unread = Client(service, get("events"), reads=False)
            read = Client(service, get("events"), reads=False)
            await asyncio.sleep(1)
            tell(hosted, produced(range(500)))
            await asyncio.sleep(serving._UNREAD_S - 1)
            assert unread._is_paused
            assert [client.is_cut for client in (unread, read)] == [False, False]
            read.read_on()
            await asyncio.sleep(2)

            assert [client.is_cut for client in (unread, read)] == [True, False]
            assert [record.getMessage() for record in caplog.records] == [
                "closed the connection from 127.0.0.1:1: it has read nothing for 30 s"
            ]
            await asyncio.sleep(1)
            assert hosted.streams == 1
            await service.stop()

    with caplog.at_level(logging.WARNING, "fakebroker"):
        virtually(test())


def test_the_description_is_made_in_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with a_service() as service:
            threads: list[int] = []

            def describe(**given: Any) -> dict[str, Any]:
                threads.append(threading.get_ident())
                return get_openapi(**given)

            monkeypatch.setattr("fakebroker.control.app.get_openapi", describe)
            clients = [Client(service, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(3)]
            await settle(clients)

            assert {client.answer[1]["info"]["title"] for client in clients} == {"fakebroker"}
            assert len(threads) == 1
            assert threads[0] != threading.get_ident()
            await service.stop()

    run(test())


def test_a_topic_is_compacted_in_turns() -> None:
    async def test() -> None:
        async with a_service() as service:
            hosted = service.clusters.main
            hosted.work._turn = Turn()
            slices = 0

            def compact(topic: str) -> Any:
                nonlocal slices
                for _ in range(200):
                    slices += 1
                    yield
                return 3

            hosted.administration.compact = compact  # type: ignore[method-assign]
            client = Client(service, post("topics/t/compact", {}))
            before = 0
            while not client.received:
                await asyncio.sleep(0)
                assert slices - before <= 8
                before = slices

            assert (client.answer, slices) == ((200, {"partitions": 3}), 200)
            await service.stop()

    run(test())
