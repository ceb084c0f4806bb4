"""Stock clients that consume, transform and produce exactly once: they die at every step and at every request, and
brokers go at every request. `python -m conformance.clients.exactly_once` has the Java client and franz-go too."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import doses
from support.forked import popen

from conformance.clients.exactly_once.brokers import CONFIG, strikes
from conformance.clients.exactly_once.chain import Chain, Outcome
from conformance.clients.exactly_once.points import POINTS, Point
from conformance.clients.exactly_once.proxy import END_TXN, TXN_OFFSET_COMMIT, Proxy
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster

pytestmark = [pytest.mark.clients, pytest.mark.slow]


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each program be forked from a process that has imported the clients."""
    monkeypatch.setattr(ClientProcess, "popen", staticmethod(popen))


PROGRAMS = {"librdkafka": "confluent", "aiokafka": "aiokafka", "kafka-python": "kafka_python"}
ROOT = Path(__file__).parents[3]


@contextmanager
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3, config=CONFIG) as kafka:
        yield kafka


@contextmanager
def chain(client: str, kafka: FakeCluster) -> Iterator[Chain]:
    program = f"conformance.clients.python.{PROGRAMS[client]}_processor"
    with Proxy(kafka.bootstrap_servers) as proxy:
        made = Chain(([sys.executable, "-W", "ignore", "-m", program], ROOT), proxy, client)
        for topic, partitions in made.topics.items():
            kafka.create_topic(topic, partitions, configs={"retention.ms": -1})
        yield made


def crashed(client: str, points: Sequence[Point]) -> list[Outcome]:
    with cluster() as kafka, chain(client, kafka) as programs:
        return programs.crash(points)


def wrong(outcomes: list[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if not outcome.is_right]


@pytest.mark.parametrize("client", doses.nightly_but(["aiokafka"], ["librdkafka", "aiokafka"]))
def test_each_input_has_its_effect_once_wherever_the_program_dies(client: str) -> None:
    outcomes = crashed(client, POINTS)
    assert wrong(outcomes) == []
    assert [outcome.name for outcome in outcomes if not outcome.met] == []
    written = {outcome.point.name: outcome.written for outcome in outcomes if outcome.point is not None}
    # What was written and not committed is there, and only read_uncommitted sees it.
    assert written["after a flush"] == written["before EndTxn"] == written["after an abort"] == [2, 2]
    assert written["after begin"] == written["before the response to EndTxn"] == [1, 1]


@pytest.mark.nightly  # every day: the same with aiokafka
def test_kafka_python_dies_where_most_may_go_wrong() -> None:
    """kafka-python's programs start slowly; the command has all points."""
    points = [point for point in POINTS if point.api_key in (TXN_OFFSET_COMMIT, END_TXN)]
    outcomes = crashed("kafka-python", points)
    assert wrong(outcomes) == []
    assert all(outcome.met for outcome in outcomes)


# librdkafka 2.16 waits for ever for a coordinator that restarts (chain.py); what it takes to find that out is seconds.
@pytest.mark.nightly
@pytest.mark.parametrize("client", ["aiokafka", "kafka-python"])
def test_each_input_has_its_effect_once_wherever_a_broker_goes(client: str) -> None:
    with cluster() as kafka, chain(client, kafka) as programs:
        outcomes = programs.strike(list(strikes(kafka, programs.outputs)))
    assert wrong(outcomes) == []
    assert [outcome.name for outcome in outcomes if not outcome.met] == []
