"""Fuzz the cluster: frames of every API and version, mutated, to the source and to the compiled copy.

    python -m tests.fuzz [--minutes M | --frames N] [--seed S] [--compiled FOLDER] [--plain-share F] [--jobs J]

A session is some 200 frames to a fresh cluster in virtual time. With --compiled all run in the compiled copy, and a
share of them in the source as well: both must answer the same, byte for byte. Now and then sessions go over sockets.
Looked for: bugs that the broker reports, broken invariants, a frame that takes long or much memory, a process that ends
or hangs, a difference. What is found is shrunk and put into tests/fuzz/corpus, which `pytest tests/fuzz` replays; the
exit status is then 1. The same seed runs the same sessions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from random import SystemRandom
from typing import Any

from support.any_request import served

from . import TESTS
from . import pool as pools
from .session import Plan, plan
from .shrink import shrunk

ROOT = Path(__file__).resolve().parent.parent.parent
AT_ONCE = 10  # sessions
SOCKETS_EVERY = 40  # batches of sessions
TELL_EVERY_S = 10.0
MOST_FINDS = 10


def environment(compiled: str) -> dict[str, str]:
    """Return the environment of a process that imports the compiled copy, or the source."""
    parts = [*filter(None, [compiled]), str(ROOT), TESTS]
    return os.environ | {"PYTHONPATH": os.pathsep.join(parts), "PYTHONSAFEPATH": "1"}


def is_compiled(folder: str) -> bool:
    """A copy may be a plain one, where there is no C compiler."""
    command = [sys.executable, "-c", "import fakebroker; print(fakebroker.COMPILED)"]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


class Worker:
    """A process; another one after it has ended or was killed."""

    def __init__(self, compiled: str, pool_file: Path, seed: int) -> None:
        self._environment = environment(compiled)
        self._arguments = [str(pool_file), str(seed)]
        self._is_compiled = bool(compiled)
        self._process: subprocess.Popen[str] | None = None
        self.limit_s = 120.0

    def ask(self, question: dict[str, Any]) -> list[dict[str, Any]] | None:
        """None if the process ended or was silent for too long; it was killed then."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(self.limit_s, process.kill)
        watchdog.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            self.close()
            return None
        answer: list[dict[str, Any]] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[str]:
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *self._arguments],
            env=self._environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert facts["compiled"] == self._is_compiled
        return process

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


class Fuzzing:
    """The state that all threads share."""

    def __init__(self, options: argparse.Namespace, pool_file: Path) -> None:
        self.options = options
        self.pool_file = pool_file
        self.pool = pools.load(pool_file)
        self.began = time.monotonic()
        self.frames = self.sessions = self.compared = self.over_sockets = self.answers = self.closed = 0
        self.covered: Counter[tuple[int, int]] = Counter()
        self.finds: list[str] = []
        self._next = 0
        self._lock = threading.Lock()
        self.stopping = False

    def next_batch(self) -> int | None:
        with self._lock:
            seconds = time.monotonic() - self.began
            over = self.frames >= self.options.frames if self.options.frames else seconds >= self.options.minutes * 60
            if over or self.stopping or len(self.finds) >= MOST_FINDS:
                return None
            self._next += 1
            return self._next - 1

    def count(self, results: list[dict[str, Any]]) -> None:
        with self._lock:
            self.sessions += len(results)
            for result in results:
                self.frames += result["frames"]
                self.answers += result["answers"]
                self.closed += result["closed"]
                for key, version, count in result["covered"]:
                    self.covered[key, version] += count

    def run(self) -> None:
        """One thread: a worker of each kind, and as many batches as there is time for."""
        plain = Worker("", self.pool_file, self.options.seed)
        fast = Worker(self.options.compiled, self.pool_file, self.options.seed) if self.options.compiled else plain
        try:
            while (batch := self.next_batch()) is not None:
                self._batch(batch, fast, plain)
        finally:
            fast.close()
            plain.close()

    def _batch(self, batch: int, fast: Worker, plain: Worker) -> None:
        numbers = [batch * AT_ONCE, (batch + 1) * AT_ONCE]
        if batch % SOCKETS_EVERY == SOCKETS_EVERY - 1:
            answers = fast.ask({"sockets": numbers})
            with self._lock:
                self.over_sockets += AT_ONCE
            self._look(answers, numbers, fast, "over sockets")
            return
        results = fast.ask({"sessions": numbers})
        self._look(results, numbers, fast, "")
        if results is None:
            return
        self.count(results)
        every = max(1, round(1 / self.options.plain_share)) if self.options.plain_share else 0
        if fast is plain or not every or batch % every:
            return
        others = plain.ask({"sessions": numbers})
        self._look(others, numbers, plain, "in the source")
        for one, other in zip(results, others or [], strict=False):
            if not one["problem"] and not other["problem"] and one["digest"] != other["digest"]:
                self._differs(one["number"], fast, plain)
        with self._lock:
            self.compared += AT_ONCE

    def _look(self, results: list[dict[str, Any]] | None, numbers: Sequence[int], worker: Worker, where: str) -> None:
        if results is None:
            self._tell("ended or hung", where, f"sessions {numbers[0]} to {numbers[1] - 1}", None)
            return
        for result in results:
            if not (problem := result["problem"]):
                continue
            made = plan(self.pool, self.options.seed, result["number"])
            if where != "over sockets":
                made = shrunk(made, _same_problem(worker, problem))
            self._tell(problem, where, result["text"], made)

    def _differs(self, number: int, fast: Worker, plain: Worker) -> None:
        made = plan(self.pool, self.options.seed, number)

        def differs(candidate: Plan) -> bool:
            one, other = (worker.ask({"plan": candidate.to_text()}) for worker in (fast, plain))
            return one is not None and other is not None and one[0]["digest"] != other[0]["digest"]

        self._tell("differs", "", f"session {number}", shrunk(made, differs))

    def _tell(self, problem: str, where: str, text: str, made: Plan | None) -> None:
        name = ""
        if made is not None:
            content = made.to_text()
            name = f"{problem}-{blake2b(content.encode(), digest_size=5).hexdigest()}.json"
            (self.options.corpus / name).write_text(content)
        with self._lock:
            self.finds.append(f"{problem} {where}".strip())
            print(f"fuzz: FOUND {problem} {where} {name}\n{text}", file=sys.stderr, flush=True)

    def line(self) -> str:
        seconds = time.monotonic() - self.began
        known = {(api.key, version) for api, version in served()}
        compared = f"{self.compared:,} compared with the source" if self.options.compiled else "only the source"
        return (
            f"fuzz: {self.frames:,} frames in {seconds:,.0f} s ({self.frames / max(seconds, 0.1):,.0f}/s), "
            f"{len(known & self.covered.keys())} of {len(known)} APIs x versions, {self.answers:,} answers, "
            f"{self.closed:,} connections closed; {self.sessions:,} sessions, {compared}, {self.over_sockets:,} over "
            f"sockets; {len(self.finds)} finds; seed {self.options.seed}"
        )


def _same_problem(worker: Worker, problem: str) -> Callable[[Plan], bool]:
    def has(candidate: Plan) -> bool:
        results = worker.ask({"plan": candidate.to_text()})
        return results is not None and results[0]["problem"] == problem

    return has


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--frames", type=int, default=0, help="so many instead of so long")
    parser.add_argument("--seed", type=int, default=None, help="another one each time by default")
    parser.add_argument("--compiled", default="", metavar="FOLDER", help="where a compiled copy is")
    parser.add_argument("--plain-share", type=float, default=0.2, help="of what is compared with the source")
    parser.add_argument("--corpus", type=Path, default=Path(__file__).with_name("corpus"), help="where finds are put")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(argv)
    if options.seed is None:
        options.seed = SystemRandom().randrange(1 << 30)
    return options


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    if options.compiled and not is_compiled(options.compiled):
        print(f"fuzz: {options.compiled} is not compiled; only the source is fuzzed", file=sys.stderr)
        options.compiled = ""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        pool_file = Path(folder) / "pool.json"
        pools.draw(options.seed).save(pool_file)
        fuzzing = Fuzzing(options, pool_file)
        threads = [threading.Thread(target=fuzzing.run) for _ in range(options.jobs)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                threads[0].join(TELL_EVERY_S)
                for thread in threads[1:]:
                    thread.join(0.01 if threads[0].is_alive() else None)
                if threads[0].is_alive():
                    print(fuzzing.line(), file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            fuzzing.stopping = True
            for thread in threads:
                thread.join()
    print(fuzzing.line(), flush=True)
    return 1 if fuzzing.finds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
