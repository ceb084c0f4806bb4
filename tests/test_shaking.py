"""Stalls drawn by seed reach threads, waits, sockets, event loops and processes (support/shaking.py)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import shaking
from support.forked import Forks
from support.leftovers import FILES

KINDS = {
    "threads": "threading.Thread(target=print).start()",
    "waits": "threading.Event().wait(0.001)",
    "sockets": "left, right = socket.socketpair(); left.send(b'x'); left.close(); right.close()",
    "loops": "loop = asyncio.new_event_loop(); loop.run_until_complete(asyncio.sleep(0)); loop.close()",
    "uvloop": "loop = uvloop.new_event_loop(); loop.run_until_complete(asyncio.sleep(0)); loop.close()",
}
on_linux = pytest.mark.skipif(not FILES.exists(), reason="only Linux tells")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_stalls_only_with_a_seed(kind: str, forks: Forks) -> None:
    if kind == "uvloop":
        pytest.importorskip("uvloop")
    share = "loops" if kind == "uvloop" else kind
    imports = "asyncio, os, socket, threading" + (", uvloop" if kind == "uvloop" else "")
    program = f"""
import {imports}
from support import shaking
stalls = []
shaking._sleep = stalls.append
shaking.SHARES.update(dict.fromkeys(shaking.SHARES, 0.0), {share}=1.0)
shaking.FACTORS = (1.0,)
shaking._stalls.begin_test("7")
assert (shaking.begin() is None) == (os.environ[shaking.VARIABLE] == "")
{KINDS[kind]}
print(len(stalls) > 0)
"""
    for seed in ("", "7"):
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), shaking.VARIABLE: seed}
        done = forks.run("-c", program, env=environment)
        assert done.stdout.split() == [str(seed != "")], done.stderr


def test_the_stalls_of_a_test_take_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    slept_s: list[float] = []
    monkeypatch.setattr(shaking, "_sleep", slept_s.append)
    monkeypatch.setattr(shaking, "FACTORS", (1 / min(shaking.SHARES.values()),))
    stalls = shaking._Stalls()
    for number in range(2):
        slept_s.clear()
        stalls.begin_test(str(number))
        for _ in range(20_000):
            stalls.stall_if_due("loops")
        assert shaking.BUDGET_S <= sum(slept_s) <= shaking.BUDGET_S + shaking.LONGEST_S


class Signals:
    """The signals that were sent, and which processes are paused."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[int, int]] = []
        self.stopped: set[int] = set()
        patch.setattr(os, "kill", lambda pid, number: self.sent.append((pid, number)))
        patch.setattr(shaking, "is_stopped", lambda pid: pid in self.stopped)
        patch.setattr(shaking, "_sleep", lambda seconds: None)


def after(rounds: int) -> Callable[[float], bool]:
    left = iter([False] * rounds + [True])
    return lambda seconds: next(left)


def test_a_process_is_paused_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    signals = Signals(monkeypatch)
    monkeypatch.setattr(shaking, "descendants", lambda pid: [11, 12, os.getpid()])
    shaking.stop_processes(10, random.Random(1), after(40))
    assert {pid for pid, _ in signals.sent} == {11, 12}
    pairs = list(zip(signals.sent[::2], signals.sent[1::2], strict=True))
    assert len(pairs) == 40
    assert all(stop == (go_on[0], signal.SIGSTOP) and go_on[1] == signal.SIGCONT for stop, go_on in pairs)


def test_a_process_that_a_test_has_stopped_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    signals = Signals(monkeypatch)
    signals.stopped = {11}
    monkeypatch.setattr(shaking, "descendants", lambda pid: [11])
    shaking.stop_processes(10, random.Random(1), after(5))
    assert signals.sent == []


@on_linux
def test_a_program_that_a_test_has_started_is_among_the_descendants() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        assert program.pid in shaking.descendants(os.getpid())
        assert not shaking.is_stopped(program.pid)
        os.kill(program.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, program.pid, os.WSTOPPED)
        assert shaking.is_stopped(program.pid)
        os.kill(program.pid, signal.SIGCONT)
        program.communicate(b"\n")
    assert program.pid not in shaking.descendants(os.getpid())
    assert shaking.is_stopped(program.pid)
