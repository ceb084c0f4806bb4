"""The page docs/load-results.md, from the schemas in the code. `python -m fakebroker_load.results.page FILE` writes
it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fakebroker_load.journal.lines import COLUMNS as OF_EVENTS
from fakebroker_load.results.columns import BY_ANSWERS, BY_JOURNAL, COLUMNS, ROWS
from fakebroker_load.results.folder import JOURNAL_PARQUET, JUDGED_PARQUET
from fakebroker_load.results.manifest import type_name

_HEAD: Final = """# The columns of a load's results

Written by `python -m fakebroker_load.results.page docs/load-results.md`; do not edit.

[load/README.md](../load/README.md) tells how a folder of results comes about. `manifest.json` in it
lists its files. Each name below is a folder of Parquet files; tools read it as one table.
Rows of one request are joined by `run`, `connection` and `sequence`.

Names end in their unit. `*_us` is microseconds after the common start of the run, on the load's clock.
`*_mono_ms` is milliseconds of the broker's monotonic clock. Its zero is arbitrary.
"""
_EXAMPLES: Final = """
## Examples

Each question is asked with PySpark, pandas and DuckDB. The folder of results is `out`.
"""


def page() -> str:
    return "\n".join([_HEAD, *_tables(), _EXAMPLES, *_examples()])


def _tables() -> Iterator[str]:
    for name, columns in COLUMNS.items():
        yield f"## {name}\n\n{ROWS[name]}\n"
        events = name == JOURNAL_PARQUET
        yield f"| column | type | {'events | ' if events else ''}meaning |\n|---|---|{'---|' if events else ''}---|"
        for column in (*BY_ANSWERS, *BY_JOURNAL) if name == JUDGED_PARQUET else columns:
            type_ = "struct" if column.fields else type_name(column.type)
            by_journal = "; needs a journal" if name == JUDGED_PARQUET and column in BY_JOURNAL else ""
            of = f"{_events(column.name)} | " if events else ""
            yield f"| `{column.name}` | {type_} | {of}{column.meaning}{by_journal} |"
            for field in column.fields:
                yield f"| `{column.name}.{field.name}` | {type_name(field.type)} | {field.meaning} |"
        yield ""


def _events(column: str) -> str:
    kinds = [kind for kind, columns in OF_EVENTS.items() if column in columns]
    return "all" if len(kinds) in (0, len(OF_EVENTS)) else ", ".join(kinds)


def _examples() -> Iterator[str]:
    for question, answers in EXAMPLES.items():
        yield f"### {question}\n"
        for tool, code in answers.items():
            yield f"{tool}:\n\n```python\n{code.strip()}\n```\n"


_SESSION: Final = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
"""
EXAMPLES: Final = {
    "How long did requests wait, by group and error?": {
        "PySpark": f'''{_SESSION}
spark.read.parquet("out/requests.parquet").createOrReplaceTempView("requests")
found = spark.sql("""
    SELECT `group`, error_code, count(*) AS requests,
        percentile((answered_us - intended_us) / 1000, 0.99) AS p99_ms
    FROM requests WHERE read IS NULL AND answered_us IS NOT NULL GROUP BY ALL
""")
''',
        "pandas": """
import pandas as pd

requests = pd.read_parquet("out/requests.parquet")
requests = requests[requests["read"].isna() & requests["answered_us"].notna()]
waited_ms = (requests["answered_us"] - requests["intended_us"]) / 1000
groups = waited_ms.groupby([requests["group"], requests["error_code"]])
found = pd.DataFrame({"requests": groups.size(), "p99_ms": groups.quantile(0.99)}).reset_index()
""",
        "DuckDB": '''
import duckdb

found = duckdb.sql("""
    SELECT "group", error_code, count(*) AS requests,
        quantile_cont((answered_us - intended_us) / 1000, 0.99) AS p99_ms
    FROM 'out/requests.parquet/*.parquet' WHERE read IS NULL AND answered_us IS NOT NULL GROUP BY ALL
""")
''',
    },
    "Where does each record stand, and how far from the end of its log?": {
        "PySpark": f"""{_SESSION}
requests, log, partitions = (spark.read.parquet(f"out/{{name}}.parquet") for name in ("requests", "log", "partitions"))
records = requests.where("read IS NULL").select("run", "connection", "sequence", "base_offset")
records = records.join(log, ["run", "connection", "sequence"]).join(partitions, ["run", "topic", "partition"])
found = records.selectExpr("connection", "sequence", "base_offset", "offset", "end_offset - offset AS from_end")
""",
        "pandas": """
import pandas as pd

requests, log, partitions = (pd.read_parquet(f"out/{name}.parquet") for name in ("requests", "log", "partitions"))
records = requests[requests["read"].isna()][["run", "connection", "sequence", "base_offset"]]
records = records.merge(log, on=["run", "connection", "sequence"]).merge(partitions, on=["run", "topic", "partition"])
records["from_end"] = records["end_offset"] - records["offset"]
found = records[["connection", "sequence", "base_offset", "offset", "from_end"]]
""",
        "DuckDB": '''
import duckdb

found = duckdb.sql("""
    SELECT connection, sequence, requests.base_offset, log."offset", end_offset - log."offset" AS from_end
    FROM 'out/requests.parquet/*.parquet' AS requests
    JOIN 'out/log.parquet/*.parquet' AS log USING (run, connection, sequence)
    JOIN 'out/partitions.parquet/*.parquet' AS partitions
        ON partitions.run = log.run AND partitions.topic = log.topic AND partitions.partition = log.partition
    WHERE read IS NULL
""")
''',
    },
    "How long were requests parked, by the broker's journal?": {
        "PySpark": f"""{_SESSION}
journal = spark.read.parquet("out/journal.parquet")
parked = journal.where("event = 'parked'").selectExpr("run", "request", "mono_ms AS parked_ms")
answers = journal.where("event = 'answer'").select("run", "request", "error_code", "mono_ms")
found = parked.join(answers, ["run", "request"]).selectExpr("request", "error_code", "mono_ms - parked_ms AS ms")
""",
        "pandas": """
import pandas as pd

journal = pd.read_parquet("out/journal.parquet")
parked = journal[journal["event"] == "parked"][["run", "request", "mono_ms"]]
answers = journal[journal["event"] == "answer"][["run", "request", "error_code", "mono_ms"]]
both = parked.merge(answers, on=["run", "request"], suffixes=("_parked", ""))
both["ms"] = both["mono_ms"] - both["mono_ms_parked"]
found = both[["request", "error_code", "ms"]]
""",
        "DuckDB": '''
import duckdb

found = duckdb.sql("""
    SELECT request, answers.error_code, answers.mono_ms - parked.mono_ms AS ms
    FROM 'out/journal.parquet/*.parquet' AS parked JOIN 'out/journal.parquet/*.parquet' AS answers USING (run, request)
    WHERE parked.event = 'parked' AND answers.event = 'answer'
""")
''',
    },
    "What was wrong, how often, and how late was it at most?": {
        "PySpark": f"""{_SESSION.replace("import SparkSession", "import SparkSession, functions")}
judged, mismatches = (spark.read.parquet(f"out/{{name}}.parquet") for name in ("judged", "mismatches"))
wrong = mismatches.select("run", "connection", "sequence", "kind")
wrong = wrong.join(judged.select("run", "connection", "sequence", "lateness_us"), ["run", "connection", "sequence"])
found = wrong.groupBy("kind").agg(functions.count("*"), functions.max("lateness_us"))
""",
        "pandas": """
import pandas as pd

judged, mismatches = (pd.read_parquet(f"out/{name}.parquet") for name in ("judged", "mismatches"))
wrong = mismatches[["run", "connection", "sequence", "kind"]].merge(judged, on=["run", "connection", "sequence"])
found = wrong.groupby("kind")["lateness_us"].agg(["size", "max"]).reset_index()
""",
        "DuckDB": '''
import duckdb

found = duckdb.sql("""
    SELECT kind, count(*) AS requests, max(lateness_us) AS lateness_us
    FROM 'out/mismatches.parquet/*.parquet'
    JOIN 'out/judged.parquet/*.parquet' USING (run, connection, sequence) GROUP BY kind
""")
''',
    },
}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
