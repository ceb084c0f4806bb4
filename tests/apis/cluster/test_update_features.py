"""UpdateFeatures, every version (apis/cluster/update_features.py, core/controller/features.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.controller.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, FeatureControl, FeatureUpdate
from fakebroker.protocol.errors import KafkaError

API_VERSIONS, UPDATE_FEATURES = 18, 57
INVALID_UPDATE_VERSION = 95
SUPPORTED = {"metadata.version": (7, 33), "group.version": (0, 1)}


@pytest.fixture
def client() -> SimulatedClient:
    return Simulation().connect()


def update(client: SimulatedClient, *updates: tuple[str, int], version: int = 2, **values: Any) -> Any:
    changes = [
        {"feature": name, "max_version_level": level, "upgrade_type": UPGRADE, "allow_downgrade": False}
        for name, level in updates
    ]
    request = {"timeout": timedelta(seconds=1), "feature_updates": changes, "validate_only": False}
    return ask(client, UPDATE_FEATURES, version, **request | values)


def epoch(client: SimulatedClient) -> int:
    software = {"client_software_name": "test", "client_software_version": "1"}
    return int(ask(client, API_VERSIONS, 4, **software).finalized_features_epoch)


@pytest.mark.parametrize("version", served_versions(UPDATE_FEATURES))
def test_the_level_that_it_has(client: SimulatedClient, version: int) -> None:
    answer = update(client, ("metadata.version", 33), version=version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert [result.feature for result in getattr(answer, "results", ())] == (
        ["metadata.version"] if version < 2 else []
    )
    assert epoch(client) == 2


@pytest.mark.parametrize("version", served_versions(UPDATE_FEATURES))
def test_an_unsupported_feature_is_refused(client: SimulatedClient, version: int) -> None:
    answer = update(client, ("metadata.version", 33), ("nobody", 1), version=version)
    assert answer.error_code == INVALID_UPDATE_VERSION
    assert answer.error_message.endswith(
        "Invalid update version 1 for feature nobody. Local controller 1 does not support this feature."
    )
    assert epoch(client) == 1


def test_what_is_only_checked_changes_nothing(client: SimulatedClient) -> None:
    assert update(client, ("metadata.version", 33), validate_only=True).error_code == 0
    assert epoch(client) == 1


def test_down_and_up_again() -> None:
    features = FeatureControl()
    assert features.finalized(SUPPORTED) == {"metadata.version": 33, "group.version": 1}
    features.update([FeatureUpdate("group.version", 0, SAFE_DOWNGRADE)], SUPPORTED, 1, False)
    assert features.finalized(SUPPORTED) == {"metadata.version": 33}
    assert features.level("group.version", SUPPORTED) == 0
    features.update([FeatureUpdate("group.version", 1, UPGRADE)], SUPPORTED, 1, False)
    assert features.finalized(SUPPORTED) == {"metadata.version": 33, "group.version": 1}
    assert features.epoch == 3


@pytest.mark.parametrize(
    ("name", "level", "kind", "why"),
    [
        ("metadata.version", 33, 0, "does not support the given upgrade type"),
        ("metadata.version", 33, 4, "does not support the given upgrade type"),
        ("metadata.version", -1, UPGRADE, "cannot be less than 0"),
        ("metadata.version", 6, UNSAFE_DOWNGRADE, "only supports versions 7-33"),
        ("metadata.version", 34, UPGRADE, "only supports versions 7-33"),
        ("metadata.version", 32, UPGRADE, "without setting the upgrade type"),
        ("metadata.version", 32, SAFE_DOWNGRADE, "might delete metadata information"),
        ("group.version", 0, UPGRADE, "without setting the upgrade type"),
    ],
)
def test_what_cannot_be(name: str, level: int, kind: int, why: str) -> None:
    with pytest.raises(KafkaError, match=why):
        FeatureControl().update([FeatureUpdate(name, level, kind)], SUPPORTED, 1, True)


def test_a_downgrade_leads_down() -> None:
    features = FeatureControl()
    features.update([FeatureUpdate("group.version", 0, SAFE_DOWNGRADE)], SUPPORTED, 1, False)
    with pytest.raises(KafkaError, match="Can't downgrade to a newer version"):
        features.update([FeatureUpdate("group.version", 1, SAFE_DOWNGRADE)], SUPPORTED, 1, False)
