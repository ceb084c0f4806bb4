"""UpdateFeatures at every version: what a change of features may be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from conformance.config_frames import one_by_one
from conformance.frames import request
from conformance.scenario import Case, Send, Settle

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3


def _update(
    *updates: tuple[str, int, int] | tuple[str, int, int, bool],
    version: int = 2,
    correlation_id: int = 1,
    validate_only: bool = False,
) -> bytes:
    values: dict[str, Any] = {
        "timeout": timedelta(seconds=30),
        "feature_updates": [
            {"feature": update[0], "max_version_level": update[1]}
            | (
                {"allow_downgrade": update[3]}
                if len(update) > 3
                else {"upgrade_type": update[2], "allow_downgrade": False}
            )
            for update in updates
        ],
        "validate_only": validate_only,
    }
    return request(57, version, values, correlation_id)


_BAD: dict[str, Sequence[tuple[str, int, int]]] = {
    "unknown": [("no.such.feature", 1, _UPGRADE)],
    "empty": [("", 1, _UPGRADE)],
    "too-high": [("metadata.version", 1000, _UPGRADE)],
    "too-low": [("metadata.version", 1, _UNSAFE_DOWNGRADE)],
    "negative": [("metadata.version", -1, _UPGRADE)],
    "zero": [("metadata.version", 0, _UNSAFE_DOWNGRADE)],
    "same": [("metadata.version", 33, _UPGRADE)],
    "type-0": [("metadata.version", 33, 0)],
    "type-4": [("metadata.version", 33, 4)],
    "downgrade-as-upgrade": [("metadata.version", 20, _UPGRADE)],
    "same-as-downgrade": [("metadata.version", 33, _SAFE_DOWNGRADE)],
    "downgrade": [("metadata.version", 20, _SAFE_DOWNGRADE)],
    "unsafe-downgrade": [("metadata.version", 20, _UNSAFE_DOWNGRADE)],
    "lowest": [("metadata.version", 7, _UNSAFE_DOWNGRADE)],
    "twice": [("metadata.version", 33, _UPGRADE), ("metadata.version", 32, _SAFE_DOWNGRADE)],
    "two": [("metadata.version", 33, _UPGRADE), ("no.such.feature", 1, _UPGRADE)],
    "two-bad": [("no.such.feature", 1, _UPGRADE), ("metadata.version", 1000, _UPGRADE)],
    "none": [],
}

CASES: list[Case] = [
    *(
        Case(
            f"update-features/{what}",
            "valid and invalid changes of features (FeatureControlManager)",
            one_by_one(
                _update(*updates, validate_only=True),
                _update(*updates, version=1, validate_only=True, correlation_id=2),
            ),
            box="quotas",
        )
        for what, updates in _BAD.items()
    ),
    Case(
        "update-features/versions",
        "an unknown feature, in each version",
        (
            Send(
                tuple(
                    _update(("no.such.feature", 1, _UPGRADE, False), version=version, correlation_id=version)
                    for version in range(3)
                )
            ),
            Settle(),
        ),
        box="quotas",
    ),
]
