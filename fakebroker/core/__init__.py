"""The model: brokers, partitions, coordinators. Time is an argument, and the model knows no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

load_apis: Callable[[], Mapping[int, Any]]
"""Returns the served APIs by key (apis/registry.py `load`). The APIs are above the core, so `fakebroker/__init__.py`
sets it."""
