"""The stage of a job of groups or of administrators: a topic with records, a group, and the programs of one client.

Theory   Chance decides which member gets which partition, and when. The number of partitions of each and the order of
         events are fixed. So a play waits for what must come, and notes what both clusters must agree on. What does not
         come in time is an error of the play, also if it comes on neither side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from conformance.clients.members import Member, read_values, shares
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.wire import Wire

PARTITIONS = 6
SESSION_MS, HEARTBEAT_MS = 3_000, 500  # short, but a JVM that starts beside it may take a second
_PATIENCE_S = 40.0
_LIMIT_S = 150.0
_LOOK_S = 0.02


class Stage:
    """One job of one client. `seen` is what is compared, in the order in which it was noted."""

    def __init__(
        self,
        bootstrap_servers: str,
        command: tuple[list[str], Path],
        topic: str,
        settings: Mapping[str, Any],
        settle: Callable[[], None],
    ) -> None:
        self._bootstrap = bootstrap_servers
        self._command = command
        self.topic = topic
        self.group = f"{topic}-group"
        self.settings = dict(settings)
        self._settle = settle
        self._stack = ExitStack()
        self._members: list[Member] = []
        self.seen: dict[str, object] = {}

    @contextmanager
    def open(self) -> Iterator[Stage]:
        """Run the programs as long as this context is open."""
        with self._stack:
            self._wire = self._stack.enter_context(Wire(self._bootstrap))
            if self.settings.get("protocol") == "consumer":  # there the broker decides it
                session_ms = self.settings.get("session_ms", SESSION_MS)
                self._wire.configure_group(self.group, {"consumer.session.timeout.ms": str(session_ms)})
                self._settle()
            yield self

    def see(self, what: str, value: object) -> None:
        self.seen[what] = value

    def feed(self, word: str, per_partition: int = 5, partitions: int = PARTITIONS) -> set[str]:
        """Produce so many records to each partition, and return their values."""
        values = {
            partition: [f"{word}-{partition}-{number}" for number in range(per_partition)]
            for partition in range(partitions)
        }
        self._wire.produce(self.topic, values)
        return {value for of_one in values.values() for value in of_one}

    def member(self, instance: str | None = None, reset: str = "earliest") -> Member:
        """A new one, that has begun to join."""
        settings = {
            "group": self.group,
            "topic": self.topic,
            "protocol": "classic",
            "assignor": "range",
            "instance": instance,
            "reset": reset,
            "session_ms": SESSION_MS,
            "heartbeat_ms": HEARTBEAT_MS,
        } | self.settings
        member = Member(self._start({"member": settings}))
        self._members.append(self._stack.enter_context(member))
        return member

    def administrator(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Return a function that calls the client's administrator. It returns `result`, or `error`, or `unsupported`.
        Each call waits until all brokers know of the call before."""
        process = self._stack.enter_context(self._start({"administrator": True}))

        def ask(call: Mapping[str, Any]) -> dict[str, Any]:
            self._settle()
            process.say(call)
            return process.hear()

        return ask

    def await_that(self, what: str, holds: Callable[[], bool]) -> None:
        """Raises Broken if that does not come."""
        limit = time.monotonic() + _PATIENCE_S
        while not holds():
            for member in self._members:
                member.check()
            if time.monotonic() > limit:
                states = [(member.assigned, len(member.read), member.errors) for member in self._members]
                raise Broken(f"{what}: not within {_PATIENCE_S:g} s; members have, have read, were told {states}")
            time.sleep(_LOOK_S)

    def await_shares(self, members: Sequence[Member], sizes: list[int]) -> None:
        self.await_that(f"shares of {sizes}", lambda: shares(members) == sizes)

    def await_values(self, members: Sequence[Member], values: set[str]) -> None:
        self.await_that(f"{len(values)} records", lambda: values <= read_values(members).keys())

    def commit(self, members: Sequence[Member]) -> None:
        for member in members:
            before = member.commits
            member.commit()
            self.await_that("a commit", lambda member=member, before=before: member.commits > before)  # type: ignore[misc]

    def leave(self, member: Member) -> None:
        member.leave()
        self.await_that("the end of a member", lambda: member.closed)

    def await_heartbeats(self) -> None:
        """Wait until every member has heard of a change by its heartbeat."""
        time.sleep(3 * HEARTBEAT_MS / 1_000)

    def _start(self, plan: Mapping[str, Any]) -> ClientProcess:
        command, folder = self._command
        return ClientProcess(command, folder, {"bootstrap": self._bootstrap, **plan}, _LIMIT_S)
