"""The third witness: the broker's journal on each request, in Spark SQL over the rows that are already judged.

Theory   A request is identified in the journal by its connection (our local address) and its correlation id, which is
         unique in a run. A record is identified by its fingerprint, or by its offset if the journal has none. A run's
         journal is complete (journal/window.py), so an event that is not in it did not happen.
         Events are ordered by `seq`. Times are compared on the broker's clock alone, so the time that a request waited
         there needs no other clock. `broker_lateness_us` is that time, without the timeout where the request had to
         wait.
         `journal_problem` is the first contradiction to the journal, in the order of the cases. A null contradicts
         nothing, except where a value is required. In `problem` the log comes first, then the journal, then the
         responses alone: each names the cause better than the next.
         An acks=all request with NONE waited for the high watermark, which must have come before the response. One that
         timed out waited for it in vain.
         A producer that batches (not is_raw) is identified by its client id, and each of its records by the fingerprint
         in an append. It was appended once, or twice if a new leader truncated the first copy.
         A request that timed out was appended. So was one that got NONE, or is silent with acks=0.
         A new leader drops the records at or above its log end. Nothing else explains a missing record. It has its own
         epoch, which the journal must have.
         If a response is late to the client, perhaps because of the load (requests.py), the broker's lateness decides.
         If the broker was not late, the load was.
Units    *_mono_ms is milliseconds of the broker's clock.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.partitions import held
from fakebroker_load.judging.requests import (
    DEFINITE,
    LATE_BY_LOAD,
    TIMED_OUT,
    UNDECIDED,
    LatenessLimits,
    limit_us,
    quoted,
)
from fakebroker_load.scenario.model import DEFAULT_LATENESS_LIMIT_MS

# A row for each request in the journal, with all its events. `watermark` is that of the partition at the response.
# Appends without a request have a row too. Only events that move or need a watermark go through the window: with all
# events, this takes twice as long.
EXCHANGES = """
WITH answers AS (
    SELECT run, request, seq, event, connection, outcome, topic, partition, error_code, base_offset, mono_ms,
        last_value(nullif(high_watermark, -1), true)
            OVER (PARTITION BY run, topic, partition, if(topic IS NULL, seq, 0) ORDER BY seq) AS watermark
    FROM {journal} WHERE event IN ('answer', 'watermark_moved', 'leader_changed')
),
told AS (
    SELECT run, request,
        if(event = 'request',
            struct(peer, correlation_id, client_id, api, connection, mono_ms, received_mono_ms, seq), NULL) AS asked,
        if(event = 'produce', struct(seq, topic, partition, acks, timeout_ms), NULL) AS produce,
        NULL AS answer,
        if(event = 'parked', struct(seq, mono_ms, deadline_mono_ms), NULL) AS parked,
        if(event = 'append' AND error_code = 0 AND NOT is_duplicate AND NOT coalesce(is_marker, false),
            struct(seq, topic, partition, base_offset, last_offset, fingerprint), NULL) AS append,
        if(event = 'append', struct(topic, partition), NULL) AS place
    FROM {journal} WHERE request IS NOT NULL AND event IN ('request', 'produce', 'parked', 'append')
    UNION ALL
    SELECT run, request, NULL, NULL,
        struct(seq, connection, outcome, error_code, base_offset, mono_ms, watermark, topic, partition), NULL, NULL,
        NULL
    FROM answers WHERE request IS NOT NULL AND event = 'answer'
)
SELECT run, request, min(asked) AS asked, min(produce) AS produce, min(answer) AS answer,
    min(parked) AS parked, collect_list(append) AS appends, collect_set(place) AS places, count(asked) AS asks,
    count(answer) AS answers
FROM told GROUP BY run, request
"""

JUDGED = f"""
WITH known AS (
    SELECT run, asked.peer AS local, asked.correlation_id AS correlation_id, count(*) AS times_asked,
        min(struct(request, asked, produce, answer, parked, appends, places, asks, answers)) AS told
    FROM {{exchanges}} WHERE asked.api = 'Produce' GROUP BY ALL
),
recorded AS (
    SELECT run AS in_run, fingerprint AS of_record, count(*) AS times, min(base_offset + place) AS recorded_offset,
        min(struct(topic, partition)) AS recorded
    FROM (SELECT run, topic, partition, base_offset, posexplode(records) AS (place, fingerprint) FROM {{journal}}
        WHERE event = 'append' AND error_code = 0 AND NOT is_duplicate AND NOT coalesce(is_marker, false))
    GROUP BY run, fingerprint
),
led AS (
    SELECT run, topic, partition, collect_list(struct(seq, log_end_offset)) AS leaders FROM {{journal}}
    WHERE event = 'leader_changed' AND log_end_offset >= 0 GROUP BY ALL
),
compared AS (
    SELECT judged.*, times, recorded_offset, recorded, times_asked,
        told.request AS request, told.produce AS asked_for, told.answer AS answer,
        told.parked AS parked, told.asked.connection AS broker_connection, told.asked.seq AS asked_seq,
        told.asked.client_id AS told_client_id, told.asks AS asks, told.answers AS answers, told.appends AS all_appends,
        told.places AS places,
        told.asked.mono_ms AS handled_mono_ms, told.asked.received_mono_ms AS received_mono_ms,
        coalesce(size(told.appends), 0) AS appends,
        filter(told.appends, one -> coalesce(one.fingerprint = fingerprint, true) AND one.base_offset = one.last_offset)
            AS own,
        outcome = 'silent' OR error_code IN (0, {TIMED_OUT}) OR written <=> 'once' AS must_be_appended
    FROM {{judged}} AS judged LEFT JOIN known USING (run, local, correlation_id)
    LEFT JOIN recorded ON NOT is_raw AND in_run = run AND of_record = fingerprint
),
numbered AS (
    SELECT compared.*, leaders, coalesce(size(own), 0) AS own_appends, get(own, 0) AS append,
        if(due_high_us IS NULL AND answer.outcome = 'sent',
            (answer.mono_ms - handled_mono_ms - if(must_wait, timeout_ms, 0)) * 1000L, NULL) AS broker_lateness_us
    FROM compared LEFT JOIN led USING (run, topic, partition)
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
                WHEN times = 1 AND NOT (recorded.topic <=> topic AND recorded.partition <=> partition)
                    THEN 'appended to another partition'
                WHEN times = 1 AND copies IS NULL AND recorded_offset < readable_offset AND same_leader
                    THEN 'appended, and not in the log'
                WHEN times = 1 AND copies = 1 AND log_offset <> recorded_offset AND same_leader THEN 'moved in the log'
                WHEN times = 1 AND base_offset <> recorded_offset AND same_leader
                    THEN 'told another offset than appended'
            END
            WHEN request IS NULL THEN if(outcome IN ('answered', 'silent'), 'not in the journal', NULL)
            WHEN times_asked > 1 OR asks > 1 THEN 'handled twice'
            WHEN answers > 1 THEN 'answered twice'
            WHEN NOT (asked_for.topic <=> topic AND asked_for.partition <=> partition AND asked_for.acks <=> acks
                AND asked_for.timeout_ms <=> timeout_ms AND coalesce(told_client_id = client_id, true))
                THEN 'read as another request'
            WHEN received_mono_ms > handled_mono_ms + 1 THEN 'handled before it was received'
            WHEN answer IS NOT NULL AND NOT answer.connection <=> broker_connection
                THEN 'answered on another connection'
            WHEN own_appends > 1 THEN 'appended twice'
            WHEN appends > 0 AND own_appends = 0 THEN 'altered before it was appended'
            WHEN exists(places, one -> one.topic <> topic OR one.partition <> partition)
                THEN 'appended to another partition'
            WHEN asked_for.seq < asked_seq OR parked.seq < asked_for.seq
                OR exists(all_appends, one -> one.seq < asked_for.seq) THEN 'done before it was asked for'
            WHEN answer.seq < greatest(asked_for.seq, parked.seq)
                OR exists(all_appends, one -> one.seq > answer.seq) THEN 'answered before it was done'
            WHEN exists(all_appends, one -> one.seq > parked.seq) THEN 'parked before it was appended'
            WHEN appends > 0 AND copies IS NULL AND append.base_offset < readable_offset AND NOT coalesce(
                exists(leaders, one -> one.seq > append.seq AND one.log_end_offset <= append.base_offset), false)
                THEN 'appended, and not in the log'
            WHEN appends = 0 AND copies > 0 THEN 'in the log, and never appended'
            WHEN copies = 1 AND log_offset <> append.base_offset AND same_leader THEN 'moved in the log'
            WHEN outcome = 'answered' AND NOT answer.outcome <=> 'sent' THEN 'answered by nobody'
            WHEN outcome = 'no answer' AND answer.outcome = 'sent' AND stray_connection IS NULL
                THEN 'its answer did not come'
            WHEN outcome = 'answered' AND NOT (error_code <=> answer.error_code AND base_offset <=> answer.base_offset
                AND answer.topic <=> topic AND answer.partition <=> partition)
                THEN 'told otherwise than the journal says'
            WHEN outcome = 'silent' AND answer.outcome <> 'none' THEN 'told otherwise than the journal says'
            WHEN appends = 0 AND must_be_appended THEN 'never appended'
            WHEN appends > 0 AND answer.error_code IN ({DEFINITE}) THEN 'refused, and appended'
            WHEN base_offset <> append.base_offset AND (base_offset >= 0 OR error_code IN (0, {TIMED_OUT}))
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
    FROM numbered
)
SELECT * EXCEPT (problem, early, asked_for, own, parked, recorded, asked_seq, told_client_id, asks, answers,
        all_appends, places, leaders),
    parked.deadline_mono_ms AS deadline_mono_ms,
    coalesce(found_problem, journal_problem,
        if(problem = '{UNDECIDED}' AND broker_lateness_us <= {{limit_us}}, '{LATE_BY_LOAD}', problem)) AS problem,
    coalesce(early, false) OR coalesce(journal_problem = 'early', false) AS early
FROM said
"""

# Events about the run's own topics that belong to none of its requests.
BESIDE = """
WITH topics AS (SELECT DISTINCT run, topic FROM {judged}),
producers AS (SELECT DISTINCT run, concat(client_id, '-') AS name FROM {judged} WHERE NOT is_raw),
others AS (
    SELECT told.*, judged.request IS NOT NULL AS is_ours, judged.fingerprint, judged.own_appends
    FROM {exchanges} AS told
    LEFT JOIN {judged} AS judged ON judged.run = told.run AND judged.request = told.request
    LEFT ANTI JOIN producers ON producers.run = told.run AND startswith(asked.client_id, producers.name)
),
strange AS (
    SELECT run, request, asked, is_ours, fingerprint, own_appends, explode(appends) AS append FROM others
    WHERE is_ours OR NOT asked.api <=> 'Produce'
),
shown AS (
    SELECT parts.run, parts.topic, parts.partition, parts.start_offset, shown_offset, answer.seq
    FROM {parts} AS parts
    JOIN {exchanges} AS told ON told.run = parts.run AND asked.api = 'Fetch' AND asked.peer = shown_local
        AND asked.correlation_id = shown_correlation_id
),
throttled AS (
    SELECT run, connection AS broker_connection, sum(throttle_ms) AS throttled_ms FROM {journal}
    WHERE event = 'throttled' GROUP BY ALL
),
told_of AS (
    SELECT run, broker_connection, topic, min(partition) AS partition, sum(throttle_ms) AS told_ms FROM {judged}
    WHERE request IS NOT NULL GROUP BY ALL HAVING bool_and(outcome = 'answered')
),
epochs AS (
    SELECT run, topic, partition, min_by(leader_epoch, seq) FILTER (WHERE event = 'append') AS first,
        collect_set(leader_epoch) FILTER (WHERE event = 'append') AS appended,
        collect_set(leader_epoch) FILTER (WHERE event = 'leader_changed') AS elected
    FROM {journal} WHERE event IN ('append', 'leader_changed') AND leader_epoch IS NOT NULL GROUP BY ALL
),
marked AS (
    SELECT run, topic, partition, seq, event, high_watermark,
        max(if(event = 'append', last_offset, NULL)) OVER so_far + 1 AS appended,
        last_value(if(event = 'append', NULL, high_watermark), true) OVER before AS previous
    FROM {journal} WHERE event IN ('append', 'watermark_moved', 'leader_changed')
    WINDOW so_far AS (PARTITION BY run, topic, partition ORDER BY seq),
        before AS (PARTITION BY run, topic, partition ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
moved AS (
    SELECT run, topic, partition, shown_offset, start_offset,
        max_by(high_watermark, journal.seq) FILTER (WHERE journal.seq < shown.seq) AS watermark
    FROM shown
    LEFT JOIN (
        SELECT run, topic, partition, seq, high_watermark FROM {journal}
        WHERE event IN ('watermark_moved', 'leader_changed') AND high_watermark >= 0
    ) AS journal USING (run, topic, partition)
    GROUP BY run, topic, partition, shown_offset, start_offset
)
SELECT others.run, 'unexplained' AS kind, 'a Produce that the load has not sent' AS problem, produce.topic AS topic,
    produce.partition AS partition, CAST(NULL AS BIGINT) AS offset, asked.correlation_id AS correlation_id,
    concat('journal: request ', request, ' of ', coalesce(asked.peer, 'somebody'), ', client id ',
        coalesce(asked.client_id, 'none')) AS says
FROM others LEFT SEMI JOIN topics ON topics.run = others.run AND topics.topic = produce.topic
WHERE asked.api = 'Produce' AND NOT is_ours
UNION ALL
SELECT strange.run, 'unexplained', 'appended, and sent by nobody', append.topic, append.partition, append.base_offset,
    asked.correlation_id, concat('journal: event ', append.seq, ', in the hand of request ', request)
FROM strange LEFT SEMI JOIN topics ON topics.run = strange.run AND topics.topic = append.topic
WHERE NOT is_ours
   OR own_appends > 0
        AND NOT (coalesce(append.fingerprint = fingerprint, true) AND append.base_offset = append.last_offset)
UNION ALL
SELECT run, 'early', 'watermark shown too early', topic, partition, shown_offset, NULL,
    concat('a consumer was shown ', shown_offset, ', and the journal has ', coalesce(watermark, start_offset))
FROM moved WHERE shown_offset > coalesce(watermark, start_offset)
UNION ALL
SELECT run, 'early', 'a watermark beyond what was appended', topic, partition, high_watermark, NULL,
    concat('journal: event ', seq, ' has the watermark ', high_watermark, ', and the log ended at ',
        greatest(appended, start_offset))
FROM marked JOIN {parts} AS parts USING (run, topic, partition)
WHERE event <> 'append' AND high_watermark > greatest(appended, start_offset)
UNION ALL
SELECT run, 'reordered', 'the watermark went back', topic, partition, high_watermark, NULL,
    concat('journal: event ', seq, ' has the watermark ', high_watermark, ', and it was ', previous, ' before')
FROM marked WHERE event = 'watermark_moved' AND high_watermark <= previous
UNION ALL
SELECT parts.run, 'unexplained', 'not in the journal', parts.topic, parts.partition, shown_offset, shown_correlation_id,
    'journal: it does not tell of the Fetch that was shown the watermark'
FROM {parts} AS parts LEFT ANTI JOIN shown USING (run, topic, partition)
WHERE shown_local IS NOT NULL AND parts.run IN {runs}
UNION ALL
SELECT run, 'wrong answer', 'throttled, and not told', topic, partition, NULL, NULL,
    concat('journal: connection ', broker_connection, ' was muted for ', throttled_ms, ' ms, and told of ', told_ms)
FROM told_of JOIN throttled USING (run, broker_connection) WHERE throttled_ms > coalesce(told_ms, 0)
UNION ALL
SELECT run, 'unexplained', 'led under an epoch of nobody', topic, partition, NULL, NULL,
    concat('log: it ends under epoch ', leader_epoch, '; journal: appended under ', array_join(appended, ', '),
        ', and elected was ', coalesce(nullif(array_join(elected, ', '), ''), 'nobody'))
FROM epochs JOIN {parts} AS parts USING (run, topic, partition)
WHERE first IS NOT NULL
    AND (exists(appended, one -> one < first_epoch OR one <> first AND NOT array_contains(elected, one))
    OR leader_epoch <> first AND NOT array_contains(elected, leader_epoch))
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
) -> tuple[DataFrame, DataFrame]:
    """Return the judged rows (judging/requests.py) with the findings of the journal (journal/lines.py), for the `runs`
    that have one. Also return a row for each event that belongs to no request. `keep` stores the first, which several
    queries read."""
    if not runs:
        raise ValueError("there is no journal of any run")
    names = ", ".join(map(quoted, runs))
    # Several queries read it. If it were cached, Spark would plan everything behind it each time, which takes longer
    # than the work.
    exchanges = held(spark.sql(EXCHANGES, journal=journal))
    text = JUDGED.format(
        exchanges="{exchanges}",
        judged="{judged}",
        journal="{journal}",
        runs=f"({names})",
        limit_us=limit_us(lateness_limit_ms),
    )
    all_judged = keep(spark.sql(text, exchanges=exchanges, judged=judged, journal=journal))
    text = BESIDE.format(
        runs=f"({names})", **{each: f"{{{each}}}" for each in ("judged", "exchanges", "journal", "parts")}
    )
    beside = held(spark.sql(text, judged=all_judged, exchanges=exchanges, journal=journal, parts=parts))
    return all_judged, beside
