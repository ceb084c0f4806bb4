"""Tables of `fakebroker apis` and `fakebroker configs`."""

from __future__ import annotations

import sys

import pytest

from fakebroker.commands import configs_page
from fakebroker.commands.table import table
from fakebroker.core.config.topic_config import TopicConfig

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


def test_a_long_word_is_folded_and_a_column_that_is_whole_is_not() -> None:
    rows = [["min.insync.replicas", "core/replication/partition"]]
    folded = table(["name", "by"], rows, 41, whole=["name"])

    assert folded.splitlines()[1].split() == ["min.insync.replicas", "core/replication/par"]
    assert "".join(line[21:] for line in folded.splitlines()[1:]) == "core/replication/partition"


def test_a_row_is_a_block_where_columns_would_break_words() -> None:
    rows = [["min.insync.replicas", "INT", "", "core/replication/partition"], ["retention.ms", "LONG", "", ""]]

    assert table(["name", "type", "default", "honoured by"], rows, 40, whole=["name"]).splitlines() == [
        "min.insync.replicas",
        "    type: INT; honoured by:",
        "    core/replication/partition",
        "retention.ms",
        "    type: LONG",
    ]


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 160, 200])
def test_the_settings_fit_a_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    configs_page.print_table("topic")

    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert all(name in shown and key.doc.split()[0] in shown for name, key in TopicConfig.SETTINGS.items())
    assert "read-onl\n" not in shown


def test_a_table_without_rows_is_its_headings() -> None:
    assert table(HEADINGS, [], 80) == "key  API  what it does\n"
