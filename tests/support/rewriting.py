"""A second process that rewrites the asserts of the test modules of a fresh checkout.

Theory   pytest rewrites the asserts of each test module when it is imported, and keeps the result beside the bytecode.
         That takes longer than all else of collecting. With `--workers` only one process collects. So a second one
         begins with the last modules, until both meet, and the first finds what the second has kept.
Source   _pytest/assertion/rewrite.py, AssertionRewritingHook.exec_module. These functions are not public: if they have
         gone, nothing is rewritten ahead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def rewrite_from_the_end(config: pytest.Config) -> int:
    """Rewrite and keep the modules that are not kept yet, last ones first. Return how many were rewritten."""
    try:
        from _pytest.assertion.rewrite import (
            PYC_TAIL,
            _read_pyc,
            _rewrite_test,
            _write_pyc,
            assertstate_key,
            get_cache_dir,
            try_makedirs,
        )
    except ImportError:
        return 0
    if sys.dont_write_bytecode or config.option.assertmode != "rewrite":
        return 0
    done = 0
    for path in sorted(TESTS.rglob("test_*.py"), reverse=True):
        kept = get_cache_dir(path) / (path.name[:-3] + PYC_TAIL)
        if try_makedirs(kept.parent) and _read_pyc(path, kept) is None:
            source, code = _rewrite_test(path, config)
            done += _write_pyc(config.stash[assertstate_key], code, source, kept)
    return done


def rewriting_beside(config: pytest.Config) -> Callable[[], object]:
    """Start a process that does it. Return a function that waits for its end."""
    pid = os.fork()
    if pid:
        return lambda: os.waitpid(pid, 0)
    try:
        rewrite_from_the_end(config)
    finally:
        os._exit(0)
