"""A test that hangs is ended by pytest's faulthandler, but not in a teardown after a failure. Here it is."""

from __future__ import annotations

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    limit_s = float(item.config.getini("faulthandler_timeout") or 0)
    if limit_s and item.config.getini("faulthandler_exit_on_timeout"):
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(limit_s, exit=True, file=stderr)  # the end of the test cancels it
