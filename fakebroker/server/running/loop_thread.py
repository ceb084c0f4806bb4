"""A thread with an event loop of its own, in which a program runs from its start to its stop.

Theory   The caller of `start` or `stop` may be interrupted at any point: by Ctrl-C, or by the time limit of a test. So
         the end is requested in one step, and the thread checks for it before it reports its start. The thread cleans
         up by itself, whether the caller still waits or not.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from fakebroker.server.running.forking import OF_ANOTHER_PROCESS, tell_no_more, tell_of_fork
from fakebroker.server.running.green_threads import refuse_green_threads
from fakebroker.server.running.no_more_files import tell_of_no_more_files

T = TypeVar("T")

_INTERRUPTED_S = 5.0  # how long an interrupted caller waits for the thread's end; a second interrupt ends that wait


class _ThreadRun:
    """One run of the thread, from start to end. `main` is the coroutine that the loop runs."""

    def __init__(self, target: Callable[[_ThreadRun], None]) -> None:
        self.started: Future[asyncio.AbstractEventLoop] = Future()
        self.is_over = False
        self._is_cancelled = False
        self.main: asyncio.Task[None] | None = None
        self.ended = threading.Event()  # not join(): after an interrupted join() Python 3.11 considers the thread ended
        self.thread = threading.Thread(target=target, args=(self,), name="fakebroker", daemon=True)

    def end(self) -> None:
        """Request the end of the thread. Either it has a task by now, or it will see the request when it starts."""
        self.is_over = True
        main = self.main
        if main is not None:
            with suppress(RuntimeError):  # the loop is closed
                main.get_loop().call_soon_threadsafe(self.cancel)

    def cancel(self) -> None:
        """Cancel the task, in the thread. A second request of an interrupted caller does nothing: the task is cleaning
        up."""
        if not self._is_cancelled and self.main is not None:
            self._is_cancelled = True
            self.main.cancel()


class LoopThread:
    """A thread with an event loop. `start` and `stop` run in the thread. If nothing runs, `call` and `wait_for` raise
    RuntimeError with the text `not_running`."""

    def __init__(
        self,
        new_loop: Callable[[], asyncio.AbstractEventLoop],
        start: Callable[[], Coroutine[Any, Any, None]],
        stop: Callable[[], Coroutine[Any, Any, None]],
        not_running: str,
    ) -> None:
        self._new_loop = new_loop
        self._start = start
        self._stop = stop
        self._not_running = not_running
        self._starting_or_stopping = threading.Lock()
        self._run: _ThreadRun | None = None
        self._calling = threading.Lock()  # a call that reaches the loop comes before its end, or is refused
        self._loop: asyncio.AbstractEventLoop | None = None  # None: takes no calls
        self._is_inherited = False

    def start(self) -> None:
        """Start the thread and run `start` there. An interrupted call leaves nothing behind. Raises RuntimeError where
        threads are greenlets."""
        self._check_process()
        refuse_green_threads()
        with self._starting_or_stopping:
            if self._run is not None and not self._run.is_over:
                raise RuntimeError("the cluster is running already")
            try:
                self._join()  # left by a stop() that was interrupted
                run = self._run = _ThreadRun(self._work)
                tell_of_fork(self)
                run.thread.start()
                self._loop = run.started.result()
            except BaseException:
                self._end(_INTERRUPTED_S)
                raise

    def stop(self) -> None:
        """Run `stop` and end the thread, even if the caller is interrupted. In a child process there is nothing to
        stop."""
        if self._is_inherited:
            return
        with self._starting_or_stopping:
            try:
                self._end()
            except BaseException:
                self._end(_INTERRUPTED_S)
                raise

    def _end(self, seconds: float | None = None) -> None:
        with self._calling:
            self._loop = None
            if self._run is not None:
                self._run.end()
        self._join(seconds)

    def _join(self, seconds: float | None = None) -> None:
        run = self._run
        if run is None:
            return
        if run.thread.ident is not None:  # None if it has never begun
            if not run.ended.wait(seconds):
                return  # the next start() waits for it
            run.thread.join()
        self._run = None
        tell_no_more(self)

    def _work(self, run: _ThreadRun) -> None:
        try:
            self._work_on_loop(run)
        finally:
            run.ended.set()

    def _work_on_loop(self, run: _ThreadRun) -> None:
        try:
            loop = self._new_loop()
        except BaseException as error:
            run.started.set_exception(error)
            return
        tell_of_no_more_files(loop)
        try:
            run.main = loop.create_task(self._main(run))
            if run.is_over:
                run.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(run.main)
            loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        finally:
            loop.close()

    async def _main(self, run: _ThreadRun) -> None:
        try:
            await self._start()
        except BaseException as error:
            run.started.set_exception(error)
            return
        try:
            run.started.set_result(asyncio.get_running_loop())
            await asyncio.get_running_loop().create_future()  # until it is cancelled
        finally:
            await self._stop()

    def call(self, function: Callable[[], T]) -> T:
        """Run the function in the thread and wait for its result."""
        result = self._hand_over(function)
        if result is None:
            raise RuntimeError(self._not_running)
        return result.result()

    def call_or_do(self, function: Callable[[], T]) -> T:
        """Run the function in the thread, or in the caller's if there is none."""
        result = self._hand_over(function)
        if result is not None:
            return result.result()
        with self._starting_or_stopping:
            return function()

    def _hand_over(self, function: Callable[[], T]) -> Future[T] | None:
        """Schedule the function in the thread. Return None if the thread takes no calls."""
        self._check_process()
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        with self._calling:
            if self._loop is None:
                return None
            self._loop.call_soon_threadsafe(run)
        return result

    def wait_for(self, coroutine: Coroutine[None, None, T]) -> T:
        """Run the coroutine in the thread and wait for its result."""
        try:
            self._check_process()
        except RuntimeError:
            coroutine.close()
            raise
        with self._calling:
            if self._loop is None:
                coroutine.close()
                raise RuntimeError(self._not_running)
            result = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return result.result()
        except CancelledError:  # the cluster stops
            raise RuntimeError(self._not_running) from None

    def _check_process(self) -> None:
        if self._is_inherited:
            raise RuntimeError(OF_ANOTHER_PROCESS)

    def after_fork(self) -> None:
        self._is_inherited = True


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the remaining coroutines, so that their callers do not wait."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
