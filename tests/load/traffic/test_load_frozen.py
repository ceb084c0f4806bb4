"""Objects that the load excludes from garbage collection while it measures."""

from __future__ import annotations

import gc

import pytest

from fakebroker_load.traffic.frozen import frozen
from fakebroker_load.worker import measuring


@pytest.fixture
def nothing_is_frozen():  # type: ignore[no-untyped-def]
    """Unfreeze the modules that the session of the tests has frozen (conftest.py)."""
    was_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    yield
    if was_frozen:
        gc.freeze()


@pytest.mark.parametrize("block", [frozen, measuring])
@pytest.mark.usefixtures("nothing_is_frozen")
def test_what_is_there_is_frozen_within_the_block(block) -> None:  # type: ignore[no-untyped-def]
    with block():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("block", [frozen, measuring])
@pytest.mark.usefixtures("nothing_is_frozen")
def test_what_the_process_froze_stays_frozen(block) -> None:  # type: ignore[no-untyped-def]
    gc.freeze()
    with pytest.raises(ValueError, match="it fails"), block():
        raise ValueError("it fails")
    assert gc.get_freeze_count() > 0
