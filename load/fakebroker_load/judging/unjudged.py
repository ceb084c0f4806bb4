"""Rules that were not applied to a run, and why: the limits of a confirmed verdict.

Theory   A rule needs a witness (facts/table.py): the log that was read back, or the broker's journal. Some need more.
         If a partition's leader changed, records that timed out may be gone. If followers are not known to have been
         frozen, the watermark that a consumer is shown may have moved since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from fakebroker_load.facts.table import JOURNAL, LOG, rules
from fakebroker_load.judging.ways import Ways

PARTS = """
SELECT run, count_if(NOT same_leader) AS moved, count_if(stood_still) AS still, count(*) AS partitions
FROM {parts} GROUP BY run
"""
OF_ONE_LEADER = ("timed out, not appended", "refused after its append, not appended")
OF_ONE_LEADER_BY_JOURNAL = ("appended, and not in the log", "watermark shown too late")
OF_STILL_FOLLOWERS = ("timed out after its watermark had passed",)
FEW = 3


@dataclass(frozen=True, slots=True)
class UnjudgedRules:
    """Rules that were not applied. `why` is a clause; `rules` are named by their problems."""

    run: str
    why: str
    rules: tuple[str, ...]

    def sentence(self, most: int | None = None) -> str:
        """Describe them for the user, with at most `most` rules."""
        named = ", ".join(f'"{rule}"' for rule in self.rules[:most])
        more = len(self.rules) - len(self.rules[:most])
        return f"{self.run}: not judged, since {self.why}: {named}{f' and {more} more' if more else ''}."


def unjudged_of(
    spark: SparkSession, ways: Sequence[Ways], runs: Sequence[Mapping[str, Any]], parts: DataFrame | None
) -> tuple[UnjudgedRules, ...]:
    """Return the rules that were not applied to each run. `parts` are of the logs that were read back
    (log.PART_SCHEMA), `runs` as in run.json."""
    known = {} if parts is None else {row["run"]: row for row in spark.sql(PARTS, parts=parts).collect()}
    waiting = {
        run["scenario"]["name"] for run in runs if any(group.get("waits") for group in run["scenario"]["groups"])
    }
    return tuple(rule for way in ways for rule in of_run(way, known.get(way.run), way.run in waiting))


def of_run(way: Ways, parts: Mapping[str, int] | Row | None, waits: bool) -> Iterator[UnjudgedRules]:
    """Yield the rules that were not applied to a run. `parts` is a row of PARTS, None without a log. `waits`: a
    response of the run has to wait for its timeout."""
    if not way.has_log:
        yield UnjudgedRules(way.run, "the log was not read back", rules(LOG))
    if way.journal is None:
        yield UnjudgedRules(way.run, f"there is no journal ({way.why_no_journal})", rules(JOURNAL))
    if way.has_log and parts is not None and parts["moved"]:
        needed = OF_ONE_LEADER + (OF_ONE_LEADER_BY_JOURNAL if way.journal is not None else ())
        yield UnjudgedRules(
            way.run, f"the leader of {parts['moved']:,} of {parts['partitions']:,} partitions moved", needed
        )
    if waits and way.journal is None and (parts is None or not parts["still"]):
        yield UnjudgedRules(way.run, "followers are not known to have stood still", OF_STILL_FOLLOWERS)
