"""A client that fails to connect may leave its sockets to the garbage collector. They are collected here, at the end of
the test, and not in whatever test runs then. What kafka-python logs would keep them alive for longer: pytest holds the
records with their tracebacks."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logging.getLogger("kafka"), "propagate", False)
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
