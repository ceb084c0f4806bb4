"""Reports of what a client saw of a cluster and what is in the logs; and the comparison of two clusters.

Theory   A client reports what it told the application; the log tells what is true. A report holds both, so that two
         clusters with equal reports look the same to the client and treat its records the same. What may differ between
         two runs is left out, not compared loosely: times, ids of producers, where batches end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Any, TypeAlias

from conformance.clients.log import LoggedRecord
from conformance.clients.plan import Job
from conformance.transcripts.differences import CLIENT_RULES
from conformance.transcripts.rule import Rule

_SHOWN = 300  # characters of a value

Place: TypeAlias = tuple[int | None, int | None]  # partition and offset, as far as the client tells them
Log: TypeAlias = Mapping[int, Sequence[LoggedRecord]]  # by partition


@dataclass(frozen=True)
class JobReport:
    """unsupported   why the client cannot do the job, or None
    results       one for each record: its place, or the error by the client's own name
    log           the records of each partition
    misplaced     acknowledged records that are not in the log where the client says, or not as they were sent
    seen          what a play (plays.py) saw, by what it is about
    broken        how a play ended that did not come to its end
    """

    unsupported: str | None
    results: list[Place | str] = field(default_factory=list)
    log: Log = field(default_factory=dict)
    misplaced: list[str] = field(default_factory=list)
    seen: Mapping[str, object] = field(default_factory=dict)
    broken: str | None = None


@dataclass
class ClientReport:
    """not_run   the client cannot be run here: why
    broken    its program ended without a report: how
    """

    client: str
    version: str | None = None
    not_run: str | None = None
    broken: str | None = None
    jobs: dict[str, JobReport] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A difference in what one client saw in one job (or in all of them, if the job is ""), and where in it. `reason`
    explains an allowed difference. None means that it is not allowed."""

    client: str
    job: str
    where: str
    kafka: str
    ours: str
    reason: str | None = None

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.client} {self.job} {self.where}: Kafka {self.kafka}, ours {self.ours}{reason}"


def job_report(job: Job, reported: Mapping[str, Any], log: Log) -> JobReport:
    """The report of one job from what the program told of it, and the log of its topic."""
    results = [_result(result) for result in reported.get("results") or ()]
    return JobReport(reported.get("unsupported"), results, log, misplaced(job, results, log))


def compare(
    kafka: Mapping[str, ClientReport], ours: Mapping[str, ClientReport], rules: Sequence[Rule] = CLIENT_RULES
) -> list[Difference]:
    """Everything that any client saw differently.

    A client that was run on neither side gives nothing: `not_run` says so in both reports. A broken program is a
    difference even if it broke on both sides. So is a rule for a difference that is no longer there.
    """
    return [
        difference
        for client in sorted({*kafka, *ours})
        for difference in _Comparison(client, rules).differences(
            kafka.get(client, ClientReport(client)), ours.get(client, ClientReport(client))
        )
    ]


def rows(
    kafka: Mapping[str, ClientReport], ours: Mapping[str, ClientReport], *, rules: Sequence[Rule] = CLIENT_RULES
) -> list[dict[str, str]]:
    """A row for each client and job: `client`, `version`, `job`, `outcome` and `why`.

    The outcome is "same", "different", "explained" (different, and that may be), "unsupported" by the client, or, with
    "" for the job, "not run".
    """
    differences = compare(kafka, ours, rules)
    job_rows: list[dict[str, str]] = []
    for client, report in kafka.items():
        own = [difference for difference in differences if difference.client == client]
        if report.not_run:
            job_rows.append(_row(client, None, "", "not run", report.not_run))
            continue
        for job in dict.fromkeys(["", *report.jobs, *(difference.job for difference in own)]):
            outcome, why = _outcome(report.jobs.get(job), [difference for difference in own if difference.job == job])
            if job or outcome != "same":
                job_rows.append(_row(client, report.version, job, outcome, why))
    return job_rows


def misplaced(job: Job, results: Sequence[Place | str], log: Log) -> list[str]:
    """Acknowledged records that are not where the client says, or not as they were sent. acks=0 acknowledges nothing,
    whatever a client says."""
    if job.acks == 0:
        return []
    problems = []
    for index, (sent, result) in enumerate(zip(job.records, results, strict=False)):
        if isinstance(result, str) or result[1] is None or result[1] < 0:
            continue
        partition, offset = result
        at = [record for record in log.get(sent.partition, ()) if record.offset == offset]
        if partition != sent.partition or len(at) != 1:
            problems.append(f"record {index} is not at {partition}:{offset}")
            continue
        stored = replace(at[0].record, partition=sent.partition)
        if at[0].broker_time:
            stored = replace(stored, timestamp_ms=sent.timestamp_ms)
        if stored != sent:
            problems.append(f"record {index} was sent as {sent}, and is {stored}")
    return problems


def _outcome(report: JobReport | None, differences: Sequence[Difference]) -> tuple[str, str]:
    unexplained = [difference for difference in differences if not difference.reason]
    if unexplained:
        return "different", "; ".join(
            f"{difference.where}: Kafka {difference.kafka}, ours {difference.ours}" for difference in unexplained
        )
    if differences:
        return "explained", "; ".join(dict.fromkeys(difference.reason or "" for difference in differences))
    if report is not None and report.unsupported:
        return "unsupported", report.unsupported
    return "same", ""


def _row(client: str, version: str | None, job: str, outcome: str, why: str) -> dict[str, str]:
    return {"client": client, "version": version or "", "job": job, "outcome": outcome, "why": why}


def _result(reported: Mapping[str, Any]) -> Place | str:
    if "error" in reported:
        return str(reported["error"])
    return reported.get("partition"), reported.get("offset")


class _Comparison:
    def __init__(self, client: str, rules: Sequence[Rule]) -> None:
        self._client = client
        self._rules = rules
        self._applied: set[str] = set()  # reasons

    def differences(self, kafka: ClientReport, ours: ClientReport) -> Iterator[Difference]:
        for name in ("version", "not_run"):
            yield from self._values("", name, getattr(kafka, name), getattr(ours, name))
        if kafka.broken or ours.broken:  # also if both: nothing was compared
            yield Difference(self._client, "", "broken", _shown(kafka.broken), _shown(ours.broken))
        for job in {**kafka.jobs, **ours.jobs}:
            theirs, mine = kafka.jobs.get(job), ours.jobs.get(job)
            if theirs is None or mine is None:
                yield from self._values(job, "report", _there(theirs), _there(mine))
            else:
                yield from self._jobs(job, theirs, mine)
        if kafka.jobs and ours.jobs:
            for rule in self._rules:
                if fnmatchcase(self._client, rule.case.split("/")[0]) and rule.reason not in self._applied:
                    yield Difference(
                        self._client, "", rule.path, "is no longer different", f"has a rule: {rule.reason}"
                    )

    def _jobs(self, job: str, kafka: JobReport, ours: JobReport) -> Iterator[Difference]:
        yield from self._values(job, "unsupported", kafka.unsupported, ours.unsupported)
        if kafka.broken or ours.broken:
            yield Difference(self._client, job, "broken", _shown(kafka.broken), _shown(ours.broken))
        for where, theirs, mine in (
            ("result of record", kafka.results, ours.results),
            ("misplaced", kafka.misplaced, ours.misplaced),
        ):
            for index, (their, my) in enumerate(zip_longest(theirs, mine, fillvalue="nothing")):
                yield from self._values(job, f"{where} {index}", their, my)
        for what in dict.fromkeys([*kafka.seen, *ours.seen]):
            yield from self._values(job, what, kafka.seen.get(what, "nothing"), ours.seen.get(what, "nothing"))
        for partition in sorted({*kafka.log, *ours.log}):
            logs = [_columns(report.log.get(partition, ())) for report in (kafka, ours)]
            for name in logs[0]:
                yield from self._values(job, f"log of partition {partition}: {name}", logs[0][name], logs[1][name])

    def _values(self, job: str, where: str, kafka: object, ours: object) -> Iterator[Difference]:
        if kafka == ours:
            return
        case = f"{self._client}/{job}"
        reason = next((rule.reason for rule in self._rules if rule.allows(case, where, kafka, ours)), None)
        if reason is not None:
            self._applied.add(reason)
        yield Difference(self._client, job, where, _shown(kafka), _shown(ours), reason)


def _columns(log: Sequence[LoggedRecord]) -> dict[str, list[object]]:
    """Return the compared columns of a log, by name. The broker's time is not compared."""
    return {
        "offset": [logged.offset for logged in log],
        "key": [logged.record.key for logged in log],
        "value": [logged.record.value for logged in log],
        "headers": [logged.record.headers for logged in log],
        "timestamp": ["the broker's" if logged.broker_time else logged.record.timestamp_ms for logged in log],
        "codec": [logged.codec for logged in log],
        "sequence": [logged.sequence for logged in log],
    }


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _there(report: JobReport | None) -> str:
    return "nothing" if report is None else "a report"
