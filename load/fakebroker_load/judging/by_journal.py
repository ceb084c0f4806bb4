"""The third witness: the broker's journal on each request, in Spark SQL over the rows that are already judged.

Theory   A request is identified in the journal by its connection (our local address) and its correlation id, which is
         unique in a run. A row has its own partition of the request: what was asked for there, appended and answered.
         The batch of that partition has the records of all rows of the request with this partition, in their order. A
         record is identified by its fingerprint, or by its offset if the journal has none. A run's journal is complete
         (journal/window.py), so an event that is not in it did not happen.
         Events are ordered by `seq`. Times are compared on the broker's clock alone, so the time that a request waited
         there needs no other clock. `broker_lateness_us` is that time, without the timeout where the request had to
         wait.
         `journal_problem` is the first contradiction to the journal, in the order of the cases. A null contradicts
         nothing, except where a value is required. In `problem` the log comes first, then the journal, then the
         responses alone: each names the cause better than the next.
         An acks=all request with NONE waited for the high watermark, which must have come before the response. One that
         timed out waited for it in vain.
         A producer that batches (not is_raw) is identified by its client id, and each of its records by the fingerprint
         in an append. It was appended once, or twice if a new leader truncated the first copy, or once in each
         transaction that was tried. Each copy in the log stands where one of these appends was.
         A request that timed out was appended. So was one that got NONE or NOT_ENOUGH_REPLICAS_AFTER_APPEND, or is
         silent with acks=0.
         A new leader drops the records at or above its log end. Nothing else explains a missing record. It has its own
         epoch, which the journal must have.
         If a response is late to the client, perhaps because of the load (requests.py), the broker's lateness decides.
         If the broker was not late, the load was.
Units    *_mono_ms is milliseconds of the broker's clock.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.beside import BESIDE, MOVES
from fakebroker_load.judging.partitions import held
from fakebroker_load.judging.requests import AFTER_APPEND, DEFINITE, LATE_BY_LOAD, TIMED_OUT, UNDECIDED
from fakebroker_load.judging.sql import LatenessLimits, limit_us, quoted
from fakebroker_load.judging.time_slices import in_slices
from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS

# Only events that move or need a watermark go through the window: with all events, this takes twice as long.
ANSWERS = """
SELECT run, request, seq, event, connection, outcome, topic, partition, error_code, base_offset, mono_ms,
    nullif(high_watermark, -1) AS watermark
FROM {journal} WHERE event IN ('answer', 'watermark_moved', 'leader_changed')
"""

# A row for each request in the journal, with all its events. `watermark` is that of the partition at the response.
# Appends without a request have a row too. Rows are distributed before they are grouped. To group parts of the journal
# first takes more time. Spark sorts by the first column of the grouping, so that is not the run.
EXCHANGES = """
WITH answers AS (
    SELECT * EXCEPT (watermark), last_value(watermark, true)
        OVER (PARTITION BY run, topic, partition, slice, if(topic IS NULL, seq, 0) ORDER BY seq) AS watermark
    FROM {answers}
),
told AS (
    SELECT run, request,
        if(event = 'request',
            struct(peer, correlation_id, client_id, api, connection, mono_ms, received_mono_ms, seq), NULL) AS asked,
        if(event = 'produce', struct(seq, topic, partition, acks, timeout_ms), NULL) AS produce,
        NULL AS answer,
        if(event = 'parked', struct(seq, mono_ms, deadline_mono_ms), NULL) AS parked,
        if(event = 'append' AND error_code = 0 AND NOT is_duplicate AND NOT coalesce(is_marker, false),
            struct(seq, topic, partition, base_offset, last_offset, records), NULL) AS append,
        if(event = 'append' AND error_code = 0 AND is_duplicate, struct(topic, partition, last_offset), NULL)
            AS duplicate,
        if(event = 'append', struct(topic, partition), NULL) AS place
    FROM {journal} WHERE request IS NOT NULL AND event IN ('request', 'produce', 'parked', 'append')
    UNION ALL
    SELECT run, request, NULL, NULL,
        struct(seq, connection, outcome, error_code, base_offset, mono_ms, watermark, topic, partition), NULL, NULL,
        NULL, NULL
    FROM answers WHERE request IS NOT NULL AND event = 'answer'
)
SELECT run, request, min(asked) AS asked, collect_list(produce) AS produces, collect_list(answer) AS answers,
    min(parked) AS parked, collect_list(append) AS appends, collect_list(duplicate) AS duplicates,
    collect_set(place) AS places, count(asked) AS asks
FROM (SELECT /*+ REPARTITION(run, request) */ * FROM told) GROUP BY request, run
"""

# `rest` has the columns that the next steps only pass on. Spark copies each row in each step, and one column is copied
# faster than fifty.
JUDGED = f"""
WITH known AS (
    SELECT run, local, correlation_id, count(*) AS times_asked,
        min(struct(request, asked, produces, answers, parked, appends, places, asks)) AS told
    FROM (
        SELECT /*+ REPARTITION(run, local, correlation_id) */ *, asked.peer AS local,
            asked.correlation_id AS correlation_id
        FROM {{exchanges}} WHERE asked.api = 'Produce'
    ) GROUP BY run, local, correlation_id
),
recorded AS (
    SELECT run AS in_run, fingerprint AS of_record, count(*) AS times, min(base_offset + place) AS recorded_offset,
        collect_set(struct(topic, partition, base_offset + place AS offset)) AS recorded_at
    FROM (SELECT run, topic, partition, base_offset, posexplode(records) AS (place, fingerprint) FROM {{journal}}
        WHERE event = 'append' AND error_code = 0 AND NOT is_duplicate AND NOT coalesce(is_marker, false))
    GROUP BY run, fingerprint
),
led AS (
    SELECT run, topic, partition, collect_list(struct(seq, log_end_offset)) AS leaders FROM {{journal}}
    WHERE event = 'leader_changed' AND log_end_offset >= 0 GROUP BY ALL
),
compared AS (
    SELECT judged.*, times_asked, told,
        collect_list(struct(topic, partition, sequence)) OVER (PARTITION BY run, local, correlation_id) AS beside,
        filter(told.produces, one -> one.topic <=> topic AND one.partition <=> partition) AS produces,
        filter(told.answers, one -> coalesce(one.topic = topic AND one.partition = partition, true)) AS answers,
        filter(told.appends, one -> one.topic <=> topic AND one.partition <=> partition) AS batches
    FROM (
        SELECT run, local, correlation_id, topic, partition, sequence, fingerprint, is_raw,
            struct(* EXCEPT (run, local, correlation_id, topic, partition, sequence, fingerprint, is_raw)) AS rest
        FROM {{judged}}
    ) AS judged LEFT JOIN known USING (run, local, correlation_id)
),
sized AS (
    SELECT * EXCEPT (beside, in_run, of_record, recorded_offset), recorded_offset AS recorded_first,
        array_distinct(transform(beside, one -> struct(one.topic, one.partition))) AS sent_to,
        size(filter(beside, one -> one.topic <=> topic AND one.partition <=> partition)) AS batch_size,
        size(filter(beside, one -> one.topic <=> topic AND one.partition <=> partition AND one.sequence < sequence))
            AS place_in_batch
    FROM compared LEFT JOIN recorded ON {{by_fingerprint}} AND NOT is_raw AND in_run = run AND of_record = fingerprint
),
placed AS (
    SELECT * EXCEPT (told),
        told.request AS request, told.parked AS parked, told.appends AS all_appends, told.places AS places,
        told.asked.connection AS broker_connection, told.asked.seq AS asked_seq,
        told.asked.client_id AS told_client_id, told.asks AS asks,
        told.asked.mono_ms AS handled_mono_ms, told.asked.received_mono_ms AS received_mono_ms,
        coalesce(get(produces, 0), get(told.produces, 0)) AS asked_for,
        coalesce(get(answers, 0), get(told.answers, 0)) AS answer,
        size(array_distinct(transform(told.produces, one -> struct(one.topic, one.partition))))
            <> size(sent_to) AS asks_for_others,
        coalesce(size(batches), 0) AS appends,
        filter(batches, one -> one.last_offset - one.base_offset + 1 = batch_size
            AND (size(one.records) = 0
                OR size(one.records) = batch_size AND get(one.records, place_in_batch) = fingerprint)) AS own,
        rest.outcome = 'silent' OR rest.error_code IN (0, {TIMED_OUT}, {AFTER_APPEND}) OR rest.written <=> 'once'
            AS must_be_appended
    FROM sized
),
numbered AS (
    SELECT /*+ BROADCAST(led) */ placed.*, leaders, coalesce(size(own), 0) AS own_appends, get(own, 0) AS append,
        if(is_raw, get(own, 0).base_offset + place_in_batch, recorded_first) AS recorded_offset,
        if(rest.due_high_us IS NULL AND answer.outcome = 'sent',
            (answer.mono_ms - handled_mono_ms - if(rest.must_wait, rest.timeout_ms, 0)) * 1000L, NULL)
            AS broker_lateness_us
    FROM placed LEFT JOIN led USING (run, topic, partition)
),
unpacked AS (
    SELECT * EXCEPT (rest), rest.* FROM numbered
),
said AS (
    SELECT *,
        CASE
            WHEN run NOT IN {{runs}} THEN NULL
            WHEN NOT is_raw THEN CASE
                WHEN times > 1 AND same_leader AND client = 'producer' THEN 'appended twice'
                WHEN times > 0 AND outcome IN ('expired', 'refused') THEN 'given up before it was sent, and appended'
                WHEN times IS NULL AND copies > 0 THEN 'in the log, and never appended'
                WHEN times IS NULL AND (error_code = 0 OR written = 'once') THEN 'never appended'
                WHEN exists(recorded_at, at -> at.topic <> topic OR at.partition <> partition)
                    THEN 'appended to another partition'
                WHEN exists(hidden, one -> NOT exists(recorded_at, at -> at.topic = one.topic
                    AND at.partition = one.partition AND at.offset = one.offset))
                    OR times > 1 AND copies > 0 AND NOT exists(recorded_at,
                        at -> at.topic = log_topic AND at.partition = log_partition AND at.offset = log_offset)
                    THEN 'in the log, and never appended'
                WHEN times = 1 AND copies IS NULL AND recorded_offset < readable_offset AND same_leader
                    THEN 'appended, and not in the log'
                WHEN times = 1 AND copies = 1 AND log_offset <> recorded_offset THEN 'moved in the log'
                WHEN times = 1 AND base_offset <> recorded_offset THEN 'told another offset than appended'
            END
            WHEN request IS NULL THEN if(outcome IN ('answered', 'silent'), 'not in the journal', NULL)
            WHEN times_asked > 1 OR asks > 1 THEN 'handled twice'
            WHEN size(answers) > 1 THEN 'answered twice'
            WHEN NOT (asked_for.topic <=> topic AND asked_for.partition <=> partition AND asked_for.acks <=> acks
                AND asked_for.timeout_ms <=> timeout_ms AND coalesce(told_client_id = client_id, true))
                OR asks_for_others THEN 'read as another request'
            WHEN received_mono_ms > handled_mono_ms + 1 THEN 'handled before it was received'
            WHEN answer IS NOT NULL AND NOT answer.connection <=> broker_connection
                THEN 'answered on another connection'
            WHEN own_appends > 1 THEN 'appended twice'
            WHEN appends > 0 AND own_appends = 0 THEN 'altered before it was appended'
            WHEN exists(places, one -> NOT array_contains(sent_to, one))
                THEN 'appended to another partition'
            WHEN asked_for.seq < asked_seq OR parked.seq < asked_for.seq
                OR exists(all_appends, one -> one.seq < asked_for.seq) THEN 'done before it was asked for'
            WHEN answer.seq < greatest(asked_for.seq, parked.seq)
                OR exists(all_appends, one -> one.seq > answer.seq) THEN 'answered before it was done'
            WHEN exists(all_appends, one -> one.seq > parked.seq) THEN 'parked before it was appended'
            WHEN appends > 0 AND copies IS NULL AND hidden IS NULL AND recorded_offset < readable_offset
                AND NOT coalesce(
                    exists(leaders, one -> one.seq > append.seq AND one.log_end_offset <= recorded_offset), false)
                THEN 'appended, and not in the log'
            WHEN appends = 0 AND copies > 0 THEN 'in the log, and never appended'
            WHEN copies = 1 AND log_offset <> recorded_offset THEN 'moved in the log'
            WHEN outcome = 'answered' AND NOT answer.outcome <=> 'sent' THEN 'answered by nobody'
            WHEN outcome = 'no answer' AND answer.outcome = 'sent' AND stray_connection IS NULL
                THEN 'its answer did not come'
            WHEN outcome = 'answered' AND NOT (error_code <=> answer.error_code
                AND base_offset <=> answer.base_offset + if(answer.base_offset >= 0, place_in_batch, 0)
                AND answer.topic <=> topic AND answer.partition <=> partition)
                THEN 'told otherwise than the journal says'
            WHEN outcome = 'silent' AND answer.outcome <> 'none' THEN 'told otherwise than the journal says'
            WHEN appends = 0 AND must_be_appended THEN 'never appended'
            WHEN appends > 0 AND answer.error_code IN ({DEFINITE}) THEN 'refused, and appended'
            WHEN base_offset <> recorded_offset AND (base_offset >= 0 OR error_code IN (0, {TIMED_OUT}))
                THEN 'told another offset than appended'
            WHEN base_offset >= 0 AND appends = 0 THEN 'told an offset, and never appended'
            WHEN acks = -1 AND answer.error_code = 0 AND coalesce(answer.watermark, -1) <= append.last_offset
                THEN 'acknowledged before its watermark'
            WHEN acks = -1 AND answer.error_code = {TIMED_OUT} AND answer.watermark > append.last_offset AND same_leader
                THEN 'timed out after its watermark had passed'
            WHEN answer.error_code = {TIMED_OUT}
                AND answer.mono_ms < greatest(handled_mono_ms + timeout_ms, parked.deadline_mono_ms) THEN 'early'
            WHEN parked IS NOT NULL AND acks <> -1 THEN 'parked, against its acks'
            WHEN parked.deadline_mono_ms NOT BETWEEN parked.mono_ms + timeout_ms - 1 AND parked.mono_ms + timeout_ms + 1
                THEN 'parked until another time'
            WHEN acks = -1 AND answer.error_code = {TIMED_OUT} AND parked IS NULL THEN 'timed out, and never parked'
            WHEN broker_lateness_us > {{limit_us}} THEN 'late'
        END AS journal_problem
    FROM unpacked
)
SELECT * EXCEPT (problem, early, asked_for, own, parked, recorded_first, recorded_at, asked_seq,
        told_client_id, asks, asks_for_others, answers, produces, batches, batch_size, place_in_batch, sent_to,
        all_appends, places, leaders),
    parked.deadline_mono_ms AS deadline_mono_ms,
    coalesce(found_problem, journal_problem,
        if(problem = '{UNDECIDED}' AND broker_lateness_us <= {{limit_us}}, '{LATE_BY_LOAD}', problem)) AS problem,
    coalesce(early, false) OR coalesce(journal_problem = 'early', false) AS early
FROM said
"""

# How far the broker's clock is ahead of the run's: requests are received after they are sent, and responses are seen
# after they are sent.
CLOCKS = """
SELECT run, max(answer.mono_ms * 1000 - 1000 - answered_us) AS low_us,
    min(received_mono_ms * 1000 - sent_us) AS high_us
FROM {judged} WHERE outcome = 'answered' AND answer.outcome = 'sent' GROUP BY run
"""


def judge_by_journal(
    spark: SparkSession,
    judged: DataFrame,
    journal: DataFrame,
    parts: DataFrame,
    runs: list[str],
    lateness_limit_ms: LatenessLimits = DEFAULT_LATENESS_LIMIT_MS,
    keep: Callable[[DataFrame], DataFrame] = held,
    slices: int = 1,
    by_fingerprint: bool = True,
) -> tuple[DataFrame, DataFrame]:
    """Return the judged rows (judging/requests.py) with the findings of the journal (journal/lines.py), for the `runs`
    that have one. Also return a row for each event that belongs to no request. `keep` stores the first, which several
    queries read. `slices` is into how many slices of time the events of a partition are cut (time_slices.py).
    `by_fingerprint` may be false if no row is of a producer that batches: only its records are looked up by their
    fingerprints."""
    if not runs:
        raise ValueError("there is no journal of any run")
    names = ", ".join(map(quoted, runs))
    # Several queries read it. If it were cached, Spark would plan everything behind it each time, which takes longer
    # than the work.
    answers = in_slices(spark, spark.sql(ANSWERS, journal=journal), slices, last=("watermark",))
    exchanges = held(spark.sql(EXCHANGES, journal=journal, answers=answers))
    text = JUDGED.format(
        exchanges="{exchanges}",
        judged="{judged}",
        journal="{journal}",
        runs=f"({names})",
        limit_us=limit_us(lateness_limit_ms),
        by_fingerprint=str(by_fingerprint).lower(),
    )
    all_judged = keep(spark.sql(text, exchanges=exchanges, judged=judged, journal=journal))
    moves = in_slices(
        spark, spark.sql(MOVES, journal=journal), slices, last=("watermark", "end"), greatest=("epoch", "appended")
    )
    text = BESIDE.format(
        runs=f"({names})", **{name: f"{{{name}}}" for name in ("judged", "exchanges", "journal", "moves", "parts")}
    )
    beside = held(spark.sql(text, judged=all_judged, exchanges=exchanges, journal=journal, moves=moves, parts=parts))
    return all_judged, beside
