"""docs/load-results.md follows the schemas in the code, and its examples run: each tool gives the same rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from load_results import result_folder
from pyspark.sql import SparkSession

from fakebroker_load.results.columns import COLUMNS, ROWS
from fakebroker_load.results.page import EXAMPLES, page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "load-results.md"


def test_the_page_is_current() -> None:
    how = "`python -m fakebroker_load.results.page docs/load-results.md` writes it"
    assert PAGE.read_text() == page(), how


@pytest.mark.parametrize("name", COLUMNS)
def test_each_column_is_there_once_and_has_a_meaning_of_one_phrase(name: str) -> None:
    assert ROWS[name]
    for columns in (COLUMNS[name], *(column.fields for column in COLUMNS[name])):
        assert [
            column_name for column_name, times in Counter(column.name for column in columns).items() if times > 1
        ] == []
        for column in columns:
            assert re.fullmatch(r"\S.*[^\s.]", column.meaning), column


def answered(question: str, tool: str) -> list[list[Any]]:
    """Run the example in a working directory that has a folder `out`, and return its rows in an order of their own."""
    names: dict[str, Any] = {}
    exec(compile(EXAMPLES[question][tool], f"{tool}: {question}", "exec"), names)
    table = names["found"]
    if tool == "PySpark":
        rows = table.collect()
    else:
        rows = table.fetchall() if tool == "DuckDB" else table.itertuples(index=False)
    # A count, a quantile or an offset may be of another type here and there.
    plain = [[value if isinstance(value, str) else round(float(value), 6) for value in row] for row in rows]
    assert plain, question
    return sorted(plain, key=str)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result_folder(tmp_path / "out", "one")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("question", EXAMPLES)
def test_duckdb_and_pandas_give_the_same(question: str) -> None:
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install '.[test]' has it")
    assert answered(question, "DuckDB") == answered(question, "pandas")


@pytest.mark.spark
@pytest.mark.usefixtures("results")
def test_pyspark_and_pandas_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """Spark resolves a path in the working directory that its JVM began in."""
    for question in EXAMPLES:
        code = EXAMPLES[question]["PySpark"]
        assert code.count('"out/') == len(re.findall(r"read\.parquet", code))
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(EXAMPLES[question], "PySpark", code.replace('"out/', f'"{tmp_path}/out/'))
            assert answered(question, "PySpark") == answered(question, "pandas")
