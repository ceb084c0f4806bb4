"""Rules for a group of consumers with any coordinator: a row for each violation, in Spark SQL.

Theory   In one generation a partition has one owner. Generations rise. A member that joins after another one was told a
         generation is told no older one. A commit of an older generation is refused, as is one of a member that has
         left.
         No accepted commit passes a record that was not read yet, and no member is told such an offset as committed. A
         member is never told less than an earlier accepted commit: it reads on from there. It is never told more than
         the log's end. In the end the log's end is committed.
         Whether each record is read at all is judged with other readers (readers.py). Moments are compared on the run's
         clock. On one connection they are exact. Between two connections they have as much room as the clocks of the
         tasks may differ (`slack_us`).
Source   Kafka's protocol of classic groups; the rules are those of fakebroker/testing/groups/judge.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.requests import LogTables

MEMBERS = """
WITH told AS (
    SELECT run, `group`, connection, topic, partition, sent_us, answered_us, error_code,
        read.what, read.member, read.generation, read.offset
    FROM {readings} WHERE read.group_id IS NOT NULL
),
owners AS (
    SELECT run, `group`, min(connection) AS connection, topic, partition, generation, collect_set(member) AS members
    FROM told WHERE what = 'owns' AND partition IS NOT NULL
    GROUP BY run, `group`, topic, partition, generation
),
moments AS (
    SELECT *, sent_us AS at_us, CAST(NULL AS INT) AS told_generation FROM told WHERE what IN ('owns', 'commit')
    UNION ALL
    SELECT *, answered_us, generation FROM told WHERE what = 'owns'
),
compared AS (
    SELECT *, greatest(max(told_generation) OVER of_all, max(told_generation) OVER of_one) AS newest
    FROM moments
    WINDOW of_all AS (PARTITION BY run, `group` ORDER BY at_us
            RANGE BETWEEN UNBOUNDED PRECEDING AND {slack_us} PRECEDING),
        of_one AS (PARTITION BY run, `group`, connection ORDER BY at_us
            RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
gone AS (
    SELECT run, `group`, connection, member, min(answered_us) AS left_us FROM told WHERE what = 'left' GROUP BY ALL
),
passed AS (
    SELECT *, min(commit_us) OVER (PARTITION BY run, `group`, topic, partition ORDER BY offset DESC
        RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS passed_us
    FROM (
        SELECT run, `group`, min_by(connection, answered_us) AS connection, topic, partition, offset,
            min(answered_us) AS read_us, CAST(NULL AS BIGINT) AS commit_us
        FROM told WHERE what = 'record' GROUP BY run, `group`, topic, partition, offset
        UNION ALL
        SELECT run, `group`, connection, topic, partition, offset, NULL, sent_us
        FROM told WHERE what = 'commit' AND error_code = 0
        UNION ALL
        SELECT run, `group`, connection, topic, partition, offset, NULL, answered_us FROM told WHERE what = 'committed'
    )
),
kept AS (
    SELECT *, max(accepted) OVER (PARTITION BY run, `group`, topic, partition ORDER BY at_us
        RANGE BETWEEN UNBOUNDED PRECEDING AND {slack_us} PRECEDING) AS accepted_offset
    FROM (
        SELECT *, if(what = 'commit', answered_us, sent_us) AS at_us, if(what = 'commit', offset, NULL) AS accepted
        FROM told WHERE what = 'commit' AND error_code = 0 OR what = 'committed'
    )
),
last AS (
    SELECT run, `group`, topic, partition, max_by(offset, answered_us) AS offset
    FROM told WHERE what = 'committed' GROUP BY ALL
),
acknowledged AS (
    SELECT run, topic, partition, max(base_offset) + 1 AS behind_offset
    FROM {requests} WHERE error_code = 0 AND base_offset >= 0 GROUP BY ALL
),
ends AS (
    SELECT units.*, last.offset, coalesce(end_offset, behind_offset) AS end
    FROM {units} AS units
    LEFT JOIN last USING (run, `group`, topic, partition)
    LEFT JOIN {parts} AS parts USING (run, topic, partition)
    LEFT JOIN acknowledged USING (run, topic, partition)
    WHERE client = 'member'
)
SELECT run, `group`, connection, topic, partition, CAST(NULL AS BIGINT) AS log_offset, 'owns' AS outcome,
    'given to two members' AS problem,
    concat('readers: in generation ', generation, ' it was given to ', array_join(array_sort(members), ' and to '))
        AS said
FROM owners WHERE size(members) > 1
UNION ALL
SELECT DISTINCT run, `group`, connection, topic, partition, offset, what,
    if(what = 'commit', 'committed by an old generation', 'generation went back'),
    concat('reader ', connection, ': as ', member, ' of generation ', generation, ', and ', newest,
        ' had been told before', if(what = 'commit', '; answered NONE', ''))
FROM compared
WHERE told_generation IS NULL AND generation < newest AND (what = 'owns' OR error_code = 0)
UNION ALL
SELECT told.run, told.`group`, told.connection, topic, partition, offset, what, 'committed after it had left',
    concat('reader ', told.connection, ': as ', told.member, ', which had left; answered NONE')
FROM told JOIN gone USING (run, `group`, connection, member)
WHERE what = 'commit' AND error_code = 0 AND sent_us > left_us
UNION ALL
SELECT run, `group`, connection, topic, partition, offset, 'commit', 'committed before it was read',
    concat('readers: first read ', read_us - passed_us, ' us after a commit behind it was sent, by reader ', connection)
FROM passed WHERE read_us > passed_us + {slack_us}
UNION ALL
SELECT run, `group`, connection, topic, partition, offset, 'committed', 'a commit is gone',
    concat('reader ', connection, ': is told that ', offset, ' is committed, and ', accepted_offset, ' was before')
FROM kept WHERE what = 'committed' AND offset < accepted_offset
UNION ALL
SELECT told.run, told.`group`, connection, topic, partition, offset, 'committed', 'committed beyond the log',
    concat('reader ', connection, ': is told that ', offset, ' is committed; log: it ends at ', end_offset)
FROM told JOIN {parts} AS parts USING (run, topic, partition) WHERE what = 'committed' AND offset > end_offset
UNION ALL
SELECT run, `group`, CAST(NULL AS INT), topic, partition, offset, 'committed', 'not committed to the end',
    concat('readers: in the end ', coalesce(CAST(offset AS STRING), 'nothing'), ' is committed; log: it ends at ', end)
FROM ends WHERE NOT offset <=> end AND end IS NOT NULL
"""


def judge_members(
    spark: SparkSession,
    readings: DataFrame,
    requests: DataFrame,
    units: DataFrame,
    log: LogTables,
    runs: Sequence[Mapping[str, Any]],
) -> DataFrame:
    """Return the violations. `units` are those of readers.py."""
    errors_us = [(run.get("clocks") or {}).get("error_us") or 0 for run in runs]
    text = MEMBERS.format(
        readings="{readings}",
        requests="{requests}",
        units="{units}",
        parts="{parts}",
        slack_us=2 * max(errors_us, default=0) + 1,
    )
    return spark.sql(text, readings=readings, requests=requests, units=units, parts=log.parts)
