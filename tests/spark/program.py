"""A PySpark program as anyone writes it: batch reads and writes, streams with checkpoints, sinks that are exactly-once.

It is started by spark-submit with the brokers and a folder, and prints a line of JSON for each job. A job that ends by
an exception of its own making (`Crash`) is started again, as an operator would.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

SERVERS, FOLDER = sys.argv[1], Path(sys.argv[2])
spark = SparkSession.builder.appName("program").getOrCreate()
spark.sparkContext.setLogLevel("OFF")


class Crash(Exception):
    """A crash that the program causes."""


def report(job: str, **found: Any) -> None:
    print(json.dumps({"job": job, **found}, default=str), flush=True)


def rows(first: int, last: int) -> DataFrame:
    """Records with keys, values, and the partition they are to go to."""
    columns = ("CAST(id % 7 AS STRING) AS key", "concat('v', id) AS value", "CAST(id % 3 AS INT) AS partition")
    return spark.range(first, last).selectExpr(*columns)


def write(frame: DataFrame, topic: str, **options: str) -> None:
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", SERVERS).option("topic", topic)
    writer.options(**options).save()


def read(topic: str, **options: str) -> DataFrame:
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", SERVERS).option("subscribe", topic)
    return source.options(**options).load()


def source(topic: str, **options: str) -> DataStreamReader:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", SERVERS).option("subscribe", topic)
    return reader.option("startingOffsets", "earliest").options(**options)


def drain(writer: DataStreamWriter, name: str) -> int:
    """Run a stream until it has read all there is; how many batches it took. Raises what ended it."""
    query = writer.option("checkpointLocation", str(FOLDER / f"{name}-checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return len([progress for progress in query.recentProgress if progress["numInputRows"]])


def places(frame: DataFrame) -> list[list[int]]:
    """Return the number of records of each partition, and their first and last offset."""
    per_partition = frame.groupBy("partition").agg({"*": "count", "offset": "max"}).orderBy("partition").collect()
    first = {row[0]: row[1] for row in frame.groupBy("partition").agg({"offset": "min"}).collect()}
    return [[row[0], row["count(1)"], first[row[0]], row["max(offset)"]] for row in per_partition]


def batch() -> None:
    write(rows(0, 300), "batch")
    everything = read("batch", startingOffsets="earliest", endingOffsets="latest")
    report("batch", places=places(everything), values=everything.select("value").distinct().count())
    part = read(
        "batch",
        startingOffsets=json.dumps({"batch": {"0": 10, "1": -2, "2": -2}}),
        endingOffsets=json.dumps({"batch": {"0": 20, "1": 5, "2": -1}}),
    )
    report("part", places=places(part))
    since = read("batch", startingTimestamp="0", endingTimestamp="4102444800000")
    report("since", places=places(since))
    several = read("batch", minPartitions="9", includeHeaders="true")
    report("several", slices=several.rdd.getNumPartitions(), records=several.count())
    pattern = spark.read.format("kafka").option("kafka.bootstrap.servers", SERVERS)
    report("pattern", places=places(pattern.option("subscribePattern", "bat.*").load()))
    assigned = spark.read.format("kafka").option("kafka.bootstrap.servers", SERVERS)
    report("assigned", places=places(assigned.option("assign", json.dumps({"batch": [1]})).load()))


def headers() -> None:
    frame = spark.sql(
        "SELECT 'k' AS key, 'v' AS value, array(struct('h' AS key, CAST('1' AS BINARY) AS value)) AS headers"
    )
    write(frame, "headers", includeHeaders="true", **{"kafka.compression.type": "zstd"})
    [row] = read("headers", includeHeaders="true").collect()
    report(
        "headers",
        headers=[[header.key, header.value.decode()] for header in row.headers],
        value=bytes(row.value).decode(),
    )


def files() -> None:
    """Write to files, which Spark's own log makes exactly-once: the stream is restarted and continues."""
    table = FOLDER / "files"

    def again() -> int:
        values = (
            source("files", maxOffsetsPerTrigger="60").load().selectExpr("CAST(value AS STRING)", "partition", "offset")
        )
        return drain(values.writeStream.format("parquet").option("path", str(table)), "files")

    write(rows(0, 150), "files")
    first = again()
    nothing = again()
    write(rows(150, 200), "files")
    last = again()
    rows_read = spark.read.parquet(str(table))
    report(
        "files",
        batches=[first > 1, nothing, last > 0],
        rows=rows_read.count(),
        values=rows_read.select("value").distinct().count(),
    )


def crash() -> None:
    """Write to a table, by batch. The program dies after it wrote a batch and before Spark knows; that batch comes
    again."""
    table = FOLDER / "crash"
    seen: list[tuple[int, int]] = []
    dies = [True]

    def store(frame: DataFrame, number: int) -> None:
        frame.write.mode("overwrite").parquet(str(table / f"batch={number}"))
        seen.append((number, frame.count()))
        if number == 1 and dies:
            dies.clear()
            raise Crash("between the table and the checkpoint")

    def again() -> None:
        values = (
            source("crash", maxOffsetsPerTrigger="60").load().selectExpr("CAST(value AS STRING)", "partition", "offset")
        )
        drain(values.writeStream.foreachBatch(store), "crash")

    write(rows(0, 150), "crash")
    try:
        again()
        died = False
    except Exception as error:
        died = "between the table" in str(error)
    write(rows(150, 180), "crash")
    again()
    rows_read = spark.read.parquet(str(table))
    twice = [count for number, count in seen if number == 1]
    report("crash", died=died, twice=twice, rows=rows_read.count(), values=rows_read.select("value").distinct().count())


def through() -> None:
    """Copy a topic to another one, and count by a window of keys in the stream's state."""
    write(rows(0, 90), "in")
    loaded = source("in").load()
    sink = loaded.selectExpr("key", "upper(CAST(value AS STRING)) AS value").writeStream.format("kafka")
    drain(sink.option("kafka.bootstrap.servers", SERVERS).option("topic", "out"), "through")
    values = [bytes(row.value).decode() for row in read("out").select("value").collect()]
    report("through", records=len(values), values=len(set(values)), upper=all(value.isupper() for value in values))

    def count() -> None:
        keys = source("in").load().selectExpr("CAST(key AS STRING) AS key").groupBy("key").count()
        update = (
            keys.selectExpr("key", "CAST(count AS STRING) AS value").writeStream.outputMode("update").format("kafka")
        )
        drain(update.option("kafka.bootstrap.servers", SERVERS).option("topic", "counts"), "counts")

    count()
    write(rows(90, 120), "in")
    count()
    last: dict[str, int] = {}
    for row in read("counts").orderBy("offset").collect():
        last[bytes(row.key).decode()] = int(bytes(row.value))
    report("counts", total=sum(last.values()), keys=len(last))


def missing() -> None:
    """A topic that is not there."""
    try:
        read("no-such-topic").count()
    except Exception as error:
        report("missing", said="UnknownTopicOrPartition" in str(error) or "This server does not host" in str(error))


for job in (batch, headers, files, crash, through, missing):
    job()
spark.stop()
