"""The own settings of each group, and the effective ones.

Source   group-coordinator/.../group/GroupConfigManager.java @ 4.4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.group_config import GroupConfig


@final
class GroupConfigManager:
    """The settings of all groups. A group need not exist to have settings; those of a deleted group stay."""

    def __init__(self, brokers: Callable[[], BrokerConfig]) -> None:
        """Create the manager. `brokers` returns the present settings of the brokers."""
        self._brokers = brokers
        self._own: dict[str, Mapping[str, str]] = {}

    def of(self, group_id: str) -> GroupConfig:
        """Return the effective settings of a group: its own, else the brokers', within the brokers' bounds."""
        brokers = self._brokers()
        return GroupConfig.of(self._own.get(group_id, {}), brokers).effective(brokers)

    def own(self, group_id: str) -> Mapping[str, str]:
        """Return a group's own settings, as given."""
        return self._own.get(group_id, {})

    def set(self, group_id: str, texts: Mapping[str, str]) -> None:
        """Replace a group's own settings. They are valid (group_validation.py)."""
        if texts:
            self._own[group_id] = texts
        else:
            self._own.pop(group_id, None)

    def group_ids(self) -> list[str]:
        """Return the groups with settings of their own, sorted."""
        return sorted(self._own)
