"""Findings in the broker's journal that belong to none of the run's rows of requests, in Spark SQL.

Theory   Each is about one of the run's own topics. Nothing appends to them but the run's requests. A high watermark
         rises, and never passes what was appended. A consumer is shown none that the journal does not have, and under
         one leader none below that of the journal when it asked. A throttle is told to its connection. The epoch of
         each append was elected, or is that of the first append. Epochs rise, and the log does not end under an older
         one. Each append is at the end of the log: where the one before it ended, or where the log of a new leader
         ended.
         Kafka's producer hides the responses that it retries, so its requests have no rows. Their responses are judged
         here, like those of raw requests (by_journal.py). A batch that comes again is a duplicate, and is not appended.
         Its response, too, waits for the high watermark. A request in a transaction may write to the coordinator's log,
         too, and is parked for that write as well: deadlines of producers' requests are not compared.
         An operating system may give the address of the last Fetch to a later connection. Then the journal has two such
         requests, and a rule holds if it holds for one of them.
Shape    Rows like those of mismatches.py. `exchanges` and `judged` are those of by_journal.py. `moves` are those of
         MOVES, in slices (time_slices.py).
"""

from __future__ import annotations

from fakebroker.protocol.error_code import ErrorCode
from fakebroker_load.judging.requests import DEFINITE, TIMED_OUT

NOT_LEADER = int(ErrorCode.not_leader_or_follower)  # behind an append, it needs another leader

# The events that append to a partition or move its high watermark or leader. Later ones are compared with their values.
MOVES = """
SELECT run, topic, partition, seq, event, high_watermark, leader_epoch,
    if(event = 'append', NULL, high_watermark) AS watermark,
    if(event = 'leader_changed', leader_epoch, NULL) AS epoch,
    if(event = 'append', last_offset, NULL) AS appended,
    if(event = 'append' AND base_offset >= 0 AND NOT coalesce(is_duplicate, false), base_offset, NULL) AS begin,
    CASE
        WHEN event = 'append' AND base_offset >= 0 AND NOT coalesce(is_duplicate, false) THEN last_offset + 1
        WHEN event = 'leader_changed' AND log_end_offset >= 0 THEN log_end_offset
    END AS end
FROM {journal} WHERE event IN ('append', 'watermark_moved', 'leader_changed')
"""

BESIDE = f"""
WITH topics AS (SELECT DISTINCT run, topic FROM {{judged}}),
producers AS (SELECT DISTINCT run, concat(client_id, '-') AS name FROM {{judged}} WHERE NOT is_raw),
ours AS (
    SELECT run, request, collect_set(fingerprint) AS fingerprints, max(own_appends) AS own_appends
    FROM {{judged}} WHERE request IS NOT NULL GROUP BY run, request
),
others AS (
    SELECT told.*, judged.request IS NOT NULL AS is_ours, fingerprints, own_appends
    FROM {{exchanges}} AS told
    LEFT JOIN ours AS judged ON judged.run = told.run AND judged.request = told.request
    LEFT ANTI JOIN producers ON producers.run = told.run AND startswith(asked.client_id, producers.name)
),
strange AS (
    SELECT run, request, asked, is_ours, fingerprints, own_appends, explode(appends) AS append FROM others
    WHERE is_ours OR NOT asked.api <=> 'Produce'
),
to_producers AS (
    SELECT told.run, told.request, asked, parked, answer, append, get(produces, 0).acks AS acks,
        get(produces, 0).timeout_ms AS timeout_ms,
        coalesce(append.last_offset, duplicate.last_offset) AS last_offset
    FROM (
        SELECT run, request, asked, parked, produces, answer,
            get(filter(appends, one -> one.topic = answer.topic AND one.partition = answer.partition), 0)
                AS append,
            get(filter(duplicates, one -> one.topic = answer.topic AND one.partition = answer.partition), 0)
                AS duplicate
        FROM (SELECT *, explode(answers) AS answer FROM {{exchanges}} WHERE asked.api = 'Produce')
    ) AS told
    LEFT SEMI JOIN producers ON producers.run = told.run AND startswith(told.asked.client_id, producers.name)
    LEFT SEMI JOIN topics ON topics.run = told.run AND topics.topic = answer.topic
),
wrong_to_producers AS (
    SELECT told.*, CASE
            WHEN acks = -1 AND answer.error_code = 0 AND coalesce(answer.watermark, -1) <= last_offset
                THEN 'acknowledged before its watermark'
            WHEN append IS NOT NULL
                AND (answer.error_code IN ({DEFINITE}) OR answer.error_code = {NOT_LEADER} AND same_leader)
                THEN 'refused, and appended'
            WHEN acks <> -1 AND parked IS NOT NULL THEN 'parked, against its acks'
            WHEN answer.error_code = {TIMED_OUT} AND parked IS NULL THEN 'timed out, and never parked'
            WHEN answer.error_code = {TIMED_OUT} AND answer.watermark > last_offset AND same_leader
                THEN 'timed out after its watermark had passed'
            WHEN answer.error_code = {TIMED_OUT} AND answer.mono_ms < asked.mono_ms + timeout_ms THEN 'early'
        END AS problem
    FROM to_producers AS told LEFT JOIN {{parts}} AS parts
        ON parts.run = told.run AND parts.topic = answer.topic AND parts.partition = answer.partition
),
shown AS (
    SELECT parts.run, parts.topic, parts.partition, parts.start_offset, shown_offset,
        max(get(answers, 0).seq) AS seq, min(get(answers, 0).seq) AS first_seq,
        min(if(same_leader AND shown_offset >= 0, asked.seq, NULL)) AS asked_seq
    FROM {{parts}} AS parts
    JOIN {{exchanges}} AS told ON told.run = parts.run AND asked.api = 'Fetch' AND asked.peer = shown_local
        AND asked.correlation_id = shown_correlation_id
    GROUP BY parts.run, parts.topic, parts.partition, parts.start_offset, shown_offset
),
throttled AS (
    SELECT run, connection AS broker_connection, sum(throttle_ms) AS throttled_ms FROM {{journal}}
    WHERE event = 'throttled' GROUP BY ALL
),
told_of AS (
    SELECT run, broker_connection, min(topic) AS topic, min(partition) AS partition,
        sum(throttle_ms) FILTER (WHERE coalesce(place, 0) = 0) AS told_ms
    FROM {{judged}} WHERE request IS NOT NULL GROUP BY run, broker_connection HAVING bool_and(outcome = 'answered')
),
epochs AS (
    SELECT run, topic, partition, min_by(leader_epoch, journal.seq) FILTER (WHERE event = 'append') AS first,
        collect_set(leader_epoch) FILTER (WHERE event = 'append') AS appended,
        collect_set(leader_epoch) FILTER (WHERE event = 'leader_changed') AS elected,
        max(leader_epoch) FILTER (WHERE event = 'append' OR journal.seq < shown.first_seq) AS newest
    FROM {{journal}} AS journal LEFT JOIN shown USING (run, topic, partition)
    WHERE event IN ('append', 'leader_changed') AND leader_epoch IS NOT NULL GROUP BY run, topic, partition
),
marked AS (
    SELECT run, topic, partition, seq, event, high_watermark, leader_epoch,
        max(epoch) OVER before AS previous_epoch,
        max(appended) OVER so_far + 1 AS log_end,
        last_value(watermark, true) OVER before AS previous,
        begin, last_value(end, true) OVER before AS previous_end
    FROM {{moves}}
    WINDOW so_far AS (PARTITION BY run, topic, partition, slice ORDER BY seq),
        before AS (
            PARTITION BY run, topic, partition, slice ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),
strange_moves AS (
    SELECT marked.run, marked.topic, marked.partition, inline(filter(array(
        if(event <> 'append' AND parts.run IS NOT NULL AND high_watermark > greatest(log_end, start_offset), struct(
            'early' AS kind, 'a watermark beyond what was appended' AS problem, high_watermark AS offset,
            concat('journal: event ', seq, ' has the watermark ', high_watermark, ', and the log ended at ',
                greatest(log_end, start_offset)) AS says), NULL),
        if(event = 'watermark_moved' AND high_watermark <= previous, struct(
            'reordered' AS kind, 'the watermark went back' AS problem, high_watermark AS offset,
            concat('journal: event ', seq, ' has the watermark ', high_watermark, ', and it was ', previous, ' before')
                AS says), NULL),
        if(event = 'leader_changed' AND marked.leader_epoch < previous_epoch, struct(
            'unexplained' AS kind, 'led under an epoch of nobody' AS problem, CAST(NULL AS BIGINT) AS offset,
            concat('journal: event ', seq, ' has the epoch ', marked.leader_epoch, ', and it was ', previous_epoch,
                ' before') AS says), NULL),
        if(begin <> previous_end, struct(
            'wrong offset' AS kind, 'appended away from the log end' AS problem, begin AS offset,
            concat('journal: event ', seq, ' appended at ', begin, ', and the log ended at ', previous_end) AS says),
            NULL)
    ), found -> found IS NOT NULL))
    FROM marked LEFT JOIN {{parts}} AS parts
        ON parts.run = marked.run AND parts.topic = marked.topic AND parts.partition = marked.partition
),
moved AS (
    SELECT run, topic, partition, shown_offset, start_offset,
        max_by(high_watermark, journal.seq) FILTER (WHERE journal.seq < shown.seq) AS watermark,
        max_by(high_watermark, journal.seq) FILTER (WHERE journal.seq < asked_seq) AS least
    FROM shown
    LEFT JOIN (
        SELECT run, topic, partition, seq, high_watermark FROM {{journal}}
        WHERE event IN ('watermark_moved', 'leader_changed') AND high_watermark >= 0
    ) AS journal USING (run, topic, partition)
    GROUP BY run, topic, partition, shown_offset, start_offset
)
SELECT others.run, 'unexplained' AS kind, 'a Produce that the load has not sent' AS problem, produce.topic AS topic,
    produce.partition AS partition, CAST(NULL AS BIGINT) AS offset, asked.correlation_id AS correlation_id,
    concat('journal: request ', request, ' of ', coalesce(asked.peer, 'somebody'), ', client id ',
        coalesce(asked.client_id, 'none')) AS says
FROM (SELECT run, request, asked, explode(produces) AS produce FROM others WHERE asked.api = 'Produce' AND NOT is_ours)
    AS others LEFT SEMI JOIN topics ON topics.run = others.run AND topics.topic = produce.topic
UNION ALL
SELECT strange.run, 'unexplained', 'appended, and sent by nobody', append.topic, append.partition, append.base_offset,
    asked.correlation_id, concat('journal: event ', append.seq, ', in the hand of request ', request)
FROM strange LEFT SEMI JOIN topics ON topics.run = strange.run AND topics.topic = append.topic
WHERE NOT is_ours
   OR own_appends > 0
        AND NOT (forall(append.records, one -> array_contains(fingerprints, one))
            AND (size(append.records) = 0 OR size(append.records) = append.last_offset - append.base_offset + 1))
UNION ALL
SELECT run, CASE
        WHEN problem IN ('early', 'acknowledged before its watermark') THEN 'early'
        WHEN problem = 'refused, and appended' THEN 'ghost'
        ELSE 'wrong answer'
    END, problem, answer.topic, answer.partition, last_offset, asked.correlation_id,
    concat('journal: request ', request, ' of ', asked.client_id, ', acks=', acks, ': error ', answer.error_code,
        ' after ', answer.mono_ms - asked.mono_ms, ' ms of ', timeout_ms, '; ',
        coalesce(concat('its records end at offset ', last_offset), 'nothing was appended'), ', and the watermark was ',
        coalesce(CAST(answer.watermark AS STRING), 'unknown'))
FROM wrong_to_producers WHERE problem IS NOT NULL
UNION ALL
SELECT run, 'early', 'watermark shown too early', topic, partition, shown_offset, NULL,
    concat('a consumer was shown ', shown_offset, ', and the journal has ', coalesce(watermark, start_offset))
FROM moved WHERE shown_offset > coalesce(watermark, start_offset)
UNION ALL
SELECT run, 'wrong answer', 'watermark shown too late', topic, partition, shown_offset, NULL,
    concat('a consumer was shown ', shown_offset, ', and the journal had ', least, ' when it asked')
FROM moved WHERE shown_offset < least
UNION ALL
SELECT run, kind, problem, topic, partition, offset, NULL, says FROM strange_moves
UNION ALL
SELECT parts.run, 'unexplained', 'not in the journal', parts.topic, parts.partition, shown_offset, shown_correlation_id,
    'journal: it does not tell of the Fetch that was shown the watermark'
FROM {{parts}} AS parts LEFT ANTI JOIN shown USING (run, topic, partition)
WHERE shown_local IS NOT NULL AND parts.run IN {{runs}}
UNION ALL
SELECT run, 'wrong answer', 'throttled, and not told', topic, partition, NULL, NULL,
    concat('journal: connection ', broker_connection, ' was muted for ', throttled_ms, ' ms, and told of ', told_ms)
FROM told_of JOIN throttled USING (run, broker_connection) WHERE throttled_ms > coalesce(told_ms, 0)
UNION ALL
SELECT run, 'unexplained', 'led under an epoch of nobody', topic, partition, NULL, NULL,
    concat('log: it ends under epoch ', leader_epoch, '; journal: appended under ', array_join(appended, ', '),
        ', and elected was ', coalesce(nullif(array_join(elected, ', '), ''), 'nobody'))
FROM epochs JOIN {{parts}} AS parts USING (run, topic, partition)
WHERE first IS NOT NULL
    AND (exists(appended, one -> one < first_epoch OR one <> first AND NOT array_contains(elected, one))
    OR leader_epoch <> first AND NOT array_contains(elected, leader_epoch) OR leader_epoch < newest)
"""
