"""A check for green threads: gevent and eventlet can replace threads by greenlets for a whole process.

A greenlet that waits for an event loop never gives it a turn, so the cluster would hang silently.
"""

from __future__ import annotations

import sys
from typing import Final

_SENTENCE: Final = (
    "{0} has put greenlets in the place of threads, and a FakeCluster needs a thread of its own: "
    "patch with {1}, or run `fakebroker serve` and connect to that"
)


def refuse_green_threads() -> None:
    """Raise RuntimeError if a thread would be a greenlet."""
    gevent, eventlet = sys.modules.get("gevent.monkey"), sys.modules.get("eventlet.patcher")
    if gevent is not None and gevent.is_module_patched("threading"):
        raise RuntimeError(_SENTENCE.format("gevent", "gevent.monkey.patch_all(thread=False)"))
    if eventlet is not None and eventlet.is_monkey_patched("thread"):
        raise RuntimeError(_SENTENCE.format("eventlet", "eventlet.monkey_patch(thread=False)"))
