"""A column of a load's results is one entry: a copy of the tree gets some, and after the commands that write pages no
test fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.copied_tree import CopiedTree

PAGES = ("docs/facts.md", "docs/load-results.md")
OF_PAGES = ("tests/load/facts", "tests/load/results/test_load_results_page.py", "-m", "not spark")
TESTS = (*OF_PAGES, "tests/load/results/test_load_manifest.py", "tests/load/traffic/test_load_rows.py")
STALE = {
    "tests/load/facts/test_load_fact_table.py::test_the_page_is_as_the_table_is",
    "tests/load/results/test_load_results_page.py::test_the_page_is_current",
}
ENTRY = """    Column("moon_phase", INT, "phase of the moon, from 0", unjudged="No rule knows the moon."),
"""
FILES = {"log.py": "PART_COLUMNS", "traffic/rows.py": "RESULT_COLUMNS"}
WRITTEN = """
from fakebroker_load.log import PART_SCHEMA
from fakebroker_load.results.columns import SCHEMAS
from fakebroker_load.traffic.rows import to_batch
print(to_batch([{"moon_phase": 4}]).column("moon_phase"), "moon_phase" in PART_SCHEMA.names)
print([name for name, schema in SCHEMAS.items() if "moon_phase" in schema.names])
"""


@pytest.fixture
def tree(tmp_path: Path) -> CopiedTree:
    """A copy of the tree with an entry more in two tuples of columns."""
    copied = CopiedTree(tmp_path / "checkout")
    for name, columns in FILES.items():
        path = copied.root / "load/fakebroker_load" / name
        before, start, after = path.read_text().partition(f"{columns} = (\n")
        path.write_text(before + start + ENTRY + after)
    return copied


@pytest.mark.nightly  # every day: the column in the copy is written, and the pages are compared without it
@pytest.mark.slow
def test_before_the_pages_are_written_their_tests_fail(tree: CopiedTree) -> None:
    assert tree.failures(*OF_PAGES) == STALE


@pytest.mark.nightly  # every day: as above
@pytest.mark.slow
def test_one_entry_and_the_pages_that_commands_write_are_all_of_a_column(tree: CopiedTree) -> None:
    (tree.root / "docs/facts.md").write_text(tree.run("-m", "fakebroker_load.facts.page"))
    assert tree.run("-m", "fakebroker_load.results.page", "docs/load-results.md") == ""

    assert tree.failures(*TESTS) == set()
    assert tree.changed() == {*PAGES, *(f"load/fakebroker_load/{name}" for name in FILES)}
    for page in PAGES:
        assert "`moon_phase`" in (tree.root / page).read_text()


def test_the_column_is_written_and_is_in_each_file_that_repeats_it(tree: CopiedTree) -> None:
    value, files = tree.run("-c", WRITTEN).rsplit("\n", 2)[:2]
    assert value.split() == ["[", "4", "]", "True"]
    assert files == "['requests.parquet', 'partitions.parquet', 'judged.parquet']"
