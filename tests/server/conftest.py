"""Many of these tests collect garbage, to find leftovers of a connection or open files."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_collections() -> None:
    """Leave out older objects of each collection: other tests have left many, and they prove nothing."""
    gc.collect()
    gc.freeze()
