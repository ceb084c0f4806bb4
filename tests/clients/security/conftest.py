"""A client that fails to connect leaves its sockets to the garbage collector: they are collected after each test.

pytest keeps each record that is logged, even by a logger that does not propagate. A record with a traceback keeps the
frames and their sockets alive. So kafka-python does not log here.
"""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    logger = logging.getLogger("kafka")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
