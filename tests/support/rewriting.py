"""The asserts of the test modules are rewritten once, and not once per process.

Theory   pytest rewrites the asserts of each test module when it is imported, and keeps the result beside the bytecode.
         On a fresh checkout the processes of xdist import the same modules in the same order at the same time. So each
         of them would rewrite all. Instead each first rewrites its share and keeps it, and later finds most of the
         others. The modules of the package were tried as well: it made no difference.
Source   _pytest/assertion/rewrite.py, AssertionRewritingHook.exec_module. These functions are not public: if they have
         gone, nothing is rewritten ahead.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def rewrite_share(config: pytest.Config, number: int, processes: int) -> int:
    """Rewrite and keep every so-manyth module that has not been kept yet. Return how many were rewritten."""
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
    for path in sorted(TESTS.rglob("test_*.py"))[number::processes]:
        folder = get_cache_dir(path)
        kept = folder / (path.name[:-3] + PYC_TAIL)
        if try_makedirs(folder) and _read_pyc(path, kept) is None:
            source, code = _rewrite_test(path, config)
            done += _write_pyc(config.stash[assertstate_key], code, source, kept)
    return done
