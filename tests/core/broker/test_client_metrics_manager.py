"""Clients that a broker remembers for their metrics (core/broker/client_metrics_manager.py)."""

from __future__ import annotations

from uuid import UUID

from fakebroker.core.broker.client_metrics_manager import ClientMetadata, ClientMetricsManager
from fakebroker.core.config.client_metrics_config import ClientMetricsSubscriptions
from fakebroker.core.errors import KafkaError

MOST = 16_384  # ClientMetricsManager.CACHE_MAX_SIZE


def test_of_more_clients_than_are_remembered_the_one_seen_longest_ago_is_forgotten() -> None:
    manager = ClientMetricsManager(ClientMetricsSubscriptions(), 1_048_576, lambda: UUID(int=99))

    def is_remembered(number: int) -> bool:
        """A client asks. A remembered client is refused, since its interval is not over."""
        client = ClientMetadata("c", "s", "1", "127.0.0.1", "1", number, lambda: True)
        try:
            manager.get_subscription(UUID(int=1_000 + number), client, 0)
        except KafkaError:
            return True
        return False

    assert not any(is_remembered(number) for number in range(MOST))
    assert is_remembered(0)  # and is the one that was seen last
    assert not is_remembered(MOST)
    assert is_remembered(0)
    assert not is_remembered(1)
