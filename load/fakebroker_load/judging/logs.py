"""Rules for each log that was read back, whatever was sent: a row for each violation, in Spark SQL.

Theory   A log has a record at each offset from the start of the run to its readable offset. It is readable to its end
         once its followers replicate. Transaction markers take offsets too, and are no records.
         Under one leader, no consumer was shown a high watermark beyond the present end of the log.
Shape    The rows are those of mismatches.py that belong to no request.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.requests import LogTables

LOGS = """
WITH counted AS (
    SELECT run, topic, partition, count(*) AS records, min(offset) AS first, max(offset) AS last, sum(offset) AS sum
    FROM {records} WHERE fingerprint IS NOT NULL GROUP BY run, topic, partition
),
held AS (
    SELECT parts.*, coalesce(records, 0) AS records, first, last,
        CASE
            WHEN NOT coalesce(start_offset <= readable_offset, false) THEN 'offsets without a record'
            WHEN NOT readable_offset <=> end_offset THEN 'not readable'
            WHEN first < start_offset OR last >= readable_offset THEN 'a record beside the log'
            WHEN NOT coalesce(transactional, false)
                AND (coalesce(records, 0) <> readable_offset - start_offset OR sum * 2 <> records * (first + last))
                THEN 'offsets without a record'
            WHEN same_leader AND shown_offset > end_offset THEN 'watermark shown too early'
        END AS problem
    FROM {parts} AS parts LEFT JOIN counted USING (run, topic, partition)
)
SELECT run,
    CASE problem WHEN 'not readable' THEN problem WHEN 'watermark shown too early' THEN 'early' ELSE 'lost' END AS kind,
    problem, topic, partition,
    CASE problem WHEN 'not readable' THEN readable_offset WHEN 'watermark shown too early' THEN shown_offset
        ELSE start_offset END AS offset, CAST(NULL AS INT) AS correlation_id,
    concat('log: ', records, ' records', coalesce(concat(', at offsets ', first, ' to ', last), ''),
        '; it was to be read from ', coalesce(CAST(start_offset AS STRING), 'nowhere'), ' to ',
        coalesce(CAST(readable_offset AS STRING), 'nowhere'), ', and ends at ',
        coalesce(CAST(end_offset AS STRING), 'nowhere'), coalesce(concat('; a consumer was shown ', shown_offset), ''))
        AS says
FROM held WHERE problem IS NOT NULL
"""


def logs_amiss(spark: SparkSession, log: LogTables) -> DataFrame:
    """Return a row for each partition that violates a rule."""
    return spark.sql(LOGS, records=log.records, parts=log.parts).localCheckpoint()
