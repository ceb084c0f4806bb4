"""Commands of `fakebroker` that end by themselves, run in this process, which has imported the package already."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple

import pytest

from fakebroker.cli import main
from support.watchdog import LIMIT_S


class Result(NamedTuple):
    exit_code: object
    stdout: str
    stderr: str


def run(*arguments: str, columns: int = 200) -> Result:
    """Run the console script."""
    out, err = StringIO(), StringIO()
    # A mistake that is not noticed would serve for ever: end it.
    alarm = threading.Timer(LIMIT_S, os.kill, (os.getpid(), signal.SIGTERM))
    alarm.start()
    try:
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["fakebroker", *arguments])
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "dumb")
            with pytest.raises(SystemExit) as ended:
                main()
    finally:
        alarm.cancel()
        alarm.join()
    return Result(ended.value.code or 0, out.getvalue(), err.getvalue())
