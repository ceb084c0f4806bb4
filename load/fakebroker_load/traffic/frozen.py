"""A block during which the garbage collector ignores existing objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen() -> Iterator[None]:
    """Limit the collector to new objects during the block. Objects that the process froze before stay frozen."""
    is_frozen = gc.get_freeze_count() > 0
    if not is_frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not is_frozen:
            gc.unfreeze()
