"""Bugs that the simulation found, in the broker or in itself, each as the shortest plan that showed it."""

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
    # The oracle looked at the watermark with every fetch; Kafka does if the follower has come further or joined.
    "a fetch from where the follower stood before moves nothing": (
        "cluster 3 300; topic 3 2 3 0; stop 2; recreate 1 1; stop 0; followers 6 0 -1 -1; produce 4 0 2000 2 1 0; "
        "start 0; produce 2 1 -1 27 1 0; stop 3; advance 1600"
    ),
    # A new leader does not know the high watermark before all in-sync replicas have fetched, and one of them is paused.
    # The acknowledged record is there, and no consumer may read it yet.
    "an acknowledged record is unreadable until a paused replica fetches": (
        "cluster 3 5000; topic 3 3 2 0; followers 3 0 2 1; produce 9 -1 7 4 1 0; pause 0; advance 250; move 5 0"
    ),
    # The same, when too few are in sync for the watermark to move.
    "an acknowledged record is unreadable below min.insync.replicas": (
        "cluster 4 1000; topic 3 3 3 0; followers 4 1 0 -1; followers 0 -1 0 1; produce 4 -1 700 463 2 0; pause 1; "
        "advance 1000; stop 0"
    ),
    # The oracle let a fetch that was parked at a paused broker see the new topic of the name.
    "a consumer hears of the topic that was deleted first": (
        "cluster 1 1000; topic 2 1 3 1; fetch 1 2 0 400; pause 1; recreate 1 3; resume 1"
    ),
    # Two followers of one millisecond move the watermark twice; a consumer that waits gets what the first one brought.
    "a consumer is answered by the first step of the watermark": (
        "cluster 4 300; topic 3 3 1 0; stop 0; followers 4 -1 2 -1; recreate 2 2; produce 0 -1 -1 7 1 0; stop 2; "
        "advance 1; produce 6 -1 40 87 1 0; start 2; fetch 0 5 4 400; advance 40"
    ),
    # What times out is passed by the watermark in the same millisecond, by the request that was handled next: no fault.
    "the watermark passes right after a timeout": (
        "cluster 3 5000; topic 3 3 3 0; recreate 2 1; followers 5 -1 2 3; stop 0; produce 2 -1 0 399 1 0; start 3; "
        "produce 5 -1 40 435 1 0; produce 6 -1 40 387 1 0; stop 0; advance 500"
    ),
    # The oracle blamed the broker for an order of two events that only the next request, taken in hand, told apart.
    "the next request shows the order of two followers' fetches": (
        "cluster 4 300; topic 3 3 1 0; topic 2 1 3 0; recreate 0 2; followers 2 -1 0 -1; recreate 0 1; "
        "burst 1 -1 2000 2 6; followers 6 0 -1 -1; produce 3 -1 1 471 1 0; advance 1600"
    ),
    # A replica with all records stays in sync when it is killed, until its session ends. It becomes the leader
    # meanwhile, and does not know. The first of 2,400 seeds with 20 million requests to show it.
    "an acknowledged record is unreadable until the session of a killed leader ends": (
        "cluster 3 1000; topic 1 3 1 0; kill 1; stream 6 -1 250 0 86; advance 1000; kill 2; advance 1600; stop 0"
    ),
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_is_mended(text: str) -> None:
    assert Replay(from_text(text), 0, look_every=EVERY_STEP).violation is None
