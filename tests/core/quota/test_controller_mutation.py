"""Tokens for created and deleted partitions (core/quota/controller_mutation.py), and their effect on requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import KafkaError
from fakebroker.core.quota.controller_mutation import ControllerMutationQuotaManager, TokenBucket
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.network.connection import ChannelMuteState

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
THROTTLED = 89
ME = QuotaEntity(None, "test")
AT_MS = 5_000_000


def manager(rate: float = 2.0) -> ControllerMutationQuotaManager:
    made = ControllerMutationQuotaManager(BrokerConfig())
    made.update_quota(ME, rate)
    return made


def test_a_bucket_is_full_at_first_and_fills_up_to_that() -> None:
    bucket = TokenBucket(11.0)
    assert bucket.measure(2.0, AT_MS) == 22
    bucket.record(30, 2.0, AT_MS)
    assert bucket.measure(2.0, AT_MS + 500) == -7
    assert bucket.measure(2.0, AT_MS + 100_000) == 22
    assert bucket.is_full(2.0, AT_MS + 100_000)


def test_what_is_given_back_is_no_more_than_the_bucket_holds() -> None:
    bucket = TokenBucket(11.0)
    bucket.record(-5, 2.0, AT_MS)
    assert bucket.measure(2.0, AT_MS) == 22


def test_strict_is_refused_until_what_is_owed_is_paid() -> None:
    quotas = manager()
    first = quotas.new_quota_for("u", "test", True, AT_MS)
    first.record(25, AT_MS)  # three more than there are
    assert first.throttle_time_ms(AT_MS) == 0
    second = quotas.new_quota_for("u", "test", True, AT_MS)
    with pytest.raises(KafkaError):
        second.record(1, AT_MS)
    assert (second.throttle_time_ms(AT_MS), second.throttle_time_ms(AT_MS + 600)) == (1_500, 900)
    assert second.throttle_time_ms(AT_MS + 2_000) == 0
    third = quotas.new_quota_for("u", "test", True, AT_MS)
    third.record(1, AT_MS + 1_500)


def test_permissive_is_done_and_muted() -> None:
    quota = manager().new_quota_for("u", "test", False, AT_MS)
    quota.record(25, AT_MS)
    assert quota.throttle_time_ms(AT_MS) == 1_500
    quota.record(1, AT_MS)
    assert quota.throttle_time_ms(AT_MS) == 2_000


def test_without_a_quota_nothing_is_throttled() -> None:
    quotas = ControllerMutationQuotaManager(BrokerConfig())
    for times in range(2):
        quota = quotas.new_quota_for("u", "other", True, AT_MS)
        quota.record(1_000_000, AT_MS)
        quota.record(1_000_000, AT_MS)
        assert quota.throttle_time_ms(AT_MS) == 0, times
        quotas.update_quota(ME, 1.0)


def test_buckets_that_are_full_are_forgotten() -> None:
    quotas = ControllerMutationQuotaManager(BrokerConfig())
    quotas.update_quota(QuotaEntity(None, "<default>"), 2.0)
    owing = quotas.new_quota_for("", "owing", True, AT_MS)
    owing.record(30, AT_MS)
    for number in range(3_000):
        quotas.new_quota_for("", f"client {number}", True, AT_MS)
    with pytest.raises(KafkaError):
        quotas.new_quota_for("", "owing", True, AT_MS).record(1, AT_MS)


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation()
    made.topic("there", partitions=3)
    made.topic("too", partitions=1)
    made.cluster.members.client_quotas.alter(ME, {"controller_mutation_rate": 1.0})  # eleven at once
    return made


def create(client: SimulatedClient, version: int, *topics: tuple[str, int], **values: Any) -> tuple[list[int], int]:
    defaults = {"replication_factor": 1, "assignments": (), "configs": ()}
    topics_ = [defaults | {"name": name, "num_partitions": partitions} for name, partitions in topics]
    flags = {"timeout": timedelta(seconds=1), "validate_only": False} | values
    return told(ask(client, CREATE_TOPICS, version, topics=topics_, **flags), "topics")


def told(answer: Any, results: str) -> tuple[list[int], int]:
    """Return the errors, and the throttle time in milliseconds."""
    errors = [int(result.error_code) for result in getattr(answer, results)]
    return errors, round(answer.throttle_time.total_seconds() * 1000)


@pytest.mark.parametrize("version", [6, 7])
def test_create_topics_is_refused(simulation: Simulation, version: int) -> None:
    client = simulation.connect()
    assert create(client, version, ("a", 12), ("b", 1)) == ([0, THROTTLED], 1_000)
    assert client.connection.state is ChannelMuteState.THROTTLED
    assert simulation.cluster.metadata.topic("b") is None
    simulation.advance(1_000)
    assert client.connection.state is ChannelMuteState.READY
    assert create(client, version, ("b", 1)) == ([0], 0)


def test_the_last_millisecond_counts(simulation: Simulation) -> None:
    client = simulation.connect()
    assert create(client, 7, ("a", 12)) == ([0], 0)
    simulation.advance(999)
    assert create(client, 7, ("b", 1)) == ([THROTTLED], 1)
    assert client.connection.state is ChannelMuteState.THROTTLED
    simulation.advance(1)
    assert client.connection.state is ChannelMuteState.READY


def test_create_topics_is_muted_where_it_does_not_know_the_error(simulation: Simulation) -> None:
    client = simulation.connect()
    assert create(client, 5, ("a", 12), ("b", 1)) == ([0, 0], 2_000)
    assert client.connection.state is ChannelMuteState.THROTTLED


def test_the_cluster_has_one_bucket(simulation: Simulation) -> None:
    assert create(simulation.connect(1), 7, ("a", 12)) == ([0], 0)
    assert create(simulation.connect(2), 7, ("b", 1)) == ([THROTTLED], 1_000)


def test_what_is_only_looked_at_counts(simulation: Simulation) -> None:
    client = simulation.connect()
    assert create(client, 7, ("a", 12), validate_only=True) == ([0], 0)
    assert create(client, 7, ("a", 1), validate_only=True) == ([THROTTLED], 1_000)


@pytest.mark.parametrize(("version", "error"), [(2, 0), (3, THROTTLED)])
def test_create_partitions(simulation: Simulation, version: int, error: int) -> None:
    client = simulation.connect()
    topics = [{"name": name, "count": count, "assignments": None} for name, count in (("there", 15), ("too", 2))]
    answer = ask(client, CREATE_PARTITIONS, version, topics=topics, timeout=timedelta(seconds=1), validate_only=False)
    assert told(answer, "results") == ([0, error], 1_000 if error else 2_000)


@pytest.mark.parametrize(("version", "error"), [(4, 0), (5, THROTTLED)])
def test_delete_topics(simulation: Simulation, version: int, error: int) -> None:
    assert create(simulation.connect(), 7, ("a", 9)) == ([0], 0)
    client = simulation.connect()
    answer = ask(client, DELETE_TOPICS, version, topic_names=["there", "too", "nowhere"], timeout=timedelta(seconds=1))
    errors, throttle_time_ms = told(answer, "responses")
    assert sorted(errors) == sorted([3, 0, error])
    assert throttle_time_ms == (1_000 if error else 2_000)
    assert (simulation.cluster.metadata.topic("too") is None) == (error == 0)


@pytest.mark.parametrize(
    ("rate", "throttle_ms"),
    [
        (1e-300, 0),  # Kafka computes 2^63 - 1 ms, of which the lower half is -1
        (5e-324, 0),
        (2.0**-80, 0),
        (1e-10, 1_316_123_912),  # 10^13 ms less the eleven seconds of a full bucket, the lower half of which is 15 days
        (1e308, None),
    ],
)
@pytest.mark.parametrize("version", [5, 7])
def test_extreme_rates(simulation: Simulation, rate: float, throttle_ms: int | None, version: int) -> None:
    """The bucket holds next to nothing, or more than an integer of Kafka can."""
    simulation.cluster.members.client_quotas.alter(ME, {"controller_mutation_rate": rate})
    client = simulation.connect()
    is_strict = version >= 6
    assert create(client, version, ("a", 1)) == ([0], 0 if is_strict else throttle_ms or 0)
    if is_strict:
        again = ([0], 0) if throttle_ms is None else ([THROTTLED], throttle_ms)
        assert create(client, version, ("b", 1)) == again
    assert (client.connection.state is ChannelMuteState.THROTTLED) == bool(throttle_ms)


@pytest.mark.parametrize("rate", [1e-300, 5e-324])
def test_extreme_rates_of_what_is_added_and_deleted(simulation: Simulation, rate: float) -> None:
    simulation.cluster.members.client_quotas.alter(ME, {"controller_mutation_rate": rate})
    client = simulation.connect()
    assert create(client, 7, ("a", 1)) == ([0], 0)
    more = [{"name": "there", "count": 4, "assignments": None}]
    answer = ask(client, CREATE_PARTITIONS, 3, topics=more, timeout=timedelta(seconds=1), validate_only=False)
    assert told(answer, "results") == ([THROTTLED], 0)
    names = [{"name": "there", "topic_id": None}]
    answer = ask(client, DELETE_TOPICS, 6, topics=names, timeout=timedelta(seconds=1))
    assert told(answer, "responses") == ([THROTTLED], 0)
