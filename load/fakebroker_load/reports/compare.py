"""Comparison of two runs: figures that became worse, and whether that is more than chance.

Theory   For each group of both runs, the quantiles of three times are compared: from intended to answered, from sent to
         answered, and from intended to sent. The quantile q of n values is at rank q n. In 95 of 100 draws it lies
         between the values at two ranks, whatever their distribution: q n -+ 1.96 sqrt(n q (1 - q)). A time is a
         regression if it grows by more than the limit, and the two intervals do not overlap. Values of one run are not
         independent (a stall makes many late), so an interval tells less than several runs would. The limit must
         therefore exceed the differences between two runs of the same thing.
Units    milliseconds; throughput is answers a second.
Memory   One column of one group at a time: 8 bytes for each request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
# name: start, end
TIMES: Final = {
    "from intended": ("intended_us", "answered_us"),
    "from sent": ("sent_us", "answered_us"),
    "send delay": ("intended_us", "sent_us"),
}
_Z: Final = 1.96  # 95 % of a normal distribution
_SHORTEST_MS: Final = 1.0  # no client notices a smaller difference


@dataclass(frozen=True, slots=True)
class Quantile:
    value_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of one group. The intervals are None if chance cannot be estimated."""

    run: str
    group: str
    what: str
    before: float | None
    after: float | None
    before_interval: tuple[float, float] | None = None
    after_interval: tuple[float, float] | None = None
    is_regression: bool = False

    @property
    def change(self) -> float | None:
        """Return the factor of the change: 1.1 is a tenth more than before."""
        return self.after / self.before if self.before and self.after is not None else None

    @property
    def is_chance(self) -> bool:
        """Return True if the intervals overlap."""
        one, other = self.before_interval, self.after_interval
        return one is not None and other is not None and one[0] <= other[1] and other[0] <= one[1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two runs. `notes` name what they do not share. `verdicts`: whether each was confirmed."""

    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    verdicts: tuple[bool, bool]
    limit: float

    @property
    def regressions(self) -> list[Difference]:
        return [difference for difference in self.differences if difference.is_regression]

    @property
    def is_worse(self) -> bool:
        """Return True if a figure is worse, or if the first run was confirmed and the second was not."""
        return bool(self.regressions) or (self.verdicts[0] and not self.verdicts[1])

    @property
    def ok(self) -> bool:
        """Return True if there was something to compare, and nothing is worse."""
        return bool(self.differences) and not self.is_worse

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "limit": self.limit,
            "confirmed": list(self.verdicts),
            "notes": list(self.notes),
            "differences": [
                {
                    "run": difference.run,
                    "group": difference.group,
                    "what": difference.what,
                    "before": difference.before,
                    "after": difference.after,
                    "before_interval": difference.before_interval,
                    "after_interval": difference.after_interval,
                    "change": difference.change,
                    "is_chance": difference.is_chance,
                    "is_regression": difference.is_regression,
                }
                for difference in self.differences
            ],
        }


class ResultFolder:
    """A folder that `run` wrote. Raises OSError, KeyError or ValueError if it is not one."""

    def __init__(self, folder: Path) -> None:
        self.verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
        self.runs: list[dict[str, Any]] = json.loads((folder / "run.json").read_text())
        self._requests = ds.dataset(folder / "requests.parquet", format="parquet")
        self.groups = {(group["run"], group["group"]): group for group in self.verdict["groups"]}
        self.ok = bool(self.verdict["ok"])

    def quantiles(self, run: str, group: str, start: str, end: str) -> dict[str, Quantile]:
        """Return the quantiles of a time; empty if the group has no such request."""
        of_group = (pc.field("run") == run) & (pc.field("group") == group)
        table = self._requests.to_table(columns=[start, end], filter=of_group)
        waited = pc.drop_null(pc.subtract(table[end], table[start]))
        count = len(waited)
        if not count:
            return {}
        levels: list[float] = []
        for q in QUANTILES.values():
            margin = _Z * sqrt(q * (1 - q) / count)
            levels += [q, max(0.0, q - margin), min(1.0, q + margin)]
        times_ms = [us / 1000 for us in pc.quantile(waited, q=levels).to_pylist()]
        return {name: Quantile(*times_ms[3 * at : 3 * at + 3]) for at, name in enumerate(QUANTILES)}

    def throughput(self, run: str, group: str) -> float | None:
        """Return answers per second, from the first request sent to the last answer."""
        of_group = (pc.field("run") == run) & (pc.field("group") == group)
        table = self._requests.to_table(columns=["sent_us", "answered_us"], filter=of_group)
        first: pa.Scalar = pc.min(table["sent_us"])
        last: pa.Scalar = pc.max(table["answered_us"])
        if first.as_py() is None or last.as_py() is None or last.as_py() <= first.as_py():
            return None
        answered: int = len(table) - table["answered_us"].null_count
        return 1e6 * answered / float(last.as_py() - first.as_py())


def compare(before: ResultFolder, after: ResultFolder, limit: float = 0.1) -> Comparison:
    """Compare two runs. `limit` is the share by which a time may grow, or the throughput fall."""
    notes = tuple(_notes(before, after))
    differences: list[Difference] = []
    for run, group in before.groups:
        if (run, group) in after.groups:
            differences += _of_group(before, after, run, group, limit)
    return Comparison(tuple(differences), notes, (before.ok, after.ok), limit)


def _of_group(before: ResultFolder, after: ResultFolder, run: str, group: str, limit: float) -> Iterator[Difference]:
    one, other = before.groups[run, group], after.groups[run, group]
    shares = [side["confirmed"] / side["requests"] if side["requests"] else 0.0 for side in (one, other)]
    yield Difference(run, group, "confirmed, %", 100 * shares[0], 100 * shares[1], is_regression=shares[1] < shares[0])
    rates = before.throughput(run, group), after.throughput(run, group)
    yield Difference(run, group, "answers/s", *rates, is_regression=_is_lower(*rates, limit))
    for name, (start, end) in TIMES.items():
        of_one, of_other = before.quantiles(run, group, start, end), after.quantiles(run, group, start, end)
        for quantile in QUANTILES:
            if quantile in of_one and quantile in of_other:
                yield _of_time(run, group, f"{name} {quantile}, ms", of_one[quantile], of_other[quantile], limit)
    for name, key in (("p50", "lateness_p50_us"), ("p99", "lateness_p99_us"), ("max", "lateness_max_us")):
        if one[key] is not None and other[key] is not None:
            yield Difference(run, group, f"lateness {name}, ms", one[key] / 1000, other[key] / 1000)


def _of_time(run: str, group: str, what: str, one: Quantile, other: Quantile, limit: float) -> Difference:
    is_longer = other.value_ms > one.value_ms * (1 + limit) and other.value_ms - one.value_ms > _SHORTEST_MS
    return Difference(
        run,
        group,
        what,
        one.value_ms,
        other.value_ms,
        (one.low_ms, one.high_ms),
        (other.low_ms, other.high_ms),
        is_regression=is_longer and other.low_ms > one.high_ms,
    )


def _is_lower(one: float | None, other: float | None, limit: float) -> bool:
    return one is not None and (other is None or other < one * (1 - limit))


def _notes(before: ResultFolder, after: ResultFolder) -> Iterator[str]:
    for key in sorted(set(before.groups) ^ set(after.groups)):
        where = "first" if key in before.groups else "second"
        yield f"{key[0]}: {key[1]} is in the {where} alone."
    one = {run["scenario"]["name"]: run for run in before.runs}
    for run in after.runs:
        name = run["scenario"]["name"]
        if name not in one:
            continue
        scenarios = _scenario(one[name]), _scenario(run)
        if changed := _differing(*scenarios):
            yield f"{name}: the scenarios differ in {', '.join(changed)}: what is compared is not the same load."
        machines = one[name].get("machine", {}), run.get("machine", {})
        if differing := _differing(*machines):
            said = ", ".join(f"{key} ({machines[0].get(key)}, then {machines[1].get(key)})" for key in differing)
            yield f"{name}: the machines differ in {said}."


def _scenario(run: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario without the run's id, with which the names of its own topics end."""
    scenario: dict[str, Any] = json.loads(json.dumps(run["scenario"]).replace(f"-{run.get('run_id')}", ""))
    return scenario


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
