"""A signal that comes while `serve` stops: it ends the process at once, and the exit status names it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support import doses
from support.serving import Serving
from support.watchdog import LIMIT_S, wait_until

NEVER_STOPS = """
import asyncio, pathlib
from fakebroker.server.async_cluster import AsyncFakeCluster
async def stop(self):
    pathlib.Path({!r}).touch()
    await asyncio.Event().wait()
AsyncFakeCluster.stop = stop
"""
PAIRS = [(first, second) for first in ("SIGTERM", "SIGINT") for second in ("SIGTERM", "SIGINT")]


@pytest.mark.parametrize(("first", "second"), doses.nightly_but([("SIGTERM", "SIGINT")], PAIRS))
def test_the_process_dies_of_the_second_signal(tmp_path: Path, first: str, second: str) -> None:
    stopping = tmp_path / "stopping"
    with Serving("--port", "0", "--brokers", "1", prelude=NEVER_STOPS.format(str(stopping))) as serving:
        serving.process.send_signal(signal.Signals[first])
        wait_until(stopping.exists, "the first signal")
        serving.process.send_signal(signal.Signals[second])

        _, err = serving.process.communicate(timeout=LIMIT_S)
    assert (serving.process.returncode, err) == (-signal.Signals[second], "")
