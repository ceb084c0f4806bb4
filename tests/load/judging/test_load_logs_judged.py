"""Rules for a log that was read back, on hand-made rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.logs import logs_amiss
from fakebroker_load.judging.mismatches import KINDS
from fakebroker_load.judging.requests import LogTables
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA

pytestmark = pytest.mark.spark

PLACE = {"topic": "t", "partition": 0}
RECORD = PLACE | {"fingerprint": "f"}
PART = PLACE | {"start_offset": 40, "readable_offset": 43, "end_offset": 43}
WHOLE = (40, 41, 42)
SHOWN = {"shown_offset": 43, "same_leader": True}
# What differs of the partition, at which offsets there are records, and what is wrong.
CASES: dict[str, tuple[dict[str, Any], tuple[int | None, ...], str | None]] = {
    "whole": ({}, WHOLE, None),
    "empty": ({"start_offset": 43}, (), None),
    "a gap": ({}, (40, 42), "offsets without a record"),
    "nothing where there must be something": ({}, (), "offsets without a record"),
    "two at one offset": ({}, (40, 41, 41, 42), "offsets without a record"),
    "one moved onto another": ({}, (40, 42, 42), "offsets without a record"),
    "one without an offset": ({}, (40, 42, None), "offsets without a record"),
    "one before the run": ({}, (39, *WHOLE), "a record beside the log"),
    "one behind the end": ({}, (*WHOLE, 43), "a record beside the log"),
    "markers of transactions between them": ({"transactional": True}, (40, 42), None),
    "not readable to the end": ({"end_offset": 44}, WHOLE, "not readable"),
    "a watermark at its end": (SHOWN, WHOLE, None),
    "a watermark beyond its end": (SHOWN | {"shown_offset": 44}, WHOLE, "watermark shown too early"),
    "a watermark beyond its end, and another leader has come": (
        SHOWN | {"shown_offset": 44, "same_leader": False},
        WHOLE,
        None,
    ),
    "no end offset": ({"end_offset": None}, WHOLE, "not readable"),
    "no start offset": ({"start_offset": None}, WHOLE, "offsets without a record"),
}


def test_each_offset_has_one_record(spark: SparkSession) -> None:
    parts = [PART | part | {"run": name} for name, (part, _, _) in CASES.items()]
    records = [RECORD | {"run": name, "offset": at} for name, (_, offsets, _) in CASES.items() for at in offsets]
    log = LogTables(
        *(
            spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
            for rows, schema in ((records, LOG_SCHEMA), (parts, PART_SCHEMA))
        )
    )
    mismatches_ = logs_amiss(spark, log).collect()
    assert {row["run"]: row["problem"] for row in mismatches_} == {
        name: problem for name, (_, _, problem) in CASES.items() if problem is not None
    }
    assert len(mismatches_) == len({row["run"] for row in mismatches_})
    assert all(row["problem"] in KINDS[row["kind"]] and row["says"] and row["topic"] == "t" for row in mismatches_)
