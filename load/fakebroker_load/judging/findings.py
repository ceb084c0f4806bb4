"""The finding of a verdict, as a headline: wrong responses, late ones, or a load that proves nothing.

Theory   Lateness is a separate finding, and its cause decides. It is the broker's by its journal, or if the response is
         late without the time for which the load stood still (traffic/own_delay.py). If it is the load's, or undecided,
         then the run has not measured the broker, and neither accuses nor confirms it.
         The same holds if tasks on the machine waited for a processor for as long as responses were late.
         `machine_late_ms` is that of brokers and load (traffic/machine_lateness.py), if measured. `late_explained`
         counts the explained responses.
         Without a journal, a time-out instead of NONE may be the machine's too: if tasks waited for a processor for
         half of that time (`unreplicated`). Replication has some ten steps in several processes, and on a busy
         machine each waits for a processor.
         A load that was sent late is not the load that the scenario asks for, and has measured another one. Nor has a
         request that an action has overtaken meanwhile (overtaken.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fakebroker_load.judging.causes import causes_of
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.requests import LATE, LATE_BY_LOAD, UNDECIDED

RIGHT, NOT_MEASURED, WRONG = "right", "not measured", "wrong"
STATUS = {RIGHT: 0, WRONG: 1, NOT_MEASURED: 4}  # exit status of a command
_LATE = (LATE, LATE_BY_LOAD, UNDECIDED)  # problems
_NOTICEABLE_MS = 100  # a standstill that changes a rate


class VerdictFinding(NamedTuple):
    """The finding of a verdict. `kind` is RIGHT, WRONG, or NOT_MEASURED: no response was wrong, and the broker did not
    cause the rest. `sentences` describe each run with late responses."""

    kind: str
    headline: str
    sentences: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """Return the exit status of a command that judges."""
        return STATUS[self.kind]


def finding_of(
    groups: Sequence[GroupVerdict],
    is_ok: bool,
    strange: Mapping[str, int],
    limit_ms: int,
    machine_late_ms: Mapping[str, int | None],
) -> VerdictFinding:
    """Return the finding. `strange` counts what is in log or journal and belongs to no row of a request, by problem."""
    if is_ok:
        return VerdictFinding(RIGHT, "Every request got what it should")
    if strange or not groups or any(map(_is_wrong, groups)):
        return VerdictFinding(WRONG, f"Not every request got what it should: {causes_of(groups, strange)}")
    late: dict[str, list[GroupVerdict]] = {}
    for group in groups:
        if any(group.problems.get(name) for name in _LATE):
            late.setdefault(group.run, []).append(group)
    is_machines = all(
        _explains(machine_late_ms.get(run), _worst_ms(of_run) - limit_ms)
        or all(group.problems.get(LATE, 0) <= group.late_explained for group in of_run)
        for run, of_run in late.items()
    )
    broken = [(group, held) for group in groups for held in group.limits if not held.ok]
    kept = all(_own_ms(group) >= _NOTICEABLE_MS for group, _ in broken)
    count = sum(_count(group) for group in groups)
    excused = any(group.unreplicated or group.overtaken_wrong for group in groups)
    parts = ["No answer was wrong" if excused else "Every answer was right"]
    if count:
        parts.append(f"{count:,} came late{_whose(groups, is_machines)}")
    if unreplicated := sum(group.unreplicated for group in groups):
        parts.append(f"{unreplicated:,} timed out while this machine had work wait")
    if overtaken := sum(group.overtaken_late + group.overtaken_wrong for group in groups):
        parts.append(f"{overtaken:,} were sent so late that an action of the scenario came before them")
    if any(group.sent_late for group in groups):
        parts.append("the load was sent late")
    if broken:
        parts.append("limits of the scenario were not kept" + (", while the load stood still" if kept else ""))
    sentences = tuple(
        f"{run}: {sum(map(_count, of_run)):,} answers came late, by up to {_worst_ms(of_run):,} ms, limit "
        f"{limit_ms:,} ms; {_load_sentence(of_run)}{_machine_sentence(machine_late_ms.get(run))}"
        for run, of_run in late.items()
    )
    is_measured = not (is_machines and kept)
    headline = "; ".join(parts) + ("" if is_measured else ": not measured")
    return VerdictFinding(WRONG if is_measured else NOT_MEASURED, headline, sentences)


def _is_wrong(group: GroupVerdict) -> bool:
    """Return True if a response is wrong or missing, or something else of the group is wrong."""
    broken_limits = sum(not held.ok for held in group.limits)
    others = sum(count for name, count in group.problems.items() if name not in _LATE)
    return (
        others > group.unreplicated + group.overtaken_wrong
        or not group.requests == group.rows > 0
        or len(group.amiss) > broken_limits
    )


def _whose(groups: Sequence[GroupVerdict], is_machines: bool) -> str:
    by_broker, undecided = (sum(group.problems.get(name, 0) for group in groups) for name in (LATE, UNDECIDED))
    if by_broker > sum(group.overtaken_late for group in groups):
        return ", as this machine was" if is_machines else ""
    if by_broker:
        return ""
    return ", as the load was or may have been" if undecided else ", as the load was"


def _count(group: GroupVerdict) -> int:
    return sum(group.problems.get(name, 0) for name in _LATE)


def _worst_ms(groups: Sequence[GroupVerdict]) -> int:
    return max((group.lateness_max_us or 0) // 1000 for group in groups)


def _own_ms(group: GroupVerdict) -> int:
    return (group.load_late_us or 0) // 1000


def _load_sentence(groups: Sequence[GroupVerdict]) -> str:
    """Return what the load's own control says about lateness; empty without undecided responses."""
    own_ms = max(map(_own_ms, groups))
    undecided = sum(group.problems.get(UNDECIDED, 0) + group.problems.get(LATE_BY_LOAD, 0) for group in groups)
    if not undecided:
        return ""
    return f"{undecided:,} of them by the load, which stood still for up to {own_ms:,} ms, or perhaps by it; "


def _explains(machine_ms: int | None, late_ms: int) -> bool:
    return machine_ms is not None and machine_ms >= late_ms


def _machine_sentence(late_ms: int | None) -> str:
    if late_ms is None:
        return "how late the machine itself was is not known"
    return f"the machine itself had brokers or load wait for a processor, and so was up to {late_ms:,} ms late"
