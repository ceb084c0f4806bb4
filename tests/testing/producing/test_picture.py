"""A time line as a picture: what is drawn, and that no label lies on another."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

from fakebroker.core.journal.journal import Journal
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing import wire
from fakebroker.testing.producing.drawing import Drawing
from fakebroker.testing.producing.picture import picture
from fakebroker.testing.producing.shapes import TimelineRow
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.producing.timeline import Timelines, TimelineStep
from fakebroker.testing.simulation import Simulation

_CHARACTER = 6.4
_LINE = 11


class World:
    """A topic of one partition; time 0 is when the producer knows of it."""

    def __init__(self, generation: str, brokers: int = 1, **settings: object) -> None:
        self.broker_journal = Journal()
        self.simulation = Simulation(brokers, journal=self.broker_journal)
        self.simulation.topic("orders", 1, brokers)
        self.producers = SimulatedProducers(self.simulation)
        values = {name.replace("_", "."): value for name, value in settings.items()}
        config = ProducerConfig(generation, {"client.id": "shop", **values})
        self.journal = self.producers.new_journal(config)
        self.shop: SimulatedProducer = self.producers.add(config, journal=self.journal)
        self.send()
        self.producers.advance(100)
        self.began_ms = self.producers.now_ms

    def send(self, size: int = 10) -> None:
        self.shop.producer.send("orders", bytes(size), 0, self.producers.now_ms, partition=0)
        self.shop.settle()

    def steps(self) -> list[TimelineStep]:
        return Timelines(self.journal, self.broker_journal).of_run(self.began_ms)


def rows(world: World) -> dict[str, TimelineRow]:
    """Return the rows by group and label."""
    groups = Drawing(world.steps()).groups
    return {f"{group.name}: {row.label}": row for group in groups for row in group.rows}


def test_a_batch_that_a_broker_times_out_and_that_is_tried_again() -> None:
    world = World("2.0", brokers=3, acks="all", retries=3, request_timeout_ms=5_000)
    world.simulation.followers("frozen")
    world.send()
    world.producers.advance(5_200)
    world.simulation.followers("instant")
    world.producers.advance(10_000)
    rows_ = rows(world)
    batch = rows_["shop: batch 2"]
    assert batch.bars == [(0, 0, "queued"), (0, 5_002, "flying"), (5_002, 5_102, "queued"), (5_102, 5_201, "flying")]
    assert batch.marks == [(5_002, "again"), (5_201, "done")]
    assert (batch.outcome, batch.tone) == ("called back at 5,201 ms, offset 2", "good")
    first, second = (row for name, row in rows_.items() if name.startswith("broker 1: request"))
    assert first.bars == [(0, 1, "unread"), (1, 1, "handled"), (1, 5_001, "parked")]
    assert (first.outcome, first.tone) == ("REQUEST_TIMED_OUT, offset 1 at 5,001 ms", "bad")
    assert (second.outcome, second.tone) == ("NONE, offset 2 at 5,200 ms", "good")
    arrows = Drawing(world.steps()).arrows
    assert [(arrow.start_ms, arrow.start.label, arrow.tone) for arrow in arrows] == [
        (0, "batch 2", "open"),
        (5_002, first.label, "bad"),
        (5_102, "batch 2", "open"),
        (5_201, second.label, "good"),
    ]


def test_a_broker_that_is_dead_and_what_expires_meanwhile() -> None:
    world = World("2.0", request_timeout_ms=400)
    world.simulation.kill(1)
    world.producers.advance(10)
    world.send()
    world.producers.advance(1_000)
    rows_ = rows(world)
    assert rows_["shop: batch 2"].outcome.startswith("expired at ")
    assert [mark.kind for mark in rows_["shop: batch 2"].marks] == ["expired"]
    assert rows_["shop: connection to node 1"].outcome.startswith("lost, ")
    assert list(rows_)[-1] == "broker 1: killed"
    (group,) = [group for group in Drawing(world.steps()).groups if group.is_broker]
    assert group.down == [(0, Drawing(world.steps()).end_ms)]


def test_a_sender_that_waits_for_memory() -> None:
    world = World("2.0", request_timeout_ms=400, max_block_ms=50, batch_size=200, buffer_memory=200)
    world.simulation.pause(1)
    world.send(100)
    world.send(100)
    world.producers.advance(1_000)
    row = rows(world)["shop: send of record 3"]
    assert row.bars == [(0, 50, "blocked")]
    assert row.tone == "bad"
    assert row.outcome.endswith("at 50 ms")


def test_a_request_without_a_producer_journal_has_its_row() -> None:
    world = World("2.0", brokers=2)
    world.simulation.followers("frozen")
    client = world.simulation.connect(1)
    records = wire.batch(b"v", 1, world.simulation.now.wall_ms)
    for number in (1, 2):
        client.send(wire.produce(number, -1, 500, [(("orders", 0), records)]))
    world.producers.advance(2_000)
    rows_ = rows(world)
    assert rows_["broker 1: request 1 of sim"].bars == [(0, 0, "unread"), (0, 0, "handled"), (0, 500, "parked")]
    assert rows_["broker 1: request 2 of sim"].bars == [
        (0, 500, "unread"),
        (500, 500, "handled"),
        (500, 1_000, "parked"),
    ]
    assert rows_["broker 1: request 2 of sim"].outcome == "REQUEST_TIMED_OUT, offset 2 at 1,000 ms"


def test_what_is_throttled() -> None:
    world = World("2.0", batch_size=1)
    world.simulation.cluster.members.client_quotas.alter(QuotaEntity(None, "shop"), {"producer_byte_rate": 100})
    for _ in range(20):
        world.send(20)
        world.producers.advance(10)
    world.producers.advance(100)
    row = rows(world)["broker 1: throttled: shop"]
    assert row.bars
    assert row.outcome == f"throttled {len(row.bars)} times, from {row.bars[0].start_ms:,} ms on"


def test_many_batches_one_after_the_other_share_a_line_and_there_are_no_arrows() -> None:
    heights = {}
    for records in (10, 100):
        world = World("2.0", batch_size=1)
        for _ in range(records):
            world.send(20)
            world.producers.advance(10)
        svg = picture(world.steps())
        heights[records] = int(svg.split('viewBox="0 0 ')[1].split('"')[0].split()[1])
        assert ('class="a agood"' in svg) == (records == 10)
    assert "100 × batch" in svg
    assert heights[100] < heights[10]


def test_batches_that_are_called_back_in_another_order_say_so() -> None:
    world = World(
        "4.3", linger_ms=0, batch_size=1, delivery_timeout_ms=500, request_timeout_ms=500,
        max_in_flight_requests_per_connection=1, enable_idempotence=False,
    )  # fmt: skip
    world.simulation.pause(1)
    for records in (1, 2):  # the second of these is in flight when it expires, and the third in the queue
        for _ in range(records):
            world.send(100)
        world.producers.advance(10)
    world.producers.advance(180)
    world.simulation.resume(1)
    world.producers.advance(1)
    world.simulation.pause(1)
    world.producers.advance(600)
    assert {"shop: batch 2 · 1. back", "shop: batch 3 · 3. back", "shop: batch 4 · 2. back"} < set(rows(world))


def labels(svg: str) -> list[tuple[str, float, float]]:
    root = ET.fromstring(svg)
    return [
        (one.text or "", float(one.attrib["x"]), float(one.attrib["y"])) for one in root.iter() if "}text" in one.tag
    ]


@pytest.mark.parametrize("records", [1, 8, 60])
def test_no_label_lies_on_another_and_the_same_steps_give_the_same_bytes(records: int) -> None:
    svgs = []
    for _ in range(2):
        world = World("2.0", request_timeout_ms=400, batch_size=0)
        world.simulation.kill(1)
        for _ in range(records):
            world.producers.advance(10)
            world.send()
        world.producers.advance(1_000)
        svgs.append(picture(world.steps(), "<dead> & gone"))
    assert svgs[0] == svgs[1]
    labels_ = labels(svgs[0])
    assert labels_[0][0] == "<dead> & gone"
    for (one, x, y), (other, other_x, other_y) in combinations(labels_, 2):
        apart = (
            abs(y - other_y) >= _LINE or x + len(one) * _CHARACTER <= other_x or other_x + len(other) * _CHARACTER <= x
        )
        assert apart, (one, other)
    assert ("30 × batch" in svgs[0]) == (records == 60)  # two in each


def test_nothing_is_a_picture_too() -> None:
    assert labels(picture([])) == [("0", 205.0, 30.0), ("1", 755.0, 30.0), ("ms", 785.0, 30.0)]
