"""The verdict on each request: whether it got the expected response in time, in Spark SQL over the result rows.

Theory   A request is confirmed when `problem` is null. The SQL below checks the cases in their order. A missing value
         (null) never confirms anything. Rows are distributed once, by connection, for all conditions on a connection's
         rows.
           request   A request has a row for each of its records (`place`). All of them have its times and its outcome.
           handled   Kafka handles one request of a connection at a time. So a request is handled when it is sent or
                     when the one before it is answered, whichever is later.
           due       The time at which it is handled, plus the timeout if the response has to wait for it. If the
                     response waits for an event of the scenario (due_ms): that time or when it is handled, whichever is
                     later.
           lateness  answered - due. Above the limit, a response is late. It is late by the broker if it is late without
                     the load's own standstill meanwhile (load_late_us, traffic/own_delay.py). For an event of the
                     scenario, it is late by the broker if it is late without the lateness of the driver's actions.
                     Otherwise it is undecided here, and the journal may decide. All other problems come first.
           early     Answered before handled + timeout, if the response has to wait. The client sees a response a little
                     after the broker sent it. So `handled` may be a little after the broker's, and the response to a
                     pipelined request could look early. Hence early uses the earliest moment at which the request can
                     have been handled. That is after each earlier request of its connection was sent, and after the
                     timeouts that the responses in between claim to have waited. If one of these was early, the next
                     request is handled when that response is seen.
           lag       acks=all is also early if it was acknowledged before followers can have its record: the scenario
                     says how late they have it.
           rounding  Kafka's time-outs use a clock of whole milliseconds, so they come up to a millisecond early: 4.4.0
                     was 16 to 256 us early. That is a problem only in a run with a journal (`exact`).
           log       If the log was read back (log.py), its records must agree with the responses. An error may come
                     after an append, or the response may be missing. Then the record must only not be there twice,
                     elsewhere or altered. A time-out at an unchanged leader has appended, and so has
                     NOT_ENOUGH_REPLICAS_AFTER_APPEND. An error after an append may have the offset of the append (as in
                     Kafka), and no other one.
           throttle  Kafka does not read a connection for as long as its response says (throttle_ms), so the next
                     request is handled after that. These times count like time-outs, less a millisecond each, since a
                     broker counts whole ones.
           producer  A producer that batches and retries (is_raw is false) knows only the last error, so nothing follows
                     from it. A record that expired before it was in a request must not be in the log.
           visible   In a topic with transactions, only records that a read_committed consumer sees count. The others
                     (`hidden`) are of transactions that were aborted. They hold what their request has sent again. If
                     their transaction was to be aborted (`written` is never), they stand where the response says.
           frozen    `stood_still`: a consumer was shown the high watermark before frozen followers were resumed. A
                     record that timed out there cannot be below it. Under one leader, a record that was acknowledged
                    with acks=all cannot be at or above it.
           written   `also` and `written` of the group: other right answers, and whether the record must be in the log
                     (once) or not (never), whatever the response.
Units    *_us is microseconds after the start of the run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.judging.partitions import ROWS_OF_ONE_TASK
from fakebroker_load.judging.sql import ROUNDING_US, LatenessLimits, by_run, by_topic, limit_us, quoted, rounding_us
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS

TIMED_OUT = int(ErrorCode.request_timed_out)
AFTER_APPEND = int(ErrorCode.not_enough_replicas_after_append)

# Kafka returns these only if nothing was appended.
DEFINITE = ", ".join(
    str(int(code))
    for code in (
        ErrorCode.corrupt_message,
        ErrorCode.message_too_large,
        ErrorCode.invalid_topic_exception,
        ErrorCode.record_list_too_large,
        ErrorCode.not_enough_replicas,
        ErrorCode.invalid_required_acks,
        ErrorCode.topic_authorization_failed,
        ErrorCode.cluster_authorization_failed,
        ErrorCode.invalid_timestamp,
        ErrorCode.invalid_record,
    )
)

LATE, LATE_BY_LOAD, UNDECIDED = "late", "late by the load", "late, undecided"

# `rest` has the columns that the windows only pass on. Spark copies each row in each window, and one column is copied
# faster than thirty.
JUDGED = f"""
WITH whole AS (
    SELECT *,
        max(error_code = {TIMED_OUT}) OVER request AS has_waited,
        max(place) OVER request + 1 <> count(*) OVER request OR min(shared) OVER request <> max(shared) OVER request
            AS is_torn
    FROM (
        SELECT {{by_connection}} run, connection, sequence, place, sequence - coalesce(place, 0) AS of_request,
            correlation_id, stray_correlation_id, timeout_ms, sent_us, answered_us, error_code, throttle_ms,
            xxhash64(correlation_id, acks, timeout_ms, intended_us, sent_us, answered_us, outcome, throttle_ms, local,
                producer_id) AS shared,
            struct(* EXCEPT (run, connection, sequence, place, correlation_id, stray_correlation_id, timeout_ms,
                sent_us, answered_us, error_code, throttle_ms)) AS rest
        FROM {{requests}}
    )
    WINDOW request AS (PARTITION BY connection, run, of_request)
),
chained AS (
    SELECT *,
        max(answered_us) OVER before AS previous_answered_us,
        max(correlation_id) OVER before AS previous_correlation_id,
        max(stray_correlation_id) OVER before AS previous_stray,
        max(answered_us + coalesce(throttle_ms, 0) * 1000L) OVER before AS free_us,
        coalesce(sum(if(has_waited, greatest(timeout_ms * 1000L - {{rounding_us}}, 0L), 0L)
            + greatest(coalesce(throttle_ms, 0) - 1, 0) * 1000L) FILTER (WHERE coalesce(place, 0) = 0) OVER before, 0L)
            AS waited_us,
        coalesce(max(throttle_ms) OVER before, 0) > 0 AS was_throttled
    FROM whole
    WINDOW before AS (PARTITION BY connection, run ORDER BY of_request
        RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
timed AS (
    SELECT *,
        greatest(sent_us, free_us) AS handled_us,
        waited_us + max(sent_us - waited_us) OVER so_far AS handled_at_least_us,
        count(*) OVER (PARTITION BY run, connection, sequence) AS same_request
    FROM chained
    WINDOW so_far AS (PARTITION BY connection, run ORDER BY of_request)
),
unpacked AS (
    SELECT * EXCEPT (rest, of_request, shared, has_waited, free_us, waited_us), rest.*,
        coalesce(rest.client, 'raw') = 'raw' AS is_raw,
        if(rest.outcome = 'answered' AND array_contains(rest.also, CAST(error_code AS STRING)), error_code,
            rest.expected_error) AS right_error,
        if(rest.must_wait, timeout_ms * 1000L, 0L) AS wait_us
    FROM timed
),
late AS (
    SELECT *,
        if(due_high_us IS NULL, answered_us - handled_us - wait_us,
            greatest(answered_us - greatest(handled_us, due_high_us), 0L)) AS lateness_us,
        greatest(coalesce(load_late_us, 0L), if(due_high_us IS NULL, 0L, {{acted_late_us}})) AS own_us,
        must_wait AND answered_us < least(handled_us, handled_at_least_us) + wait_us - {{rounding_us}}
            OR coalesce(answered_us < due_low_us, false)
            OR coalesce(acks = -1 AND error_code = 0 AND answered_us < sent_us + {{lag_us}} - {ROUNDING_US}L, false)
            AS early,
        was_throttled AND answered_us < handled_at_least_us AS answered_while_throttled
    FROM unpacked
),
found AS (
    SELECT run, connection, sequence, count(*) AS copies, min(offset) AS log_offset,
        min_by(struct(topic, partition, value_crc, fingerprint, timestamp_ms, append_ms, producer_id, compression,
            problem), offset) AS stored
    FROM (SELECT /*+ REPARTITION(run, connection) */ * FROM {{records}} WHERE connection IS NOT NULL)
    WHERE coalesce(visible, true) GROUP BY ALL
),
hidden AS (
    SELECT run, connection, sequence,
        collect_list(struct(topic, partition, offset, value_crc, fingerprint, timestamp_ms)) AS hidden
    FROM {{records}} WHERE NOT visible GROUP BY ALL
),
known AS (
    SELECT {{few}} late.*, copies, log_offset, stored, stored.topic AS log_topic, stored.partition AS log_partition,
        readable_offset,
        end_offset, same_leader, shown_offset, stood_still, stray_connection, hidden,
        coalesce(is_twice, false) AS is_twice
    FROM late
    LEFT JOIN found USING (run, connection, sequence)
    LEFT JOIN hidden USING (run, connection, sequence)
    LEFT JOIN {{parts}} AS parts USING (run, topic, partition)
    LEFT JOIN {{strays}} AS strays USING (run, correlation_id)
    LEFT JOIN {{twice}} AS twice USING (run, topic, partition, base_offset)
),
looked_up AS (
    SELECT *,
        CASE
            WHEN end_offset IS NULL THEN if(run IN ({{read_back}}), 'not read back', NULL)
            WHEN copies > 1 OR is_raw AND coalesce(copies, 0) + size(coalesce(hidden, array())) > 1 THEN 'duplicated'
            WHEN copies > 0 AND NOT (log_topic <=> topic AND log_partition <=> partition) THEN 'in another partition'
            WHEN copies > 0 AND NOT (stored.value_crc <=> value_crc AND stored.fingerprint <=> fingerprint)
                THEN 'altered'
            WHEN outcome = 'answered' AND exists(hidden, one -> one.topic <> topic OR one.partition <> partition)
                THEN 'in another partition'
            WHEN outcome = 'answered' AND exists(hidden,
                one -> NOT (one.value_crc <=> value_crc AND one.fingerprint <=> fingerprint)) THEN 'altered'
            WHEN stored.problem IS NOT NULL THEN stored.problem
            WHEN stored.timestamp_ms <> timestamp_ms OR exists(hidden, one -> one.timestamp_ms <> timestamp_ms)
                THEN 'stored with another time'
            WHEN is_raw AND stored.producer_id <> coalesce(producer_id, -1) THEN 'stored as of a producer'
            WHEN stored.compression <> compression THEN 'stored in another compression'
            WHEN copies IS NULL AND (hidden IS NULL OR NOT written <=> 'never')
                AND (outcome = 'silent' OR error_code = 0 OR written = 'once'
                OR (error_code IN ({TIMED_OUT}, {AFTER_APPEND}) AND same_leader AND is_raw))
                THEN CASE
                    WHEN coalesce(base_offset, readable_offset) >= readable_offset AND readable_offset < end_offset
                        THEN 'not readable'
                    WHEN hidden IS NOT NULL THEN 'committed, and not shown'
                    WHEN error_code = {TIMED_OUT} THEN 'timed out, not appended'
                    WHEN error_code = {AFTER_APPEND} THEN 'refused after its append, not appended'
                    ELSE 'lost'
                END
            WHEN copies IS NULL AND is_raw AND base_offset >= 0 AND NOT exists(hidden, one -> one.offset = base_offset)
                THEN 'told another offset'
            WHEN copies > 0 AND base_offset <> coalesce(log_offset, -1)
                AND (base_offset >= 0 OR error_code IN (0, {TIMED_OUT}))
                THEN 'told another offset'
            WHEN is_raw AND error_code IN (0, {TIMED_OUT}) AND copies = 1 AND NOT append_ms <=> stored.append_ms
                THEN 'told another append time'
            WHEN copies > 0 AND outcome IN ('expired', 'refused') THEN 'given up before it was sent, and written'
            WHEN copies = 1 AND error_code IN ({DEFINITE}) AND is_raw THEN 'refused, and written'
            WHEN copies > 0 AND written = 'never' THEN 'written, and must not be'
            WHEN log_offset < max(if(log_topic = topic AND log_partition = partition, log_offset, NULL)) OVER earlier
                AND coalesce(ordered, true) THEN 'reordered'
            WHEN exists(hidden, one -> one.offset > log_offset) THEN 'reordered'
        END AS found_problem,
        max(base_offset) OVER earlier AS previous_offset
    FROM known
    WINDOW earlier AS (
        PARTITION BY connection, run, topic, partition ORDER BY sequence
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT * EXCEPT (previous_answered_us, previous_offset, previous_correlation_id, previous_stray,
        was_throttled, handled_at_least_us, wait_us, answered_while_throttled, same_request, is_torn, is_twice, stored,
        shown_offset, stood_still, own_us),
    coalesce(CASE
        WHEN found_problem IS NOT NULL THEN found_problem
        WHEN same_request > 1 THEN 'counted twice'
        WHEN is_torn THEN 'rows of one request differ'
        WHEN stray_connection <> connection THEN 'answered on another connection'
        WHEN stray_connection = connection THEN 'answered twice'
        WHEN stray_correlation_id IS NOT NULL AND previous_stray IS NULL THEN 'an answer that it had not asked for'
        WHEN answered_us < sent_us THEN 'answered before it was sent'
        WHEN sent_us < intended_us AND is_raw THEN 'sent before its time'
        WHEN acks = 0 AND expected_error IS NULL AND outcome = 'silent' AND sent_us IS NOT NULL
            AND coalesce(answered_us, error_code, base_offset, throttle_ms, append_ms) IS NULL THEN NULL
        WHEN acks = 0 AND expected_error IS NULL AND outcome = 'answered' THEN 'answered, against acks=0'
        WHEN outcome <=> 'answered' IS FALSE
            THEN CASE
                WHEN NOT coalesce(array_contains(also, outcome), false) THEN coalesce(outcome, 'no outcome')
                WHEN (sent_us IS NULL) <> (outcome = 'not sent')
                    OR (answered_us IS NULL) <> (outcome = 'not sent' OR is_raw AND outcome <> 'out of order')
                    THEN 'no time'
                WHEN error_code IS NOT NULL AND outcome <> 'out of order' THEN 'wrong answer'
                WHEN early THEN 'early'
                WHEN lateness_us - own_us > {{limit_us}} AND NOT is_raw THEN 'late'
            END
        WHEN error_code <=> right_error IS FALSE OR error_code IS NULL OR throttle_ms < 0 THEN 'wrong answer'
        WHEN error_code = {TIMED_OUT} AND base_offset BETWEEN 0 AND shown_offset - 1 AND stood_still
            THEN 'timed out after its watermark had passed'
        WHEN acks = -1 AND error_code = 0 AND base_offset >= shown_offset AND same_leader
            THEN 'acknowledged before its watermark'
        WHEN answered_us < previous_answered_us AND is_raw THEN 'out of order'
        WHEN correlation_id <= previous_correlation_id THEN 'correlation id went back'
        WHEN sent_us IS NULL OR answered_us IS NULL THEN 'no time'
        WHEN early THEN 'early'
        WHEN answered_while_throttled THEN 'answered while throttled'
        WHEN lateness_us - own_us > {{limit_us}} THEN 'late'
        WHEN right_error NOT IN ({int(ErrorCode.none)}, {TIMED_OUT})
            THEN if(base_offset <=> -1 OR NOT is_raw OR right_error NOT IN ({DEFINITE}), NULL,
                'base offset with an error')
        WHEN right_error = {TIMED_OUT} AND NOT is_raw THEN NULL
        WHEN base_offset < 0 OR base_offset IS NULL THEN 'no base offset'
        WHEN is_twice THEN 'base offset given twice'
        WHEN base_offset < previous_offset AND coalesce(ordered, true) THEN 'base offset went back'
    END, if(lateness_us > {{limit_us}} AND (NOT is_raw OR outcome = 'answered'), '{UNDECIDED}', NULL)) AS problem
FROM looked_up
"""

# Rows that are rare unless the broker is broken; then they are joined like the large tables.
RARE = {
    "strays": """SELECT run, stray_correlation_id AS correlation_id, min(connection) AS stray_connection
        FROM {requests} WHERE stray_correlation_id IS NOT NULL GROUP BY ALL""",
    "twice": """SELECT run, topic, partition, base_offset, true AS is_twice FROM {requests}
        WHERE base_offset IS NOT NULL GROUP BY run, topic, partition, base_offset HAVING count(*) > 1""",
}
FEW = 100_000  # each executor may well hold this many rows


@dataclass(frozen=True)
class LogTables:
    """The logs that were read back: records (log.LOG_SCHEMA) and their partitions (log.PART_SCHEMA)."""

    records: DataFrame
    parts: DataFrame


def judge(
    spark: SparkSession,
    requests: DataFrame,
    lateness_limit_ms: LatenessLimits = DEFAULT_LATENESS_LIMIT_MS,
    log: LogTables | None = None,
    expected_rows: int | None = None,
    exact: Collection[str] | None = None,
    read_back: Collection[str] = (),
    acted_late_ms: Mapping[str, int] | None = None,
    lags_ms: Mapping[str, Mapping[str, int]] | None = None,
) -> DataFrame:
    """Return the result rows with `handled_us`, `lateness_us`, `early`, the findings in the log (null if it was not
    read), and `problem` (null: confirmed).

    If few rows are expected, Spark need not count rare ones. `exact` are the runs with brokers that do not round
    time-outs down; None means all. `read_back` are the runs of which each partition must have been read back.
    `acted_late_ms` is how late the actions of each run were, `lags_ms` how late its followers have the records of a
    topic."""
    rare = list(RARE) if expected_rows is not None and expected_rows <= FEW else few_of(spark, requests)
    few = ["parts", *rare, *(() if log else ("found", "hidden"))]
    log = log or no_log(spark)
    text = JUDGED.format(
        few=f"/*+ BROADCAST({', '.join(few)}) */",
        by_connection="" if 0 < (expected_rows or 0) <= ROWS_OF_ONE_TASK else "/*+ REPARTITION(run, connection) */",
        limit_us=limit_us(lateness_limit_ms),
        rounding_us=rounding_us(exact),
        read_back=", ".join(map(quoted, read_back)) or "NULL",
        lag_us=by_topic(
            {run: {topic: ms * 1000 for topic, ms in of_run.items()} for run, of_run in (lags_ms or {}).items()}
        ),
        acted_late_us=by_run({run: late_ms * 1000 for run, late_ms in (acted_late_ms or {}).items()}, 0),
        **{name: f"{{{name}}}" for name in ("requests", "records", "parts")},
        **{name: f"({text})" for name, text in RARE.items()},
    )
    return spark.sql(text, requests=requests, records=log.records, parts=log.parts)


def few_of(spark: SparkSession, requests: DataFrame) -> list[str]:
    """Return the names in RARE of which each executor may well hold all rows."""
    counts = ", ".join(f"(SELECT count(*) FROM ({text})) AS {name}" for name, text in RARE.items())
    (counted,) = spark.sql(f"SELECT {counts}", requests=requests).collect()
    return [name for name in RARE if counted[name] <= FEW]


def no_log(spark: SparkSession) -> LogTables:
    """Return empty tables, for a run without a log."""
    return LogTables(*(spark.createDataFrame([], from_arrow_schema(schema)) for schema in (LOG_SCHEMA, PART_SCHEMA)))
