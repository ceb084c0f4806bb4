"""Many of these tests collect garbage, to see what is left of a connection or which files are open."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_collections() -> None:
    """Leave out of each collection what was there before: other tests have left much by now, and nothing to see."""
    gc.collect()
    gc.freeze()
