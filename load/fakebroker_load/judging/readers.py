"""Records that readers got, compared with the records sent: a row for each record of each reader, in Spark SQL.

Theory   A reader without a group has its partition to itself. Members share theirs, so a group is one reader. A reader
         must get all records that were acknowledged with acks=all. It must also get other acknowledged records before
         its last one: it must not skip any. A reader without a group gets each record once, in the order of offsets.
         Members may get a record again between a commit and a rebalance ("read again"), which is counted and is no
         fault.
         No reader may see a record that is not on all in-sync replicas. Such a record is at or above the high watermark
         in the same response. By the journal, it is at or above the high watermark at the moment of the response.
         Under one leader, the response has no lower high watermark than the journal at the moment of the request:
         otherwise the journal has invented one, or the reader was shown an old one.
         A record is identified by its key, and by the fingerprint of the record that was sent. Each batch must agree
         with its CRC, its times and its producer. `done` ends a reader; a reader without it has died.
Shape    Rows like those of judging/requests.py, with `said` instead of the statements of client, log and journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.members import judge_members
from fakebroker_load.judging.partitions import held
from fakebroker_load.judging.requests import LogTables
from fakebroker_load.judging.time_slices import in_slices
from fakebroker_load.scenario.reads import MEMBER, READERS

UNITS_SCHEMA = "run string, `group` string, reader int, client string, topic string, partition int"
IN_GROUP = -1  # instead of a reader's number: any member of the group

# The high watermarks of each partition in the journal, and the moments of Fetch requests and responses with records.
FETCHED = """
WITH wanted AS (
    SELECT DISTINCT run, local, correlation_id, topic, partition FROM {readings} WHERE read.what = 'record'
),
told AS (
    SELECT run, min(if(event = 'request' AND api = 'Fetch', struct(peer, correlation_id), NULL)) AS asked,
        min(if(event = 'request', seq, NULL)) AS asked_seq, max(if(event = 'answer', seq, NULL)) AS seq
    FROM {journal} WHERE request IS NOT NULL GROUP BY run, request
),
moments AS (
    SELECT wanted.*, max(told.seq) AS seq, min(asked_seq) AS asked_seq
    FROM wanted JOIN told
        ON told.run = wanted.run AND asked.peer = local AND asked.correlation_id = wanted.correlation_id
    GROUP BY ALL
)
SELECT * EXCEPT (asked_seq), false AS is_asked, CAST(NULL AS BIGINT) AS watermark FROM moments
UNION ALL
SELECT * EXCEPT (seq), true, NULL FROM moments
UNION ALL
SELECT run, NULL, NULL, topic, partition, seq, NULL, high_watermark FROM {journal}
WHERE event IN ('watermark_moved', 'leader_changed') AND high_watermark >= 0
"""

# The high watermark in the journal at each Fetch response with records. If it has not moved before, it was at most the
# log end before the load. Under one leader also that at the request (`asked_watermark`): no response has a lower one.
WATERMARKS = """
WITH marked AS (
    SELECT * EXCEPT (watermark), last_value(watermark, true)
        OVER (PARTITION BY run, topic, partition, slice ORDER BY seq) AS watermark
    FROM {fetched}
)
SELECT run, local, correlation_id, topic, partition,
    max(if(is_asked, NULL, coalesce(watermark, start_offset))) AS watermark,
    max(if(is_asked AND same_leader, watermark, NULL)) AS asked_watermark
FROM marked LEFT JOIN {parts} AS parts USING (run, topic, partition) WHERE marked.local IS NOT NULL
GROUP BY run, local, correlation_id, topic, partition
"""
NO_WATERMARKS = (
    "run string, local string, correlation_id int, topic string, partition int, "
    "watermark bigint, asked_watermark bigint"
)

RECORDS = """
WITH told AS (
    SELECT run, `group`, if(read.group_id IS NULL, connection, -1) AS reader, connection, sequence, topic, partition,
        answered_us, fingerprint, read.offset, read.high_watermark, watermark, asked_watermark, read.member,
        coalesce(read.of_connection, -1) AS of_connection,
        if(read.of_connection IS NULL, read.offset, CAST(read.of_sequence AS BIGINT)) AS of_sequence
    FROM {readings} LEFT JOIN {watermarks} AS watermarks USING (run, local, correlation_id, topic, partition)
    WHERE read.what = 'record'
),
placed AS (
    SELECT *, offset >= least(high_watermark, watermark) AS is_beyond, high_watermark < asked_watermark AS is_stale,
        max(offset) OVER (PARTITION BY run, connection, topic, partition ORDER BY sequence
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS offset_before
    FROM told
),
given AS (
    SELECT run, `group`, reader, topic, partition, of_connection, of_sequence, count(*) AS times,
        min(offset) AS first_offset, max(offset) AS last_offset, min(answered_us) AS read_us,
        min(fingerprint) AS least_fingerprint, max(fingerprint) AS greatest_fingerprint,
        bool_or(is_beyond) AS is_beyond, bool_or(is_stale) AS is_stale,
        bool_or(offset <= offset_before) AS is_backwards,
        min_by(struct(connection, offset, high_watermark, watermark, asked_watermark, answered_us),
            struct(is_beyond IS NOT TRUE, is_stale IS NOT TRUE, answered_us))
            AS told
    FROM placed GROUP BY ALL
),
positions AS (
    SELECT run, `group`, if(read.group_id IS NULL, connection, -1) AS reader, topic, partition,
        max(read.offset) AS position
    FROM {readings} WHERE read.what = 'record' GROUP BY ALL
),
sent AS (
    SELECT run, connection AS of_connection, CAST(sequence AS BIGINT) AS of_sequence, topic AS sent_topic,
        partition AS sent_partition, acks, error_code AS sent_error, base_offset AS sent_offset,
        fingerprint AS sent_fingerprint
    FROM {requests}
),
owed AS (
    SELECT units.run, `group`, reader, topic, partition, of_connection, of_sequence
    FROM {units} AS units JOIN sent ON sent.run = units.run AND sent_topic = topic AND sent_partition = partition
    WHERE sent_error = 0 AND sent_offset >= 0
),
held AS (
    SELECT * FROM owed
    FULL OUTER JOIN given USING (run, `group`, reader, topic, partition, of_connection, of_sequence)
    LEFT JOIN sent USING (run, of_connection, of_sequence)
    LEFT JOIN positions USING (run, `group`, reader, topic, partition)
)
SELECT run, `group`, nullif(coalesce(told.connection, reader), -1) AS connection, topic, partition,
    coalesce(told.offset, sent_offset) AS log_offset, told.answered_us AS answered_us, read_us,
    CASE WHEN times IS NULL THEN 'not read' WHEN times > 1 THEN 'read again' ELSE 'read' END AS outcome,
    CASE
        WHEN times IS NULL THEN 'not read'
        WHEN sent_topic IS NULL THEN 'read, and sent by nobody'
        WHEN sent_topic <> topic OR sent_partition <> partition THEN 'read in another partition'
        WHEN least_fingerprint <> sent_fingerprint OR greatest_fingerprint <> sent_fingerprint THEN 'read altered'
        WHEN is_beyond THEN 'read beyond the watermark'
        WHEN is_stale THEN 'watermark shown too late'
        WHEN times > 1 AND reader >= 0 THEN 'read twice'
        WHEN is_backwards AND reader >= 0 THEN 'read out of order'
        WHEN sent_error = 0 AND sent_offset >= 0 AND (first_offset <> sent_offset OR last_offset <> sent_offset)
            THEN 'read at another offset than told'
    END AS problem,
    concat_ws('; ',
        coalesce(concat('reader ', told.connection, ': given ', if(times > 1, concat(times, ' times, first '), ''),
            'offset ', told.offset, ', and told the watermark ', told.high_watermark),
            concat('reader', if(reader >= 0, concat(' ', reader), 's of the group'), ': not given, and ',
                coalesce(concat('it came to ', position), 'given nothing at all'))),
        concat('journal: the watermark was ', told.watermark,
            if(told.high_watermark < told.asked_watermark, concat(', and before ', told.asked_watermark), '')),
        coalesce(concat('client: request ', of_sequence, ' of connection ', of_connection, ', ',
            if(sent_topic IS NULL, 'which is not of this run', concat('error ',
                coalesce(CAST(sent_error AS STRING), 'unknown'), ' at offset ',
                coalesce(CAST(sent_offset AS STRING), 'unknown')))), 'client: nothing')) AS said
FROM held WHERE times IS NOT NULL OR acks = -1 OR sent_offset < position
"""

DONE = """
SELECT run, `group`, connection, topic, partition, outcome, if(outcome = 'done', NULL, outcome) AS problem,
    'reader: its last requests have failed' AS said
FROM {readings} WHERE read.what = 'done'
"""
BATCHES = """
SELECT run, `group`, connection, topic, partition, read.offset AS log_offset, answered_us, outcome, outcome AS problem,
    concat('reader: the batch from offset ', read.offset, ' on contradicts itself') AS said
FROM {readings} WHERE read.what = 'batch'
"""


def units_of(runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, int, str, str, int]]:
    """Yield the readers of each partition, by run.json: rows of UNITS_SCHEMA. Connections are numbered as in
    plan.py."""
    for run in runs:
        first = 0
        for group in run["scenario"]["groups"]:
            client = group.get("client")
            if client in READERS:
                who = [(IN_GROUP, part) for part in range(group["partitions"])]
                if client != MEMBER:
                    who = [(first + at, at % group["partitions"]) for at in range(group["connections"])]
                for reader, part in who:
                    yield run["scenario"]["name"], group["name"], reader, client, group["topic"], part
            first += group.get("connections", 0)


def judge_readers(
    spark: SparkSession,
    rows: DataFrame,
    runs: Sequence[Mapping[str, Any]],
    log: LogTables,
    journal: DataFrame | None,
    slices: int = 1,
) -> DataFrame | None:
    """Return the rows of readers; None without readers. `rows` are those of requests and of readers
    (traffic/rows.py). `slices` is into how many slices of time the events of a partition are cut (time_slices.py)."""
    units = list(units_of(runs))
    if not units:
        return None
    readings, requests = rows.where("read IS NOT NULL"), rows.where("read IS NULL")
    watermarks = spark.createDataFrame([], NO_WATERMARKS)
    if journal is not None:
        fetched = spark.sql(FETCHED, readings=readings, journal=journal)
        fetched = in_slices(spark, held(fetched) if slices > 1 else fetched, slices, last=("watermark",))
        watermarks = spark.sql(WATERMARKS, fetched=fetched, parts=log.parts)
    planned = spark.createDataFrame(units, UNITS_SCHEMA)
    records = spark.sql(RECORDS, readings=readings, watermarks=watermarks, requests=requests, units=planned)
    judged = records
    for query in (DONE, BATCHES):
        judged = judged.unionByName(spark.sql(query, readings=readings), allowMissingColumns=True)
    if any(unit[3] == MEMBER for unit in units):
        members = judge_members(spark, readings, requests, planned, log, runs)
        judged = judged.unionByName(members, allowMissingColumns=True)
    return held(judged)
