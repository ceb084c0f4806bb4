"""Threads that change a cluster at the same time, beside producers that live on; and callers that are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.doses import count, nightly_after
from support.racing import CALLERS, OF_BROKERS, TOPIC, Producers, drawn, race
from support.watchdog import run

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.protocol.error_code import ErrorCode

CALLS = 25  # of each caller in a round, which the watchdog looks at
ROUNDS = count(1, 30)
PARTITIONS = (300, 3)  # by seed: more than a slice of a change of brokers, and fewer
REFUSALS = {ErrorCode.topic_already_exists, ErrorCode.unknown_topic_or_partition, ErrorCode.invalid_replication_factor}


def act(kafka: FakeCluster, partitions: int, what: str, broker: int, does: str) -> None:
    """Make a change, or have it refused."""
    do = "NOT_ENOUGH_REPLICAS" if does == "UNKNOWN" else does
    acts: Mapping[str, Callable[[], Any]] = {
        "reset": kafka.reset,
        "fault": lambda: kafka.faults.add(when={"api": "Produce"}, do=do),
        "faults": kafka.faults.clear,
        "topic": lambda: kafka.create_topic(TOPIC, partitions=partitions, replication_factor=3),
        "delete": lambda: kafka.delete_topic(TOPIC),
    }
    try:
        (getattr(kafka.brokers[broker], what) if what in OF_BROKERS else acts[what])()
    except (KafkaError, ValueError) as error:
        if not (error.code in REFUSALS if isinstance(error, KafkaError) else f"broker {broker} is " in str(error)):
            raise


@pytest.mark.parametrize("seed", nightly_after(1, range(4)))
def test_each_change_is_made_or_refused_in_a_sentence(seed: int, tmp_path: Path) -> None:
    partitions, scenario = PARTITIONS[seed % 2], tmp_path / "scenario.yaml"
    scenario.write_text(f"topics: [{{name: {TOPIC}, partitions: {partitions}, replication_factor: 3}}]")

    with FakeCluster.from_scenario(scenario) as kafka:
        endpoints, changes = kafka.endpoints, [drawn(f"{seed} {number}") for number in range(CALLERS)]

        def change(number: int) -> None:
            for change_ in islice(changes[number], CALLS):
                act(kafka, partitions, *change_)

        with Producers(kafka.bootstrap_servers):
            for _ in range(ROUNDS):
                race(change)
        kafka.reset()
        assert kafka.endpoints == endpoints
        kafka.delete_topic(TOPIC)


def test_threads_that_move_the_clock_wait_for_each_other_and_for_a_reset() -> None:
    """One thread would otherwise move the clock back, or move that of an earlier cluster."""
    with FakeCluster(clock="manual") as kafka:
        kafka.create_topic(TOPIC)
        kafka.followers.lag(7, TOPIC)

        def move(number: int) -> None:
            for _ in range(20):
                before_ms = kafka.clock.elapsed_ms
                kafka.clock.advance(1_000 + number)
                assert kafka.clock.elapsed_ms >= before_ms + 1_000 + number

        race(move)
        assert kafka.clock.elapsed_ms == 20 * sum(1_000 + number for number in range(6))

        def move_or_reset(number: int) -> None:
            for _ in range(20):
                if number:
                    kafka.clock.advance(100)
                else:
                    kafka.reset()

        race(move_or_reset)
        kafka.reset()
        assert kafka.clock.elapsed_ms == 0


def test_a_caller_that_is_cancelled_leaves_no_change_half_made() -> None:
    async def work() -> None:
        async with AsyncFakeCluster() as kafka:
            endpoint = kafka.brokers[2].endpoint
            for turns in range(12):
                changes = [kafka.brokers[2].stop(), kafka.reset(), kafka.brokers[2].kill(), kafka.brokers[2].start()]
                callers = [asyncio.ensure_future(change) for change in changes]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for caller in callers:
                    caller.cancel()
                await asyncio.gather(*callers, return_exceptions=True)
                await kafka.reset()
                assert [broker.state for broker in kafka.brokers.values()] == ["running"] * 3
                _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
                writer.close()
                await writer.wait_closed()

    run(work())
