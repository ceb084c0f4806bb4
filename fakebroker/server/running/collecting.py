"""The collector of garbage, in a process that does nothing but serve: it looks at an object while it is new, and then
no more.

Theory   A full collection walks over all there is: modules, connections, and every batch in the logs. With 10,000
         connections that is 100 ms, with the logs of a hundred thousand requests 140 ms, and everybody waits. What a
         connection and its requests have made is gone when it is dropped (tests/server/test_garbage.py), so nothing
         needs to be looked for there. What survives a full collection is frozen: the next one has what came since.
         Whether an object is looked at early or late costs the same, some microsecond of its own, so there is little
         to look at each time: 2,000 objects, some two milliseconds.
Differs  Rings of objects that were in use for longer than that, and fall out of use later, stay. asyncio's own
         connections are such rings, so without uvloop full collections are left to be long, and only made seldom. So
         are those of Python 3.14, which collects old objects a part at a time by itself (not measured).
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from fakebroker.server.loops import NAME as LOOP_NAME

_YOUNG, _MIDDLE, _FULL = 500, 1, 0  # more objects; then more collections of the generation below
SELDOM = 100
SMALL = LOOP_NAME == "uvloop" and sys.version_info < (3, 14)


def collect_what_is_new() -> None:
    """From now on, in this process."""
    gc.freeze()
    gc.collect()  # of nothing: Python waits for a quarter more objects than there were at the last full one
    if not SMALL:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, SELDOM)
        return
    gc.set_threshold(_YOUNG, _MIDDLE, _FULL)
    if freeze_what_survives not in gc.callbacks:
        gc.callbacks.append(freeze_what_survives)


def freeze_what_survives(phase: str, info: dict[str, Any]) -> None:
    """A callback of the collector."""
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
