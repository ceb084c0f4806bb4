"""Spark reads and writes: orders go to a topic, a stream puts them into a table, and goes on where it was.

pip install pyspark
fakebroker serve --topic orders:2 --topic totals &
spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:SPARK-VERSION spark_streaming.py localhost:9092
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

servers = sys.argv[1]
spark = SparkSession.builder.master("local[2]").appName("orders").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
folder = Path(tempfile.mkdtemp(prefix="spark-orders-"))


def write(first: int, last: int) -> None:
    """A batch write: orders of three customers."""
    orders = spark.range(first, last).selectExpr("concat('customer-', id % 3) AS key", "CAST(id AS STRING) AS value")
    orders.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", "orders").save()


def stream() -> None:
    """All that is new since the checkpoint, each record once."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    orders = source.option("subscribe", "orders").option("startingOffsets", "earliest").load()
    rows = orders.selectExpr("STRING(key) AS customer", "INT(STRING(value)) AS amount")
    sink = rows.writeStream.format("parquet").option("path", str(folder / "table"))
    sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()


def table() -> DataFrame:
    return spark.read.parquet(str(folder / "table"))


write(0, 100)
stream()
print("rows in the table:", table().count())
write(100, 150)
stream()
print("rows in the table:", table().count(), "of them different:", table().distinct().count())

totals = (
    table().groupBy("customer").sum("amount").selectExpr("customer AS key", "CAST(`sum(amount)` AS STRING) AS value")
)
totals.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", "totals").save()
read = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "totals").load()
for row in read.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value").orderBy("key").collect():
    print(row.key, row.value)
spark.stop()
