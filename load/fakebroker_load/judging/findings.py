"""What a verdict comes to, in a headline: wrong answers, right ones that came late, or a load that was sent late.

Theory   Late is a finding of its own. A broker that is not given a processor answers late, and so it is held against
         how late the machine itself was: `machine_late_ms` of a run (machine_lateness.py), where it was measured. The
         machine explains a late answer if it was as late itself, but for the limit. Such a run is not confirmed either:
         it proves nothing of the broker's punctuality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fakebroker_load.judging.causes import causes_of
from fakebroker_load.judging.group_verdict import GroupVerdict

RIGHT, LATE, WRONG = "right", "late", "wrong"  # late: of what no broker is to blame for
_LATE = "late"  # the problem


class Finding(NamedTuple):
    """`kind` is RIGHT, LATE if all answers were right and the machine explains the rest, or WRONG. `sentences` tell of
    each run in which answers came late."""

    kind: str
    headline: str
    sentences: tuple[str, ...] = ()


def finding_of(
    groups: Sequence[GroupVerdict],
    is_ok: bool,
    strange: Sequence[str],
    limit_ms: int,
    machine_late_ms: Mapping[str, int | None],
) -> Finding:
    """`strange`: what log or journal have and no request explains."""
    if is_ok:
        return Finding(RIGHT, "Every request got what it should")
    if strange or not groups or any(map(_is_wrong, groups)):
        return Finding(WRONG, f"Not every request got what it should: {causes_of(groups, strange)}")
    counts: dict[str, int] = {}
    worst_ms: dict[str, int] = {}
    for group in groups:
        if late := group.problems.get(_LATE):
            counts[group.run] = counts.get(group.run, 0) + late
            worst_ms[group.run] = max(worst_ms.get(group.run, 0), (group.lateness_max_us or 0) // 1000)
    kept = all(held.ok for group in groups for held in group.limits)
    is_machines = all(_explains(machine_late_ms.get(run), late_ms - limit_ms) for run, late_ms in worst_ms.items())
    parts = ["Every answer was right"]
    if counts:
        parts.append(f"{sum(counts.values()):,} came late" + (", as this machine was" if is_machines else ""))
    if any(group.sent_late for group in groups):
        parts.append("the load was sent late")
    if not kept:
        parts.append("limits of the scenario were not kept")
    sentences = tuple(
        f"{run}: {count:,} answers came late, by up to {worst_ms[run]:,} ms, limit {limit_ms:,} ms; "
        + _machine_sentence(machine_late_ms.get(run))
        for run, count in counts.items()
    )
    return Finding(LATE if is_machines and kept else WRONG, "; ".join(parts), sentences)


def _is_wrong(group: GroupVerdict) -> bool:
    """An answer is wrong or missing, or something else of the group is."""
    broken_limits = sum(not held.ok for held in group.limits)
    others = group.problems.keys() - {_LATE}
    return bool(others) or not group.requests == group.rows > 0 or len(group.amiss) > broken_limits


def _explains(machine_ms: int | None, late_ms: int) -> bool:
    return machine_ms is not None and machine_ms >= late_ms


def _machine_sentence(late_ms: int | None) -> str:
    if late_ms is None:
        return "how late the machine itself was is not known"
    return f"the machine itself had brokers or load wait for a processor, and so was up to {late_ms:,} ms late"
