"""End the process of a test that hangs, and print the stacks of its threads: `-o hang_limit_s=600`.

Shape    A thread of `faulthandler` ends the process when the limit is over. The thread is not restarted for each test:
         a test restarts it only if it has run for a tenth of the limit. So each test has at least nine tenths of the
         limit.
Why      pytest's faulthandler_timeout starts a thread for each test. And it does not end a test that hangs in its
         teardown after a failure: pytest cancels the thread at the failure.
"""

from __future__ import annotations

import faulthandler
import math
from collections.abc import Generator
from time import monotonic

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hang_limit_s", "end the process when a test takes so many seconds; 0: never", default="0")


def pytest_configure(config: pytest.Config) -> None:
    limit_s = float(config.getini("hang_limit_s"))
    if limit_s:
        config.pluginmanager.register(Limit(limit_s))


class Limit:
    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._started_s = -math.inf

    def _start(self, item: pytest.Item) -> None:
        self._started_s = monotonic()
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(self._limit_s, exit=True, file=stderr)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if monotonic() - self._started_s > self._limit_s / 10:
            self._start(item)
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector) -> None:
        """Start again what pytest cancels at a failure, for a debugger."""
        if isinstance(node, pytest.Item):
            self._start(node)

    def pytest_sessionfinish(self) -> None:
        faulthandler.cancel_dump_traceback_later()
