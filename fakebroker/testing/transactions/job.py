"""The work of a simulated producer, and its progress."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.testing.transactions.frames import Place


class Job(NamedTuple):
    """A transaction to perform: batches of values, its end, and the offsets to commit for the producer's group."""

    writes: tuple[tuple[Place, tuple[bytes, ...]], ...]
    commits: bool
    offsets: Mapping[Place, int] = {}


class Transaction:
    """A transaction in progress. `has_begun`: the broker may know of it; `is_unsure`: some records may still be in
    flight."""

    def __init__(self, name: str, job: Job) -> None:
        self.name, self.job = name, job
        self.left = deque(job.writes)
        self.offsets_left = bool(job.offsets)
        self.added: set[Place] = set()
        self.has_added_group = self.has_begun = self.is_unsure = self.is_given_up = False
        self.commits = job.commits
        self.end_asked = 0  # number of times
        self.since_ms = -1  # start of the current attempt
