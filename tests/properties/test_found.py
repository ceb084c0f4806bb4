"""What the simulation found in the broker, each as the shortest plan that showed it."""

from __future__ import annotations

import pytest

from fakebroker.testing.plan import from_text
from fakebroker.testing.replay import Replay
from fakebroker.testing.run import EVERY_STEP

FOUND = {
    # A batch that an idempotent producer sent again, and that the leader had, made lagging followers wait for nothing.
    "a timer for a duplicate": ("cluster 3 300; topic 2 2 2 0; followers 3 -1 2 -1; produce 1 -1 1 379 1 0; advance 7"),
    # A follower that had everything counted as caught up until the last append, not until its broker stopped: when it
    # came back within replica.lag.time.max.ms it was dropped from the ISR too early.
    "caught up until it stopped": (
        "cluster 3 300; topic 2 3 3 0; advance 499; jump; advance 499; followers 1 0 -1 -1; stop 0; "
        "produce 2 0 250 2 1 0; start 0; jump"
    ),
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_is_mended(text: str) -> None:
    assert Replay(from_text(text), 0, look_every=EVERY_STEP).violation is None
