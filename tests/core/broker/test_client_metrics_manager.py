"""Clients that a broker remembers for their metrics (core/broker/client_metrics_manager.py)."""

from __future__ import annotations

from uuid import UUID

import pytest
from support.slices import count_slices

from fakebroker.core.broker.client_metrics_manager import ClientInstance, ClientMetadata, ClientMetricsManager
from fakebroker.core.config.client_metrics_config import ClientMetricsSubscriptions, validate
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.protocol.slices import Slices, finish

MOST = 16_384  # ClientMetricsManager.CACHE_MAX_SIZE


def test_the_least_recently_seen_client_is_evicted() -> None:
    manager = ClientMetricsManager(ClientMetricsSubscriptions(), 1_048_576, lambda: UUID(int=99))

    def is_remembered(number: int) -> bool:
        """Return True if a request of the client is refused: a remembered client's interval is not over."""
        client = ClientMetadata("c", "s", "1", "127.0.0.1", "1", number, lambda: True)
        try:
            finish(manager.get_subscription(UUID(int=1_000 + number), client, 0))
        except KafkaError:
            return True
        return False

    assert not any(is_remembered(number) for number in range(MOST))
    assert is_remembered(0)  # and is the one that was seen last
    assert not is_remembered(MOST)
    assert is_remembered(0)
    assert not is_remembered(1)


def asked_by(client_id: str, patterns: list[str]) -> Slices[tuple[UUID, ClientInstance]]:
    """Return the handling of a client's request, with a subscription for each pattern of its id."""
    subscriptions = ClientMetricsSubscriptions()
    for number, pattern in enumerate(patterns):
        texts = {"metrics": f"m{number}", "interval.ms": "100", "match": f"client_id={pattern}"}
        validate("s", texts)
        subscriptions.set(f"s{number}", texts)
    manager = ClientMetricsManager(subscriptions, 1_048_576, lambda: UUID(int=99))
    return manager.get_subscription(None, ClientMetadata(client_id, "s", "1", "127.0.0.1", "1", 1, lambda: True), 0)


def test_a_pattern_that_would_backtrack_for_ever_takes_no_longer_than_another() -> None:
    _, instance = finish(asked_by("a" * 40 + "!", ["(a+)+$", "(a+)+!"]))
    assert instance.metrics == ["m1"]


@pytest.mark.parametrize("pattern", ["(?=a)a", r"(a)\1", "(", "(.*){1000}(.*){1000}"])
def test_a_pattern_whose_time_has_no_bound_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Illegal client matching pattern: client_id="):
        validate("s", {"match": f"client_id={pattern}"})


def test_many_subscriptions_are_looked_at_in_slices() -> None:
    (_, instance), slices = count_slices(asked_by("x" * 200, ["(.*){500}"] * 20))
    assert len(instance.metrics) == 20
    assert slices >= 20


def test_a_pattern_that_takes_too_long_for_a_client_does_not_match_it() -> None:
    _, instance = finish(asked_by("x" * 30_000, ["(.*){500}", ".*"]))
    assert instance.metrics == ["m1"]
