"""Every client against a cluster.

Theory   All programs run the mixed jobs, two at a time. Then the followers of every broker but the first are frozen,
         and later thawed, while all programs stand at their pause: this happens twice, not twice for each client. A
         process that is frozen does not answer clients either, so each client has its metadata and its producer id
         before: what is before the pause is delivered.
Units    _s is seconds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol, TypeVar

from conformance.clients.builds import CLIENTS, Client, NotRun, build, started
from conformance.clients.log import LogReader
from conformance.clients.plan import FROZEN, JOBS, MIXED, THAWED, Job, plan
from conformance.clients.plays import PLAYS, READ_TWICE, Play, played
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.reports import ClientReport, JobReport, job_report
from conformance.clients.stage import Stage
from conformance.clients.wire import Wire
from conformance.scenario import Topic

T = TypeVar("T")

_BROKERS = (1, 2, 3)
_FOLLOWING_BROKERS = (2, 3)
_AT_ONCE = 2
_PLAYS_AT_ONCE = 3  # they wait more than they work
_RUN_LIMIT_S = 120.0
_FROZEN_LIMIT_S = 60.0
_THAW_AFTER = 2.5  # timeouts: two requests have timed out by then


class Target(Protocol):
    """A cluster of three brokers with `auto.create.topics.enable=false`. Broker 1 leads all of its topics."""

    @property
    def bootstrap_servers(self) -> str: ...
    def create_topics(self, topics: Sequence[Topic], /) -> None: ...
    def freeze(self, broker: int, /) -> None: ...
    def thaw(self, broker: int, /) -> None: ...
    def catch_up(self, broker: int, /) -> None: ...


def run_clients(
    target: Target,
    cache: Path,
    prefix: str = "clients",
    clients: Sequence[Client] = CLIENTS,
    jobs: Sequence[Job] = JOBS,
    plays: Sequence[Play] = PLAYS,
) -> dict[str, ClientReport]:
    """Build in `cache` what is missing, run every job with every client, and read the logs.

    A client that cannot be built or started here is reported with `not_run`. If its program fails, it is reported with
    `broken`.
    """
    runs = _Runs(target, prefix, jobs, plays)
    for client in clients:
        runs.prepare(client, cache)
    runs.create_topics()
    runs.mixed()
    runs.frozen(FROZEN)
    runs.frozen(THAWED)
    runs.read_logs()
    runs.play()
    return runs.reports


class _Runs:
    def __init__(self, target: Target, prefix: str, jobs: Sequence[Job], plays: Sequence[Play]) -> None:
        self.reports: dict[str, ClientReport] = {}
        self._target = target
        self._prefix = prefix
        self._jobs = jobs
        self._plays = plays
        self._players: list[Client] = []  # the clients that can do plays
        self._commands: dict[str, tuple[list[str], Path]] = {}  # of the clients that can be run
        self._told: dict[str, dict[str, Mapping[str, Any]]] = {}  # by client and job: what the program said

    def prepare(self, client: Client, cache: Path) -> None:
        report = self.reports[client.name] = ClientReport(client.name)
        try:
            folder = build(client.folder, cache)
        except NotRun as reason:
            report.not_run = str(reason)
            return
        self._commands[client.name] = started(client, folder), folder
        self._told[client.name] = {}
        if client.plays:
            self._players.append(client)

    def create_topics(self) -> None:
        self._target.create_topics(
            [
                Topic(self._topic(client, job), job.partitions, job.replicas, {"retention.ms": "-1"} | job.configs)
                for client in self._commands
                for job in self._jobs
                if job.partitions
            ]
            + [
                Topic(f"{self._prefix}-{client.name}-{play.name}", play.partitions, 3, {"retention.ms": "-1"})
                for client in self._players
                for play in self._plays
            ]
        )

    def mixed(self) -> None:
        def run(client: str) -> None:
            with ExitStack() as stack:
                for process in self._start(client, MIXED, _RUN_LIMIT_S, stack).values():
                    self._note(client, process)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(run, self._commands))

    def frozen(self, stage: str) -> None:
        """All programs up to their pause; freeze, let them go on; thaw, after their reports or in their midst."""
        with ExitStack() as stack:
            processes: dict[str, ClientProcess] = {}
            for client in self._commands:  # one after the other: what is before the pause has short timeouts too
                for name, process in self._start(client, stage, _FROZEN_LIMIT_S, stack).items():
                    if self._attempt(client, process.await_pause):
                        processes[name] = process
            if not processes:
                return
            try:
                for broker in _FOLLOWING_BROKERS:
                    self._target.freeze(broker)
                for client, process in processes.items():
                    self._attempt(client, process.go_on)
                if stage == THAWED:
                    timeout_ms = max(job.timeout_ms for job in self._jobs if job.stage == stage)
                    time.sleep(_THAW_AFTER * timeout_ms / 1_000)
                else:
                    self._note_all(processes)
            finally:
                for broker in _FOLLOWING_BROKERS:
                    self._target.thaw(broker)
            if stage == THAWED:
                self._note_all(processes)

    def read_logs(self) -> None:
        with LogReader(self._target.bootstrap_servers) as reader:
            for client, reported_jobs in self._told.items():
                for job in self._jobs:
                    if self.reports[client].broken:
                        break
                    report = self._attempt(client, partial(self._report, reader, client, job, reported_jobs))
                    if report is not None:
                        self.reports[client].jobs[job.name] = report

    def play(self) -> None:
        """All plays of groups and administrators, two at a time: groups and topics are their own."""
        if not self._players or not self._plays:
            return
        with Wire(self._target.bootstrap_servers) as wire:
            wire.await_coordinator(f"{self._prefix}-group")
        settled = threading.Lock()

        def settle() -> None:
            with settled:
                for broker in _BROKERS:
                    self._target.catch_up(broker)

        def run(of: tuple[Play, Client]) -> None:
            play, client = of
            if self.reports[client.name].broken:
                return
            topic = f"{self._prefix}-{client.name}-{play.name}"
            stage = Stage(self._target.bootstrap_servers, self._commands[client.name], topic, play.settings, settle)
            report = played(play, stage)
            if play.name in client.rereads:
                report = replace(report, seen={k: v for k, v in report.seen.items() if k != READ_TWICE})
            self.reports[client.name].jobs[play.name] = report

        with ThreadPoolExecutor(_PLAYS_AT_ONCE) as pool:
            list(pool.map(run, product(self._plays, self._players)))

    def _report(
        self, reader: LogReader, client: str, job: Job, reported_jobs: Mapping[str, Mapping[str, Any]]
    ) -> JobReport:
        """The report of one job. Raises Broken if the program did not tell of each record, or the log is never
        committed."""
        reported = reported_jobs.get(job.name, {})
        if reported.get("unsupported"):
            return job_report(job, reported, {})
        results = reported.get("results") or ()
        if len(results) != len(job.records):
            raise Broken(f"it told of {len(results)} of {len(job.records)} records of the job {job.name}")
        if not job.partitions:
            return job_report(job, reported, {})
        counts = Counter(
            record.partition for record, result in zip(job.records, results, strict=True) if "error" not in result
        )
        try:
            return job_report(job, reported, reader.read(self._topic(client, job), counts))
        except TimeoutError as late:
            raise Broken(str(late)) from late

    def _start(self, client: str, stage: str, limit_s: float, stack: ExitStack) -> dict[str, ClientProcess]:
        """The running program by its client, or nothing if it could not be given its plan."""
        command, folder = self._commands[client]
        jobs = [job for job in self._jobs if job.stage == stage]
        if not jobs or self.reports[client].broken:
            return {}
        given = plan(self._target.bootstrap_servers, jobs, f"{self._prefix}-{client}")
        process = self._attempt(client, lambda: stack.enter_context(ClientProcess(command, folder, given, limit_s)))
        return {client: process} if process is not None else {}

    def _note_all(self, processes: Mapping[str, ClientProcess]) -> None:
        for client, process in processes.items():
            self._note(client, process)

    def _note(self, client: str, process: ClientProcess) -> None:
        report = self._attempt(client, process.report)
        if report is not None:
            self.reports[client].version = report["version"]
            self._told[client] |= {job["name"]: job for job in report["jobs"]}

    def _attempt(self, client: str, do: Callable[[], T]) -> T | None:
        try:
            return do()
        except Broken as how:
            self.reports[client].broken = str(how)
            return None

    def _topic(self, client: str, job: Job) -> str:
        return f"{self._prefix}-{client}-{job.name}"
