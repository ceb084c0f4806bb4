"""The id of a subscription (core/config/subscription_id.py), compared with ids of Apache Kafka 4.4."""

from __future__ import annotations

from uuid import UUID

from fakebroker.core.config.subscription_id import compute_subscription_id

ME = UUID(int=0xC11E_0000_0000_4000_8000_0000_0000_0000 + 33)


def test_it_is_kafkas() -> None:
    """The expected id is Kafka's, of the metrics `port`, `id` and `address` every five minutes."""
    assert compute_subscription_id(["address", "port", "id"], 300_000, ME) == -1_262_822_482


def test_the_subscription_id_covers_metrics_interval_and_client_instance() -> None:
    known = compute_subscription_id(["a"], 1000, ME)

    assert len({known, compute_subscription_id(["a"], 1001, ME), compute_subscription_id(["b"], 1000, ME)}) == 3
    assert known != compute_subscription_id(["a"], 1000, UUID(int=1))
    assert -(2**31) <= known < 2**31
