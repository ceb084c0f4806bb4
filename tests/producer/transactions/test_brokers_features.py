"""The newest features of the brokers (producer/transactions/api_versions.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.transactions.api_versions import ApiVersions


@pytest.mark.parametrize(("epoch", "expected"), [(4, 2), (5, 2), (6, 1)])
def test_only_a_newer_epoch_of_features_replaces_the_level(epoch: int, expected: int) -> None:
    versions = ApiVersions()
    versions.update(1, 6, features_epoch=5, transaction_version=2)
    versions.update(2, 6, features_epoch=epoch, transaction_version=1)
    assert versions.transaction_version == expected


def test_a_node_that_is_disconnected_is_forgotten_and_the_features_stay() -> None:
    versions = ApiVersions()
    versions.update(1, 6, features_epoch=5, transaction_version=2)
    versions.remove(1)
    versions.remove(1)
    assert not versions.can_bump_epoch(1)
    assert versions.transaction_version == 2
