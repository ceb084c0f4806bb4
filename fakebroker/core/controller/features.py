"""Features (KIP-584): the levels that the cluster supports, and the finalized ones.

Theory   The supported levels follow from the served APIs. The level of each feature is the highest, unless a client set
         another one. Clients go by the levels. Here transactions go by `transaction.version` and elections by
         `eligible.leader.replicas.version`; the others are stored and reported.
Source   metadata/.../controller/FeatureControlManager.java updateFeatures @ 4.0, and the responses of a running 4.4.
Differs  `metadata.version` cannot be lowered: nothing here depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

METADATA_VERSION: Final = "metadata.version"
TRANSACTION_VERSION: Final = "transaction.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


class FeatureUpdate(NamedTuple):
    """An update of one feature. `upgrade_type` is any number that a request may have."""

    feature: str
    level: int
    upgrade_type: int


@final
class FeatureControl:
    """The levels that clients set, for all brokers. `epoch` grows with each change."""

    def __init__(self) -> None:
        self.epoch = 1
        self._levels: dict[str, int] = {}

    def format(self, levels: Mapping[str, int]) -> None:
        """Set the levels of a new cluster that are not the highest (`kafka-storage format --feature`)."""
        self._levels |= levels

    def level(self, feature: str, supported: Mapping[str, tuple[int, int]]) -> int:
        """Return the level of a feature; 0 if it is not supported."""
        return self._levels.get(feature, supported.get(feature, (0, 0))[1])

    def finalized(self, supported: Mapping[str, tuple[int, int]]) -> dict[str, int]:
        """Return the levels above 0."""
        levels = {feature: self.level(feature, supported) for feature in supported}
        return {feature: level for feature, level in levels.items() if level > 0}

    def update(
        self,
        updates: Iterable[FeatureUpdate],
        supported: Mapping[str, tuple[int, int]],
        controller_id: int,
        validate_only: bool,
    ) -> None:
        """Apply all updates or none. Raise KafkaError. Of a feature that occurs twice the last update counts."""
        wanted = {update.feature: update for update in updates}
        for update in wanted.values():
            if update.feature not in supported:
                self._check(update, supported, controller_id)  # raises
        for update in wanted.values():
            self._check(update, supported, controller_id)
        if wanted and not validate_only:
            self._levels |= {update.feature: update.level for update in wanted.values()}
            self.epoch += 1

    def _check(self, update: FeatureUpdate, supported: Mapping[str, tuple[int, int]], controller_id: int) -> None:
        if not UPGRADE <= update.upgrade_type <= UNSAFE_DOWNGRADE:
            raise _invalid(update, "The controller does not support the given upgrade type.")
        if update.level < 0:
            raise _invalid(update, "A feature version cannot be less than 0.")
        if update.feature not in supported:
            raise _invalid(update, f"Local controller {controller_id} does not support this feature.")
        lowest, highest = supported[update.feature]
        if not lowest <= update.level <= highest:
            raise _invalid(update, f"Local controller {controller_id} only supports versions {lowest}-{highest}")
        level = self.level(update.feature, supported)
        if update.level < level and update.upgrade_type == UPGRADE:
            raise _invalid(
                update,
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
                "downgrade.",
            )
        if update.level > level and update.upgrade_type != UPGRADE:
            raise _invalid(update, "Can't downgrade to a newer version.")
        if update.level < level and update.feature == METADATA_VERSION:
            unsafe = update.upgrade_type == UNSAFE_DOWNGRADE
            raise _failed(
                f"Unsupported metadata.version downgrade from {level} to {update.level}. "
                + (
                    "Unsafe metadata downgrade is not supported in this version."
                    if unsafe
                    else "Refusing to perform the requested downgrade because it might delete metadata information."
                )
            )


def _invalid(update: FeatureUpdate, why: str) -> KafkaError:
    return _failed(f"Invalid update version {update.level} for feature {update.feature}. {why}")


def _failed(why: str) -> KafkaError:
    message = f"The update failed for all features since the following feature had an error: {why}"
    return KafkaError(ErrorCode.invalid_update_version, message)
