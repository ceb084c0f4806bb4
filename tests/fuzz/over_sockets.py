"""Sessions of the fuzzer over real sockets: no bug in the log, and a quiet client is served after each."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

from support.raw_client import RawClient
from support.requests import api_versions
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster

from .session import CLIENTS, CONFIG, Outcome, Plan


class _Errors(logging.Handler):
    """The bugs that the broker's log reports."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


def run(plans: list[Plan]) -> list[Outcome]:
    """One cluster for all."""
    errors = _Errors()
    logger = logging.getLogger("fakebroker")
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(errors)
    try:
        with FakeCluster(config=CONFIG) as kafka:
            kafka.create_topic("t", 2, 3)
            with RawClient(kafka.endpoints[0]) as quiet:
                return [_run(plan, kafka, quiet, errors) for plan in plans]
    finally:
        logger.removeHandler(errors)
        logger.propagate = propagates


def _run(plan: Plan, kafka: FakeCluster, quiet: RawClient, errors: _Errors) -> Outcome:
    outcome = Outcome(frames=len(plan.steps))
    for number in range(CLIENTS):
        data = b"".join(step.data for step in plan.steps if step.client == number)
        endpoint = kafka.endpoints[number]
        with socket.create_connection((endpoint.host, endpoint.port), timeout=LIMIT_S) as sock:
            sock.setblocking(False)
            with suppress(OSError):
                while data:
                    data = data[sock.send(data) :]
        try:
            quiet.ask(api_versions(version=0))
        except (OSError, EOFError) as error:
            outcome.problem, outcome.text = "bug", f"a quiet client is not served: {error!r}"
    if errors.texts:
        outcome.problem, outcome.text = "bug", errors.texts.pop(0)
        errors.texts.clear()
    return outcome
