"""The side that bumps the epoch of a transactional producer of 4.3 (producer/transactions/epoch_bump.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.epoch_bump import EpochBump

NODE = 1


@pytest.mark.parametrize(
    ("init_producer_id", "transaction_version", "can_abort", "is_required"),
    [(2, 0, False, False), (3, 0, True, True), (3, 2, True, False), (2, 2, True, False)],
)
def test_an_error_requires_a_bump_of_the_client_if_only_it_can(
    init_producer_id: int, transaction_version: int, can_abort: bool, is_required: bool
) -> None:
    versions = ApiVersions()
    versions.update(NODE, init_producer_id, features_epoch=1, transaction_version=transaction_version)
    bump = EpochBump(versions)
    bump.maybe_update_transaction_v2_enabled(on_initialization=True)
    bump.on_coordinator_ready(NODE)
    assert bump.can_handle_abortable_error() == can_abort
    assert not bump.is_required_of_client
    bump.maybe_require_of_client()
    assert bump.is_required_of_client == is_required


def test_without_a_coordinator_nothing_is_supported() -> None:
    bump = EpochBump(ApiVersions())
    bump.on_coordinator_ready(None)
    assert not bump.can_handle_abortable_error()


@pytest.mark.parametrize("on_initialization", [False, True])
def test_the_switch_to_version_2_after_a_transaction_requires_a_bump(on_initialization: bool) -> None:
    versions = ApiVersions()
    bump = EpochBump(versions)
    bump.maybe_update_transaction_v2_enabled(on_initialization)
    before = bump.is_transaction_v2_enabled
    versions.update(NODE, 5, features_epoch=1, transaction_version=2)
    bump.maybe_update_transaction_v2_enabled(on_initialization)
    assert (before, bump.is_transaction_v2_enabled) == (False, True)
    assert bump.is_required_of_client == (not on_initialization)
