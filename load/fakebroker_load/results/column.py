"""A column of a Parquet file of a result folder: its name, type and meaning, in one entry.

Shape    Each file's columns are a tuple of these, beside the code that writes them. Its schema (`schema_of`) and its
         table in docs/load-results.md follow. A meaning is one phrase; it says what null means, if there is null.
         `unjudged` says in a sentence why no rule judges a column that a run records. A judged one has its rule in
         fakebroker_load/facts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

INT, LONG, SHORT, TEXT, YES_NO = pa.int32(), pa.int64(), pa.int16(), pa.string(), pa.bool_()


class Column(NamedTuple):
    name: str
    type: pa.DataType
    meaning: str
    unjudged: str = ""
    fields: tuple[Column, ...] = ()  # of a struct, where the page has a row for each


RUN = Column("run", TEXT, "name of the scenario")
TOPIC = Column("topic", TEXT, "topic")
PARTITION = Column("partition", INT, "partition")


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def struct_of(columns: Iterable[Column]) -> pa.DataType:
    return pa.struct(list(schema_of(columns)))
