"""A test that hangs is ended by pytest's faulthandler, but not in a teardown after a failure. Here it is.

Shape    pytest begins to count at each test, and stops at a failure, for a debugger. Then the count begins again.
"""

from __future__ import annotations

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    limit_s = float(node.config.getini("faulthandler_timeout") or 0)
    if isinstance(node, pytest.Item) and limit_s and node.config.getini("faulthandler_exit_on_timeout"):
        stderr = node.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(limit_s, exit=True, file=stderr)  # the end of the test cancels it
