"""The fixtures that another plugin has too: pytest silently uses the one that was registered last."""

from __future__ import annotations

from types import ModuleType

import pytest

NAMES = ("kafka_broker", "kafka_cluster", "kafka_clock", "kafka_faults")


def shadowed(config: pytest.Config, ours: ModuleType) -> list[str]:
    """Return a sentence for each shadowed fixture. A fixture in a conftest.py is left out, as that is intended."""
    manager = config.pluginmanager
    plugins = [plugin for _, plugin in manager.list_name_plugin() if isinstance(plugin, ModuleType)]
    sentences = []
    for name in NAMES:
        having = [plugin for plugin in plugins if hasattr(plugin, name) and not _is_conftest(plugin)]
        if len(having) > 1:
            others = " and ".join(plugin.__name__ for plugin in having if plugin is not ours)
            left_out = "fakebroker" if having[-1] is ours else manager.get_name(having[-1])
            sentences.append(
                f"fakebroker: {others} has a fixture {name} too, and tests get that of {having[-1].__name__}; "
                f"`-p no:{left_out}` leaves its plugin out"
            )
    return sentences


def _is_conftest(plugin: ModuleType) -> bool:
    return plugin.__name__.rpartition(".")[2] == "conftest"
