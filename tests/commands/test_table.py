"""Tables of `fakebroker apis` and `fakebroker configs`."""

from __future__ import annotations

from fakebroker.commands.table import table

ROWS = [["1", "Fetch", "reads records of partitions"], ["0", "Produce", "writes"]]
HEADINGS = ["key", "API", "what it does"]


def test_columns_stand_below_each_other() -> None:
    assert table(HEADINGS, ROWS, 80).splitlines() == [
        "key  API      what it does",
        "1    Fetch    reads records of partitions",
        "0    Produce  writes",
    ]


def test_a_cell_that_is_too_wide_is_folded() -> None:
    assert table(HEADINGS, ROWS, 30).splitlines() == [
        "key  API      what it does",
        "1    Fetch    reads records of",
        "              partitions",
        "0    Produce  writes",
    ]


def test_a_word_that_is_too_wide_is_folded_and_a_column_that_is_whole_is_not() -> None:
    rows = [["min.insync.replicas", "core/replication/partition"]]
    folded = table(["name", "by"], rows, 20, whole=["name"])

    assert folded.splitlines()[1].split() == ["min.insync.replicas", "core/rep"]
    assert "".join(line[21:] for line in folded.splitlines()[1:]) == "core/replication/partition"


def test_a_table_without_rows_is_its_headings() -> None:
    assert table(HEADINGS, [], 80) == "key  API  what it does\n"
