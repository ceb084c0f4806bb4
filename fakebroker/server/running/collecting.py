"""Garbage collection for a process that only serves: each object is examined while it is new, and never again.

Theory   A full collection walks over all objects: modules, connections, and every batch in the logs. With 10,000
         connections that is 100 ms, with the logs of a hundred thousand requests 140 ms, and all clients wait. The
         objects of a connection and its requests are freed by reference counts alone (tests/server/test_garbage.py), so
         the collector is not needed for them. Objects that survive a full collection are frozen: the next one examines
         only what came since. The cost per object is the same early or late, about a microsecond. So each collection
         gets few objects: 2,000, some two milliseconds.
Differs  Cycles that were in use longer than that, and become garbage later, are never freed. asyncio's own connections
         are such cycles. So without uvloop full collections stay long, and are only made seldom. The same applies to
         Python 3.14, which collects old objects a part at a time by itself (not measured).
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from fakebroker.server.loops import NAME as LOOP_NAME

_YOUNG, _MIDDLE, _FULL = 500, 1, 0  # new objects; then collections of the generation below
SELDOM = 100
SMALL = LOOP_NAME == "uvloop" and sys.version_info < (3, 14)


def collect_what_is_new() -> None:
    """Configure the collector of this process so."""
    gc.freeze()
    gc.collect()  # a full collection of nothing: Python starts the next one only when there are a quarter more objects
    if not SMALL:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, SELDOM)
        return
    gc.set_threshold(_YOUNG, _MIDDLE, _FULL)
    if freeze_what_survives not in gc.callbacks:
        gc.callbacks.append(freeze_what_survives)


def freeze_what_survives(phase: str, info: dict[str, Any]) -> None:
    """Freeze the survivors of a full collection: a callback of the collector."""
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
