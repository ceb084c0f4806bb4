"""Percentiles of the times of a group: exact ones of few rows, those of a sketch of many.

Theory   Spark computes an exact percentile from a map of all different values of a group, in one task. That map is too
         large for a group of many millions. A sketch (`approx_percentile`, Greenwald and Khanna) is as small for each
         number of rows. Its value at the share p has a rank between p - 1/SKETCH and p + 1/SKETCH of all rows. So it is
         asked for 2/SKETCH more. Then a percentile is never too low, and at most 3/SKETCH of the rows too high: a limit
         that the exact percentile breaks is broken. This holds for 3 * SKETCH rows and more. The maximum is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fakebroker_load.judging.sql import quoted

EXACT_ROWS = 1_000_000  # of a group: with more rows its percentiles are those of a sketch
SKETCH = 100_000
Key = tuple[str, str]  # a run, a group


def sketched(rows: Mapping[Key, int]) -> frozenset[Key]:
    """Return the groups with percentiles of a sketch, by the number of rows of each."""
    return frozenset(key for key, count in rows.items() if count > EXACT_ROWS)


def percentiles_of(value: str, shares: Sequence[float], large: Collection[Key]) -> str:
    """Return an aggregate as SQL: an array with the percentiles of a value, for rows grouped by run and group. The
    groups in `large` get those of a sketch."""
    exact = f"percentile({value}, array({', '.join(map(str, shares))}))"
    if not large:
        return exact
    is_large = " OR ".join(f"run = {quoted(run)} AND `group` = {quoted(group)}" for run, group in sorted(large))
    above = ", ".join(str(min(1.0, round(share + 2 / SKETCH, 9))) for share in shares)
    sketch = f"approx_percentile(CAST({value} AS DOUBLE), array({above}), {SKETCH})"
    return f"coalesce({exact} FILTER (WHERE NOT ({is_large})), {sketch} FILTER (WHERE {is_large}))"
