"""The differences that are allowed between two plays of a plan, and those that are not.

Theory   Everything is the same, field by field, but for two things, which are counted:
         raced   a broker that was paused until its session was over resumes with its old metadata, for the
                 milliseconds until it hears of the new leader. It may accept or refuse the requests that it was sent
                 meanwhile. What it accepts as a leader is dropped when it follows. A parked fetch there may be
                 refused. Or it stays parked, if the broker leads again when it hears that it did not. A read from a
                 follower that was paused is raced too: it gets its response before or after the follower has
                 fetched what it missed.
         time    a session is counted from the last heartbeat, so what follows from its end comes up to a heartbeat's
                 interval sooner or later.
Units    milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from conformance.generated.deaths.plan import WAITS
from conformance.transcripts.compare import Finding, fields_that_differ
from conformance.transcripts.words import Transcript

HEARTBEAT_MS: Final = 300  # of the box (targets/boxes.py)
BUSY_MS: Final = 900  # what a busy machine may take to do what it is told
GRANULARITY_MS: Final = HEARTBEAT_MS + BUSY_MS
_NONE, _NOT_LEADER = "NONE(0)", "NOT_LEADER_OR_FOLLOWER(6)"
_RACED: Final = "raced"


def judge(kafka: Transcript, ours: Transcript) -> tuple[list[Finding], int]:
    """Return the differences, and the number of raced responses."""
    raced = sum(_is_raced(entry) for entry in kafka)
    findings = fields_that_differ(
        "walks/deaths", [_judged(entry) for entry in kafka], [_judged(entry) for entry in ours]
    )
    return findings + _wrong_times(kafka, ours), raced


def wrong_fencing(kafka: Transcript, ours: Transcript) -> list[Finding]:
    """Compare what brokers reported of each other at each rest, and how long after a death."""
    findings = fields_that_differ("walks/deaths", *([_without_time(entry) for entry in side] for side in (kafka, ours)))
    for left, right in zip(kafka, ours, strict=False):
        times = left.get("fenced_after_ms"), right.get("fenced_after_ms")
        if (times[0] is None) != (times[1] is None) or (times[0] and abs(times[0] - times[1]) > GRANULARITY_MS):
            findings.append(Finding(f"{left['phase']}: when it was fenced", *times, None))
    return findings


def largest_difference_ms(kafka: Transcript, ours: Transcript) -> float:
    """Between times that are compared."""
    return max((abs(left - right) for _, left, right in _times(kafka, ours)), default=0.0)


def _without_time(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "fenced_after_ms"}


def _judged(entry: dict[str, Any]) -> dict[str, Any]:
    if not _is_raced(entry):  # came before the next event: how soon is a matter of time
        return {name: value for name, value in entry.items() if (name, value) != ("by", entry.get("phase"))}
    return {"asked": entry["asked"], "at": entry["at"], "end": _RACED}


def _is_raced(entry: dict[str, Any]) -> bool:
    """Return True for a response that is allowed from a broker that does not know yet that its session is over."""
    if not entry.get("stale"):
        return False
    if "answers" not in entry:
        return WAITS in entry["asked"]
    if not entry["answers"]:
        return "acks=0" in entry["asked"] or WAITS in entry["asked"]
    codes = {_code(answer["says"]) for answer in entry["answers"]}
    legal = {_NOT_LEADER} if "acks=-1" in entry["asked"] else {_NONE, _NOT_LEADER}
    return codes <= legal


def _code(says: Any) -> str:
    [topic] = says["responses"]
    [part] = topic.get("partition_responses") or topic.get("partitions")
    return str(part["error_code"])


def _wrong_times(kafka: Transcript, ours: Transcript) -> list[Finding]:
    return [
        Finding(f"time of {request}", left, right, None)
        for request, left, right in _times(kafka, ours)
        if abs(left - right) > GRANULARITY_MS
    ]


def _times(kafka: Transcript, ours: Transcript) -> list[tuple[str, float, float]]:
    """Return the time of each response that came before the next event."""
    response_times = []
    for left, right in zip(kafka, ours, strict=False):
        at_once = all(entry.get("by", entry.get("phase")) == entry.get("phase") for entry in (left, right))
        if at_once and left.get("answers") and right.get("answers"):
            times = [entry["answers"][0]["after_ms"] for entry in (left, right)]
            response_times.append((left["asked"], times[0], times[1]))
    return response_times
