"""Every command on one side."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.tools.command import KCAT, MAINS, Chapter, Command, Open, Stop
from conformance.tools.jvm import Jvm, Result
from conformance.tools.open_transaction import open_transaction

_AGAIN_S = 0.2
_UNTIL_LIMIT_S = 20.0
_GRACE_S, _PATIENCE = 5.0, 5  # so much, and so many times as long as on the other side
_UNSUPPORTED = "UnsupportedVersionException"  # the next time it will be no other


@dataclass(frozen=True)
class Ran:
    """The result of a command on a side. In its output the brokers are BROKER1 to BROKER3, and the folder is
    {folder}."""

    chapter: str
    line: str
    status: int
    out: str
    err: str
    took_s: float


def run_chapter(
    bootstrap: str,
    chapter: Chapter,
    jvm: Jvm,
    done: Callable[[Ran], None] = lambda ran: None,
    before: Sequence[Ran] = (),
) -> list[Ran]:
    """All commands of a chapter in their order. With `before`, what the other side did, none is given much more time
    than it took there: what fails here should not take minutes."""
    ran_commands = []
    took_s = {ran.line: ran.took_s for ran in before}
    with tempfile.TemporaryDirectory(prefix="fakebroker-tools-") as folder:
        on = _Chapter(chapter, bootstrap, folder, jvm, took_s)
        on.write_files()
        try:
            for step in chapter.steps:
                if (ran := on.run(step)) is not None:
                    ran_commands.append(ran)
                    done(ran)
        finally:
            on.stop_all()
    return ran_commands


class _Chapter:
    def __init__(self, chapter: Chapter, bootstrap: str, folder: str, jvm: Jvm, took_s: Mapping[str, float]) -> None:
        self._name = chapter.name
        self._files = chapter.files
        self._kept: dict[str, str] = {}
        self._bootstrap = bootstrap
        self._folder = folder
        self._jvm = jvm
        self._took_s = took_s
        self._background: dict[str, tuple[Command, float]] = {}  # with when it began

    def run(self, step: Command | Stop | Open) -> Ran | None:
        if isinstance(step, Open):
            open_transaction(self._bootstrap, step)
            return None
        if isinstance(step, Stop):
            command, began = self._background.pop(step.background)
            result = self._jvm.stop(step.background)
            if result.status is None:
                result = self._jvm.wait(step.background, self._limit_s(command))
            return self._ran(command, result, time.monotonic() - began)
        began = time.monotonic()
        if step.background:
            self._begin(step, step.background, more=True)
            self._background[step.background] = step, began
            while time.monotonic() < began + self._limit_s(step, _UNTIL_LIMIT_S):
                so_far = self._jvm.peek(step.background)
                if re.search(step.until, so_far.out) or so_far.status is not None:
                    break
                time.sleep(_AGAIN_S)
            return None
        while True:
            result = self._once(step)
            if (
                not step.until
                or re.search(step.until, result.out + result.err)
                or _UNSUPPORTED in result.out + result.err
            ):
                break
            if time.monotonic() > began + self._limit_s(step, _UNTIL_LIMIT_S):
                break
            time.sleep(_AGAIN_S)
        if step.keep:
            self._keep(step, result)
        return self._ran(step, result, time.monotonic() - began)

    def write_files(self) -> None:
        for name, text in self._files.items():
            (Path(self._folder) / name).write_text(self._filled(text))

    def _keep(self, command: Command, result: Result) -> None:
        for name, expression in command.keep.items():
            if (match := re.search(expression, result.out)) is not None:
                self._kept[name] = match[1]
        self.write_files()

    def _filled(self, text: str) -> str:
        for name, value in self._kept.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _arguments(self, command: Command) -> list[str]:
        return [self._filled(word) for word in command.arguments(self._bootstrap, self._folder)]

    def _limit_s(self, command: Command, most_s: float | None = None) -> float:
        """Return how long a command may take, by its time on the other side with all its tries."""
        most_s = command.limit_s if most_s is None else most_s
        took_s = self._took_s.get(command.line)
        return most_s if took_s is None else min(most_s, _GRACE_S + _PATIENCE * took_s)

    def stop_all(self) -> None:
        for name in self._background:
            self._jvm.stop(name)

    def _begin(self, command: Command, name: str, *, more: bool = False) -> None:
        self._jvm.begin(name, MAINS[command.tool], self._arguments(command), command.stdin, more=more)

    def _once(self, command: Command) -> Result:
        if command.tool != KCAT:
            self._begin(command, "")
            return self._jvm.wait("", self._limit_s(command))
        program = shutil.which(KCAT)
        assert program is not None, "chapters of kcat are left out where there is none"
        try:
            done = subprocess.run(
                [program, *self._arguments(command)],
                input=command.stdin.encode(),
                capture_output=True,
                timeout=self._limit_s(command),
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return Result(-1, (late.stdout or b"").decode(), (late.stderr or b"").decode())
        return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def _ran(self, command: Command, result: Result, took_s: float) -> Ran:
        assert result.status is not None
        out, err = (self._neutral(text) for text in (result.out, result.err))
        return Ran(self._name, command.line, result.status, out, err, round(took_s, 2))

    def _neutral(self, text: str) -> str:
        text = text.replace(self._folder, "{folder}")
        for name, value in self._kept.items():
            text = text.replace(value, f"{{{name}}}")
        for number, address in enumerate(self._bootstrap.split(","), 1):
            text = text.replace(address, f"BROKER{number}")
        return text
