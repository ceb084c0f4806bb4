"""Common parts of the programs: the plan they read, the pause, the report they print (../README.md)."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp_ms: int


@dataclass(frozen=True)
class Job:
    name: str
    topic: str
    acks: int  # 0, 1, or -1 for all
    idempotent: bool
    codec: str  # none, gzip, snappy, lz4, zstd
    linger_ms: int
    timeout_ms: int  # of one produce request
    block_ms: int  # how long the topic and the partition may be looked for
    retries: bool
    pause_before: int | None  # the index of a record
    records: list[Record]

    @property
    def delivery_timeout_ms(self) -> int:
        """Return how long the client may try in all."""
        return self.timeout_ms * 20 if self.retries else self.timeout_ms + 4_000


Result = dict[str, object]  # {"partition", "offset"} or {"error"}


class Unsupported(Exception):
    """The client has no such feature; the text says which."""


def delivered(partition: int | None, offset: int | None) -> Result:
    return {"partition": partition, "offset": offset}


def failed(error: BaseException) -> Result:
    return {"error": type(error).__name__}


def pause() -> None:
    """Tell the harness that everything up to here is delivered, and wait for its word."""
    print("paused", flush=True)
    sys.stdin.readline()


def run(
    client: str,
    version: str,
    run_job: Callable[[str, Job], list[Result]],
    join: Callable[[str, dict[str, Any]], None] | None = None,
    administer: Callable[[str], None] | None = None,
) -> None:
    """Read the plan from the first line of stdin. Run its jobs and print the report as the last line of stdout, or be
    the member or the administrator that it wants."""
    plan = json.loads(sys.stdin.readline())
    if "member" in plan and join is not None:
        join(plan["bootstrap"], plan["member"])
    elif "administrator" in plan and administer is not None:
        administer(plan["bootstrap"])
    else:
        _run_jobs(client, version, plan, run_job)


def _run_jobs(client: str, version: str, plan: dict[str, Any], run_job: Callable[[str, Job], list[Result]]) -> None:
    reports: list[dict[str, object]] = []
    for described in plan["jobs"]:
        job = _job(described)
        try:
            reports.append({"name": job.name, "results": run_job(plan["bootstrap"], job)})
        except Unsupported as reason:
            reports.append({"name": job.name, "unsupported": str(reason)})
    print(json.dumps({"client": client, "version": version, "jobs": reports}), flush=True)


def _job(described: dict[str, Any]) -> Job:
    records = [
        Record(
            record["partition"],
            _bytes(record["key"]),
            _bytes(record["value"]),
            [(name, _bytes(value)) for name, value in record["headers"]],
            record["timestamp_ms"],
        )
        for record in described["records"]
    ]
    return Job(**{**described, "records": records})


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
