"""What each group sets of its own, and what a group has because of it.

Source   group-coordinator/.../group/GroupConfigManager.java @ 4.4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.group_config import GroupConfig


@final
class GroupConfigManager:
    """For all brokers. A group need not be there to have settings; those of a group that goes stay."""

    def __init__(self, brokers: Callable[[], BrokerConfig]) -> None:
        """`brokers` gives the settings of the brokers as they are now."""
        self._brokers = brokers
        self._own: dict[str, Mapping[str, str]] = {}

    def of(self, group_id: str) -> GroupConfig:
        """What holds for a group: its own, else the brokers', within what the brokers allow."""
        brokers = self._brokers()
        return GroupConfig.of(self._own.get(group_id, {}), brokers).effective(brokers)

    def own(self, group_id: str) -> Mapping[str, str]:
        """What a group sets of its own, as it was given."""
        return self._own.get(group_id, {})

    def set(self, group_id: str, texts: Mapping[str, str]) -> None:
        """From now on the group sets these, and nothing else. They are checked (group_validation.py)."""
        if texts:
            self._own[group_id] = texts
        else:
            self._own.pop(group_id, None)

    def group_ids(self) -> list[str]:
        """The groups that set anything, sorted."""
        return sorted(self._own)
