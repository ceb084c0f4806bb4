"""Two programs of one group, each with its own transactional id (KIP-447). One joins during a transaction of the other,
then each dies in one and restarts. In the end all inputs have had their effect once.

Theory   Members are static, so that no rebalance waits for the session of a dead one. Each program is driven by its own
         thread: the group decides which program owns which partition.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.clients.exactly_once.chain import OUT_PARTITIONS, Outcome
from conformance.clients.exactly_once.committed import read_values
from conformance.clients.exactly_once.proxy import Proxy
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.wire import Wire

IN_PARTITIONS = 2
_EACH = 3  # inputs of a partition, each time
_LIMIT_S = 60.0
_PROGRAM_LIMIT_S = 180.0
_DEATHS = ("produced", "flushed", "consumed")  # steps: behind some of the effect, all of it, none


class Workers:
    """Programs of one client on topics of its own, behind a proxy. Use in its `with` block."""

    def __init__(self, command: tuple[Sequence[str], Path], proxy: Proxy, name: str) -> None:
        self._command = command
        self._proxy = proxy
        self._name = name
        self.inputs, self.outputs = f"{name}-workers-in", f"{name}-workers-out"
        self.topics = {self.inputs: IN_PARTITIONS, self.outputs: OUT_PARTITIONS}
        self._fed: list[str] = []
        self._done: Counter[str] = Counter()
        self._deaths: dict[str, str] = {}  # of a worker, and the step at which it dies next
        self._dead: set[str] = set()
        self._errors: list[str] = []
        self._threads: list[threading.Thread] = []
        self._programs: list[ClientProcess] = []

    def run(self) -> list[Outcome]:
        """Raises Broken if a program ends by itself, or not all is done in time."""
        try:
            return self._run()
        finally:
            for program in self._programs:
                program.kill()
            for thread in self._threads:
                thread.join(_LIMIT_S)
            for program in self._programs:
                program.__exit__(None, None, None)

    def _run(self) -> list[Outcome]:
        self._feed()
        first = self._start("first")
        message = first.hear()
        if "consumed" not in message:
            raise Broken(f"instead of what it consumed it told {message}")
        joined = self._joins()
        second = self._start("second")
        self._wait(lambda: self._joins() > joined, "the second one joins")
        first.say({"do": "commit", "die": None})
        self._drive("first", first)
        self._drive("second", second)
        self._wait_for_all()
        for death in _DEATHS:
            for who in ("first", "second"):
                self._deaths[who] = death
                self._feed()
                self._wait(lambda who=who: who in self._dead, f"{who} dies")  # type: ignore[misc]
                self._dead.discard(who)
                self._drive(who, self._start(who))
                self._wait_for_all()
        return self._read()

    def _feed(self) -> None:
        begin = len(self._fed)
        values = {
            partition: [f"{partition}-{begin + number}" for number in range(_EACH)]
            for partition in range(IN_PARTITIONS)
        }
        self._fed += [value for partition_values in values.values() for value in partition_values]
        with Wire(self._proxy.bootstrap_servers) as wire:
            wire.produce(self.inputs, values)

    def _start(self, who: str) -> ClientProcess:
        settings = {
            "group": f"{self._name}-workers",
            "instance": who,
            "id": f"{self._name}-{who}",
            "in": self.inputs,
            "out": self.outputs,
            "die": None,
        }
        command, folder = self._command
        plan = {"bootstrap": self._proxy.bootstrap_servers, "processor": settings}
        program = ClientProcess(list(command), folder, plan, _PROGRAM_LIMIT_S)
        program.__enter__()
        self._programs.append(program)
        return program

    def _drive(self, who: str, program: ClientProcess) -> None:
        thread = threading.Thread(target=self._work, args=(who, program), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self, who: str, program: ClientProcess) -> None:
        death = None
        try:
            while True:
                message = program.hear()
                if "consumed" in message:
                    death = self._deaths.pop(who, None)
                    program.say({"do": "commit", "die": death})
                elif "done" in message:
                    self._done[message["done"]] += 1
                elif "error" in message:
                    self._errors.append(f"{who} told {message['error']}")
        except Broken as how:
            if death is not None:
                self._dead.add(who)
            elif not self._errors:
                self._errors.append(f"{who}: {how}")

    def _joins(self) -> int:
        return sum(name == "JoinGroup" for name, _ in list(self._proxy.requests))

    def _wait_for_all(self) -> None:
        self._wait(lambda: self._done.keys() >= set(self._fed), "all inputs are done")

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + _LIMIT_S
        while not holds():
            if self._errors:
                raise Broken(self._errors[0])
            if time.monotonic() > limit:
                left = sorted(set(self._fed) - self._done.keys())
                raise Broken(f"it takes longer than {_LIMIT_S:.0f} s until {what}; not done: {left}")
            time.sleep(0.02)

    def _read(self) -> list[Outcome]:
        seen, written = (
            read_values(self._proxy.bootstrap_servers, self.outputs, committed=committed) for committed in (True, False)
        )
        return [
            Outcome(
                value,
                seen=[seen[partition].count(value) for partition in range(OUT_PARTITIONS)],
                written=[written[partition].count(value) for partition in range(OUT_PARTITIONS)],
            )
            for value in self._fed
        ]
