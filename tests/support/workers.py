"""Tests run in several processes, each forked from one that has collected them all: `pytest --workers N`.

Why      pytest-xdist collects once in each process, and to pass a test on it takes milliseconds of CPU time.
Shape    The main process collects, forks the workers and runs no test. It sends each worker the indices of a few tests
         ahead. After each test the worker sends the reports, and the main process hands them to the plugins of pytest.
         So junit files, -x, --lf and the exit status are those of a single process.
Deaths   A worker that ends before its time is a failure of the test that it ran. A new one runs its other tests.
Limits   Hooks of the session (pytest_sessionfinish) run in the main process only, and functions of `atexit` in each.
         The main process has no threads of Python, so it can fork at any time.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pipe, connection
from typing import Any, NoReturn

import pytest

from support.scheduling import units

AHEAD = 3  # tests that a worker knows: the one that it runs, the next one, which may share its fixtures, and a reserve
SUMMED: list[Counter[str]] = []  # what workers count: at the end of each it is added up in the main process
_DEATH_POLL_S = 1.0  # the pipe of a dead worker stays open if a child of the worker has it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run tests in N processes that are forked")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    if not options.workers or options.collectonly or session.testsfailed:
        return None
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal:
        terminal.showfspath = False  # tests of several files end in turn
    _Distribution(session).run(options.workers)
    return True


class _Worker:
    """A worker as the main process sees it."""

    def __init__(self, number: int, run: Callable[[_Worker, Any, Any], None], siblings: Iterable[_Worker]) -> None:
        self.id = f"gw{number}"
        self.pending: deque[int] = deque()
        self.is_told_to_end = False
        self._status: int | None = None
        requests, self._requests = Pipe(duplex=False)
        self.results, results = Pipe(duplex=False)
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: pyarrow has some
            self.pid = os.fork()
        if self.pid == 0:
            for lock in (self, *siblings):
                lock.close()
            _be(lambda: run(self, requests, results))
        requests.close()
        results.close()

    def give(self, indices: list[int]) -> None:
        self.pending.extend(indices)
        self._send(indices)

    def end(self) -> None:
        """Let it end after the tests that it has."""
        self.is_told_to_end = True
        self._send(None)

    def _send(self, message: object) -> None:
        with suppress(BrokenPipeError):  # it has died, and `has_ended` tells
            self._requests.send(message)

    def has_ended(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status is not None

    def close(self) -> None:
        self._requests.close()
        self.results.close()

    def wait(self) -> int:
        """Return the exit status, negative for a signal."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status


class _Distribution:
    """The main process: it gives tests to workers, and passes on what they report."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._hook = session.config.hook
        self._units = deque(units(session.items))
        self._workers: list[_Worker] = []
        self._count = 0
        factory: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
        self._folder = factory.getbasetemp()

    def run(self, count: int) -> None:
        try:
            for _ in range(min(count, len(self._units))):
                self._start()
            for _ in range(AHEAD):  # in turn: no worker has two long tests while another has none
                for worker in self._workers:
                    self._give(worker, at_most=1)
            while self._workers:
                readable = connection.wait([worker.results for worker in self._workers], _DEATH_POLL_S)
                for worker in list(self._workers):
                    if worker.results in readable or worker.has_ended():
                        self._receive(worker)
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
        finally:
            for worker in self._workers:
                worker.close()  # it ends after the test that it runs
            for worker in self._workers:
                worker.wait()

    def _start(self) -> _Worker:
        worker = _Worker(self._count, self._run_tests, self._workers)
        self._count += 1
        self._workers.append(worker)
        return worker

    def _give(self, worker: _Worker, at_most: int = AHEAD) -> None:
        for _ in range(at_most):
            if self._units and len(worker.pending) < AHEAD:
                worker.give(self._units.popleft())
        if not self._units and not worker.is_told_to_end:
            worker.end()

    def _run_tests(self, worker: _Worker, requests: Any, results: Any) -> None:
        run_tests(self._session, worker.id, str(self._folder / worker.id), requests, results)

    def _receive(self, worker: _Worker) -> None:
        try:
            message = worker.results.recv() if worker.results.poll() else None
        except (EOFError, OSError):
            message = None
        if message is None:
            self._ended(worker)
        elif isinstance(message, list):
            for counter, more in zip(SUMMED, message, strict=True):
                counter.update(more)
        else:
            index, reports, warned = message
            assert index == worker.pending.popleft()
            for warning in warned:
                self._hook.pytest_warning_recorded.call_historic(kwargs=warning)
            self._report([self._deserialized(data) for data in reports])
            self._give(worker)

    def _deserialized(self, data: Mapping[str, Any]) -> pytest.TestReport:
        report = self._hook.pytest_report_from_serializable(config=self._session.config, data=data)
        assert isinstance(report, pytest.TestReport)
        return report

    def _report(self, reports: Sequence[pytest.TestReport]) -> None:
        name, location = reports[0].nodeid, reports[0].location
        self._hook.pytest_runtest_logstart(nodeid=name, location=location)
        for report in reports:
            self._hook.pytest_runtest_logreport(report=report)
        self._hook.pytest_runtest_logfinish(nodeid=name, location=location)

    def _ended(self, worker: _Worker) -> None:
        worker.close()
        self._workers.remove(worker)
        status = worker.wait()
        if not worker.pending:
            if status:
                raise RuntimeError(f"{worker.id} ended with status {status} after its last test")
            return
        item = self._session.items[worker.pending.popleft()]
        why = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        text = f"{worker.id} ended with {why} while it ran {item.nodeid}"
        self._report([pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")])
        if worker.pending:
            self._units.appendleft(list(worker.pending))
        if self._units:
            self._give(self._start())


def _be(run: Callable[[], None]) -> NoReturn:
    """Run this in a forked process, and end it."""
    status = 1
    try:
        run()
        status = 0
    except (EOFError, BrokenPipeError, KeyboardInterrupt):  # the main process has ended, or will
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        os._exit(status)


class _Recorder:
    """The plugin of a worker that keeps what pytest reports about a test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.reports: list[Mapping[str, Any]] = []
        self.warned: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        self.reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        warned = warning_message
        message = warnings.WarningMessage(str(warned.message), warned.category, warned.filename, warned.lineno)
        self.warned.append({"warning_message": message, "when": when, "nodeid": nodeid, "location": location})

    def taken(self) -> tuple[list[Mapping[str, Any]], list[dict[str, Any]]]:
        taken = self.reports, self.warned
        self.reports, self.warned = [], []
        return taken


def run_tests(session: pytest.Session, name: str, folder: str, requests: Any, results: Any) -> None:
    """Run the tests that are requested, in a worker."""
    config: Any = session.config
    recorder = _Recorder(config)
    _prepare(config, name, folder)
    config.pluginmanager.register(recorder, "worker-recorder")
    given: deque[int | None] = deque()

    def take() -> int | None:
        while not given:
            given.extend(requests.recv() or [None])
        return given.popleft()

    index = take()
    try:
        while index is not None:
            following = take()
            item, then = session.items[index], None if following is None else session.items[following]
            config.hook.pytest_runtest_protocol(item=item, nextitem=then)
            results.send((index, *recorder.taken()))
            index = following
        results.send(SUMMED)
    finally:
        session._setupstate.teardown_exact(None)


def _prepare(config: Any, name: str, folder: str) -> None:
    """Give this process what it must not share with the others."""
    from _pytest.tmpdir import TempPathFactory

    config.workerinput = {"workerid": name}  # plugins ask for it, as in xdist
    config.pluginmanager.unregister(name="terminalreporter")
    for counter in SUMMED:
        counter.clear()
    config.option.basetemp = folder
    config._tmp_path_factory = TempPathFactory.from_config(config, _ispytest=True)
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of the main process
    if config.option.capture != "no":
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    capture.start_global_capturing()
    capture.suspend_global_capture()
