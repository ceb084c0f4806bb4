"""The journal of `AsyncProducer`, on real clocks: one time line with that of the brokers, of one machine or of two."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from support.watchdog import run

from fakebroker import AsyncProducer, FakeCluster
from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.journal.events import Connected, ProducerEvent, RecordCalledBack
from fakebroker.testing import Timelines

OTHER_MACHINE_MS = 123_456_789


def journals(kafka: FakeCluster) -> list[ProducerEvent]:
    """Return the events of a producer that has written a record."""
    heard: list[ProducerEvent] = []

    async def work() -> list[ProducerEvent]:
        producer = AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "shop"})
        journal = producer.keep_journal(on_event=heard.append)
        async with producer:
            await (await producer.send("orders", b"v", key=b"k"))
            with pytest.raises(IllegalProducerStateError, match="before the start, and only once"):
                producer.keep_journal()
        return journal.events()

    events = run(work())
    assert heard == events
    return events


@pytest.mark.parametrize("by_wall_clock", [False, True])
def test_one_time_line_shows_both_ends(by_wall_clock: bool) -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=1)
        events = journals(kafka)
        heard = list(kafka.journal)
    if by_wall_clock:
        events = [event._replace(mono_ms=event.mono_ms + OTHER_MACHINE_MS) for event in events]
        with pytest.raises(ValueError, match="different clocks"):
            Timelines(events, heard)
    timelines = Timelines(events, heard, by_wall_clock)
    # Whole milliseconds of two clocks that are rounded down apart may differ by one.
    assert all(abs(shift_ms) <= 1 for shift_ms in timelines.shifts.values())
    steps = [(step.where, step.text.split(":")[0].split(" v")[0]) for step in timelines.of_key("k")]
    assert steps[-8:] == [
        ("shop", "batch 1 drained for node 1, 1 record, sequence 0"),
        ("shop", "Produce"),
        ("broker 1", "Produce"),
        ("broker 1", "appended"),
        ("broker 1", "answered"),
        ("shop", "answer received"),
        ("shop", "answered, handled"),
        ("shop", "record 1 called back"),
    ]


def test_a_listener_beside_the_journal_is_handed_the_same_events() -> None:
    heard: list[ProducerEvent] = []

    async def work(servers: str) -> list[ProducerEvent]:
        producer = AsyncProducer({"bootstrap.servers": servers, "client.id": "shop"})
        journal = producer.keep_journal()
        async with producer:
            producer.listen(lambda event, subject: heard.append(event), Connected, RecordCalledBack)
            await (await producer.send("orders", b"v"))
        return journal.events()

    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=1)
        kept = [
            event for event in run(work(kafka.bootstrap_servers)) if isinstance(event, Connected | RecordCalledBack)
        ]
    assert {type(event) for event in heard} == {Connected, RecordCalledBack}
    assert all(one is other for one, other in zip(heard, kept, strict=True))


@pytest.mark.parametrize("has_journal", [False, True])
def test_events_of_a_listener_have_wall_time_and_a_name(has_journal: bool) -> None:
    heard: list[ProducerEvent] = []

    async def work() -> None:
        servers = {"bootstrap.servers": "127.0.0.1:1", "client.id": "shop"}
        producer = AsyncProducer(servers, clock=lambda: 5, wall_clock=lambda: 1_005)
        if has_journal:
            producer.keep_journal("orders")
        await producer.start()
        producer.listen(lambda event, subject: heard.append(event))
        with suppress(ProducerError):
            sent = asyncio.ensure_future(producer.send("t", b"v"))
            await asyncio.sleep(0)
            await producer.close(0)
            await sent

    run(work())
    assert {event[:3] for event in heard} == {(5, 1_005, "orders" if has_journal else "shop")}


def test_clocks_are_read_again_after_a_delay_between_them() -> None:
    true_ms, held_up_ms = 5, [7]

    def read(offset_ms: int) -> int:
        """Read either clock; a reader of the first one is delayed."""
        nonlocal true_ms
        told_ms = true_ms + offset_ms
        true_ms += held_up_ms.pop() if held_up_ms else 0
        return told_ms

    async def work() -> list[ProducerEvent]:
        servers = {"bootstrap.servers": "127.0.0.1:1"}
        producer = AsyncProducer(servers, clock=lambda: read(0), wall_clock=lambda: read(1_000))
        journal = producer.keep_journal()
        async with producer:
            pass
        return journal.events()

    assert {event.wall_ms - event.mono_ms for event in asyncio.run(work())} == {1_000}
