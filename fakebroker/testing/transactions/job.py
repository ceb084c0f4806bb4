"""What a simulated producer has to do, and how far it has come."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.testing.transactions.frames import Place


class Job(NamedTuple):
    """A transaction to do: batches of values, how it ends, and what its group then has read."""

    writes: tuple[tuple[Place, tuple[bytes, ...]], ...]
    commits: bool
    offsets: Mapping[Place, int] = {}


class Transaction:
    """Under way. `has_begun`: the broker may know of it; `is_unsure`: some of its records may still be under way."""

    def __init__(self, name: str, job: Job) -> None:
        self.name, self.job = name, job
        self.left = deque(job.writes)
        self.offsets_left = bool(job.offsets)
        self.added: set[Place] = set()
        self.has_added_group = self.has_begun = self.is_unsure = self.is_given_up = False
        self.commits = job.commits
        self.end_asked = 0  # so often
        self.since_ms = -1  # since when it tries what it does now
