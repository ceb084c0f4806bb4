"""Attacks are on brokers that are forked: their imports are no part of what is measured."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def forked(forked_serving: None) -> None:
    """Let each broker be forked."""
