"""Limits and names of runs, as SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS

LatenessLimits = int | Mapping[str, int]  # of all runs, or of each by its name
_ESCAPED = str.maketrans({"\\": r"\\", "'": r"\'", "{": "{{", "}": "}}"})
ROUNDING_US = 1_000


def limit_us(limits_ms: LatenessLimits) -> str:
    """Return the limit in microseconds, as SQL."""
    if isinstance(limits_ms, int):
        return f"{limits_ms * 1000}L"
    limits_us = {run: limit_ms * 1000 for run, limit_ms in limits_ms.items()}
    return by_run(limits_us, DEFAULT_LATENESS_LIMIT_MS * 1000)


def by_run(values: Mapping[str, int], otherwise: int) -> str:
    """Return a number for each run, as SQL."""
    runs: dict[int, list[str]] = {}
    for run, value in values.items():
        runs.setdefault(value, []).append(quoted(run))
    cases = " ".join(f"WHEN run IN ({', '.join(names)}) THEN {value}L" for value, names in runs.items())
    return f"CASE {cases} ELSE {otherwise}L END" if runs else f"{otherwise}L"


def by_topic(values_us: Mapping[str, Mapping[str, int]]) -> str:
    """Return a number of microseconds for each run and topic, as SQL; 0 for those without one."""
    cases = " ".join(
        f"WHEN run = {quoted(run)} AND topic = {quoted(topic)} THEN {value}L"
        for run, of_topics in values_us.items()
        for topic, value in of_topics.items()
    )
    return f"CASE {cases} ELSE 0L END" if cases else "0L"


def rounding_us(exact: Collection[str] | None) -> str:
    """Return the rounding in microseconds, as SQL. None means that all runs are exact."""
    if exact is None:
        return "0L"
    return f"if(run IN ({', '.join(map(quoted, exact))}), 0L, {ROUNDING_US}L)" if exact else f"{ROUNDING_US}L"


def quoted(text: str) -> str:
    """Return a text as SQL that Spark will format."""
    return f"'{text.translate(_ESCAPED)}'"
