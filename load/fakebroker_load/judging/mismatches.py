"""Every mismatch as a row with a reason: requests that are not confirmed, and findings that no request explains.

Shape    MISMATCH_COLUMNS. `kind` is one of a few, `problem` is more specific. `says` has the statements of client, log
         and journal. A row that belongs to no request lacks `group` and the columns after it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.requests import LATE, LATE_BY_LOAD, UNDECIDED, LogTables

MISMATCH_COLUMNS = (
    *("run", "kind", "problem", "group", "connection", "sequence", "correlation_id"),
    *("topic", "partition", "offset", "says"),
)

KINDS: dict[str, tuple[str, ...]] = {
    "lost": (
        *("not read", "gave up", "not committed to the end"),
        *("records gone", "not on a follower", "another log on a follower", "unreadable on a follower"),
        *("offsets without a record", "a record beside the log"),
        "lost",
        "committed, and not shown",
        *("timed out, not appended", "refused after its append, not appended"),
        "appended, and not in the log",
        "never appended",
    ),
    "ghost": (
        "written, and must not be",
        "given up before it was sent, and written",
        "given up before it was sent, and appended",
        "refused, and written",
        "refused, and appended",
        "in the log, and never appended",
    ),
    "duplicated": ("duplicated", "appended twice", "handled twice", "answered twice", "counted twice", "read twice"),
    "reordered": (
        "reordered",
        "out of order",
        "correlation id went back",
        *("done before it was asked for", "answered before it was done", "handled before it was received"),
        "base offset went back",
        "read out of order",
        "the watermark went back",
    ),
    "altered": (
        *("altered", "altered before it was appended", "read as another request", "garbled", "read altered"),
        *("stored with a wrong CRC", "stored with times that its records do not have", "stored with another time"),
        *("stored under an epoch of nobody", "stored as of half a producer", "stored as of a producer"),
        *("read with a wrong CRC", "read with times that its records do not have", "read as of half a producer"),
        *("stored as of a transaction", "stored as of no transaction"),
        *("its sequence does not follow", "told another append time", "stored in another compression"),
    ),
    "wrong offset": (
        "told another offset",
        *("told another offset than appended", "read at another offset than told"),
        "told an offset, and never appended",
        *("moved in the log", "appended away from the log end"),
        "base offset given twice",
        "base offset with an error",
        "no base offset",
    ),
    "wrong partition": ("in another partition", "appended to another partition", "read in another partition"),
    "early": (
        *(
            "early",
            "sent before its time",
            "answered before it was sent",
            "answered while throttled",
            "acknowledged before its watermark",
            "watermark shown too early",
            "a watermark beyond what was appended",
        ),
        "read beyond the watermark",
    ),
    "group": (
        *("given to two members", "committed by an old generation", "committed after it had left"),
        *("committed before it was read", "generation went back", "a commit is gone", "committed beyond the log"),
    ),
    "late": (LATE, LATE_BY_LOAD, UNDECIDED),
    "unanswered": (
        "no answer",
        "closed",
        "not sent",
        *("expired", "expired in flight", "refused"),
        "silent",
        *("no outcome", "no time", "rows of one request differ"),
        *("answered on another connection", "its answer did not come"),
    ),
    "wrong answer": (
        *("wrong answer", "answered, against acks=0", "told otherwise than the journal says"),
        "parked before it was appended",
        *("parked, against its acks", "parked until another time", "timed out, and never parked"),
        "throttled, and not told",
        *("timed out after its watermark had passed", "watermark shown too late"),
    ),
    "unexplained": (
        "not in the journal",
        "answered by nobody",
        *("in the log, and sent by nobody", "read, and sent by nobody"),
        *("a Produce that the load has not sent", "an answer that it had not asked for"),
        *("appended, and sent by nobody", "led under an epoch of nobody"),
    ),
    "not readable": ("not readable", "not read back"),
    "metadata": (
        *("led by a replica that is not in sync", "in sync, and no replica", "offline, and no replica or its leader"),
    ),
}
_KIND_OF = {problem: kind for kind, problems in KINDS.items() for problem in problems}
_KIND = "CASE coalesce(problem, 'in the log, and sent by nobody') {} ELSE 'other' END".format(
    " ".join(f"WHEN '{problem}' THEN '{kind}'" for problem, kind in _KIND_OF.items())
)
_CLIENT = """concat('client: ',
    coalesce(concat('error ', error_code, ' at offset ', base_offset), outcome, 'no outcome'),
    coalesce(concat(', ', round((answered_us - sent_us) / 1000, 1), ' ms after it was sent'), ''))"""
_LOG = """if(end_offset IS NULL, NULL, concat('log: ', coalesce(
    concat(if(copies > 1, concat(copies, ' times, first '), ''), log_topic, '-', log_partition, ' at offset ',
        log_offset),
    if(hidden IS NOT NULL, 'there, and not shown to who reads what is committed', 'not there'))))"""
_JOURNAL = """if(request IS NULL,
    coalesce(concat('journal: appended ', if(times > 1, concat(times, ' times, first '), ''), 'at offset ',
        recorded_offset), 'journal: nothing'), concat('journal: request ', request, ' on connection ',
    broker_connection,
    coalesce(concat(', appended to ', append.topic, '-', append.partition, ' at offset ', recorded_offset),
        ', not appended'),
    if(appends > 1, concat(' and ', appends - 1, ' times more'), ''),
    if(answer IS NULL, ', no answer', concat(', ',
        coalesce(concat('error ', answer.error_code, ' at offset ', answer.base_offset),
            concat('answer ', answer.outcome)),
        ' after ', answer.mono_ms - handled_mono_ms, ' ms on connection ', answer.connection))))"""

OF_REQUESTS = """
SELECT run, {kind} AS kind, problem, `group`, connection, sequence, correlation_id, topic, partition,
    coalesce(log_offset, base_offset) AS offset, {said} AS says
FROM {{judged}} WHERE problem IS NOT NULL
"""

OF_THE_LOG = """
SELECT records.run, {kind} AS kind, coalesce(problem, 'in the log, and sent by nobody') AS problem, records.topic,
    records.partition, records.offset, CAST(NULL AS INT) AS correlation_id,
    if(problem IS NOT NULL, concat('log: ', records.topic, '-', records.partition, ' from offset ', records.offset),
        concat('log: ', coalesce(concat('by its key request ', sequence, ' of connection ', connection),
            'a key of nobody'))) AS says
FROM {{records}} AS records LEFT ANTI JOIN {{judged}} AS judged USING (run, connection, sequence)
"""


def mismatches(
    spark: SparkSession,
    judged: DataFrame,
    log: LogTables | None,
    beside: DataFrame | None,
    amiss: DataFrame | None = None,
) -> DataFrame:
    """Return all mismatches, in any order. `beside` has the journal's events of no request (by_journal.py), `amiss` the
    violations of logs (logs.py)."""
    says = [_CLIENT, _LOG, *([_JOURNAL] if "journal_problem" in judged.columns else [])]
    said = f"concat_ws('; ', {', '.join(says)})"
    if "said" in judged.columns:  # of readers (readers.py)
        said = f"coalesce(said, {said})"
    rows = spark.sql(OF_REQUESTS.format(kind=_KIND, said=said), judged=judged)
    if log is not None:
        of_log = spark.sql(OF_THE_LOG.format(kind=_KIND), records=log.records, judged=judged)
        rows = rows.unionByName(of_log, allowMissingColumns=True)
    for others in (beside, amiss):
        if others is not None:
            rows = rows.unionByName(others, allowMissingColumns=True)
    return rows.select(*MISMATCH_COLUMNS)
