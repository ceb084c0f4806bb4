"""The cost and coverage table, in SQLite.

Shape    `test`: node id, seconds, outcome. `lines`: a set of executed lines of one file, each set once. `executes`:
         which test executes which sets. `source`: the text of each measured file when it was recorded, so that a line
         can be followed to where it stands now.
"""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from coverage.numbits import numbits_to_nums

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = ROOT / "build" / "costs" / "table.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS source (path TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS test (id INTEGER PRIMARY KEY, node TEXT UNIQUE NOT NULL, file TEXT NOT NULL,
    cpu_s REAL NOT NULL, wall_s REAL NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS lines (id INTEGER PRIMARY KEY, path TEXT NOT NULL, bits BLOB NOT NULL, UNIQUE (path, bits));
CREATE TABLE IF NOT EXISTS executes (lines INTEGER NOT NULL, test INTEGER NOT NULL, PRIMARY KEY (lines, test))
    WITHOUT ROWID;
"""


class CostOfTest(NamedTuple):
    """A test that passed, and the CPU seconds it took."""

    node: str
    cpu_s: float

    @property
    def file(self) -> str:
        return self.node.partition("::")[0]


class FileCost(NamedTuple):
    """The tests of one file together."""

    file: str
    tests: int
    cpu_s: float
    wall_s: float


class CostTable:
    """The recorded table. `root` is the project's folder, for the text of a file as it is now."""

    def __init__(self, path: Path = TABLE, root: Path = ROOT) -> None:
        self._root = root
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path)
        self._db.executescript(_SCHEMA)
        self._moved = cache(self._moves)

    def close(self) -> None:
        self._db.close()

    # Recording.

    def add(self, folder: Path) -> int:
        """Take in what the processes of one run recorded, and return the number of tests. Rows of the test files that
        ran are replaced, other rows stay."""
        tests = [
            json.loads(line) for part in sorted(folder.glob("tests.*.jsonl")) for line in part.read_text().splitlines()
        ]
        with self._db:
            self._forget({row["test"].partition("::")[0] for row in tests})
            self._db.executemany(
                "INSERT OR REPLACE INTO test (node, file, cpu_s, wall_s, outcome) VALUES (?, ?, ?, ?, ?)",
                [(t["test"], t["test"].partition("::")[0], t["cpu_s"], t["wall_s"], t["outcome"]) for t in tests],
            )
            ids = dict(self._db.execute("SELECT node, id FROM test"))
            for part in sorted(folder.glob("lines.*")):
                self._add_lines(part, ids)
        return len(tests)

    def _forget(self, files: set[str]) -> None:
        for file in files:
            self._db.execute("DELETE FROM executes WHERE test IN (SELECT id FROM test WHERE file = ?)", (file,))
            self._db.execute("DELETE FROM test WHERE file = ?", (file,))
        self._db.execute("DELETE FROM lines WHERE id NOT IN (SELECT lines FROM executes)")

    def _add_lines(self, part: Path, ids: dict[str, int]) -> None:
        recorded = sqlite3.connect(part)
        known = {(path, bits): id_ for id_, path, bits in self._db.execute("SELECT id, path, bits FROM lines")}
        rows = recorded.execute(
            "SELECT file.path, context, numbits FROM line_bits JOIN file ON file.id = file_id "
            "JOIN context ON context.id = context_id WHERE context != ''"
        )
        for absolute, node, bits in rows:
            if node not in ids:  # a test that never ended
                continue
            path = Path(absolute).relative_to(self._root).as_posix()
            lines = known.get((path, bits))
            if lines is None:
                self._record_source(path)
                cursor = self._db.execute("INSERT INTO lines (path, bits) VALUES (?, ?)", (path, bits))
                lines = known[path, bits] = cursor.lastrowid or 0
            self._db.execute("INSERT OR IGNORE INTO executes VALUES (?, ?)", (lines, ids[node]))
        recorded.close()

    def _record_source(self, path: str) -> None:
        text = (self._root / path).read_text(encoding="utf-8")
        self._db.execute("INSERT OR REPLACE INTO source VALUES (?, ?)", (path, text))

    # Questions.

    def has_tests(self) -> bool:
        return bool(self._db.execute("SELECT EXISTS (SELECT * FROM test)").fetchone()[0])

    def tests_of(self, path: str, lines: Iterable[int] | None = None) -> list[CostOfTest]:
        """Return the tests that passed and execute one of the lines of a file, as they are numbered now; all that
        execute anything in the file if `lines` is None."""
        wanted = None if lines is None else self.recorded_lines(path, lines)
        sets = [
            id_
            for id_, bits in self._db.execute("SELECT id, bits FROM lines WHERE path = ?", (path,))
            if wanted is None or not wanted.isdisjoint(numbits_to_nums(bits))
        ]
        marks = ",".join("?" * len(sets))
        rows = self._db.execute(
            "SELECT DISTINCT node, cpu_s FROM executes JOIN test ON test.id = executes.test "
            f"WHERE outcome = 'passed' AND lines IN ({marks}) ORDER BY cpu_s, node",
            sets,
        )
        return [CostOfTest(*row) for row in rows]

    def tests_in(self, files: Iterable[str]) -> list[CostOfTest]:
        """Return the tests of test files that passed."""
        wanted = set(files)
        rows = self._db.execute("SELECT node, cpu_s FROM test WHERE outcome = 'passed' ORDER BY cpu_s, node")
        return [test for row in rows if (test := CostOfTest(*row)).file in wanted]

    def files(self) -> list[FileCost]:
        """Return the cost of each test file, the most expensive first."""
        rows = self._db.execute(
            "SELECT file, count(*), sum(cpu_s), sum(wall_s) FROM test GROUP BY file ORDER BY sum(cpu_s) DESC, file"
        )
        return [FileCost(*row) for row in rows]

    def costs(self) -> dict[str, float]:
        """Return the CPU seconds of each test file."""
        return {cost.file: cost.cpu_s for cost in self.files()}

    def failed(self) -> list[str]:
        """Return the tests that failed while they were recorded."""
        return [node for (node,) in self._db.execute("SELECT node FROM test WHERE outcome = 'failed' ORDER BY node")]

    def lines_by_file(self) -> Iterator[tuple[str, str, set[int]]]:
        """Yield (test file, measured file, lines executed), with the lines as they were numbered."""
        nums = {id_: (path, bits) for id_, path, bits in self._db.execute("SELECT id, path, bits FROM lines")}
        executed_lines: dict[tuple[str, str], set[int]] = {}
        for file, lines in self._db.execute(
            "SELECT DISTINCT file, lines FROM executes JOIN test ON test.id = executes.test"
        ):
            path, bits = nums[lines]
            executed_lines.setdefault((file, path), set()).update(numbits_to_nums(bits))
        for (file, path), executed in executed_lines.items():
            yield file, path, executed

    def recorded_lines(self, path: str, lines: Iterable[int]) -> set[int]:
        """Translate lines of a file as it is now to lines of the recorded text. A new line has none; a changed one
        has those that it took the place of."""
        moves = self._moved(path)
        return {old for line in lines for old in moves.get(line, ())}

    def _moves(self, path: str) -> dict[int, range]:
        row = self._db.execute("SELECT text FROM source WHERE path = ?", (path,)).fetchone()
        if row is None:
            return {}
        before = row[0].splitlines()
        after = (self._root / path).read_text(encoding="utf-8").splitlines()
        if before == after:
            return {line: range(line, line + 1) for line in range(1, len(after) + 1)}
        ranges: dict[int, range] = {}
        for tag, b0, b1, a0, a1 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            for line in range(a0, a1):
                at = b0 + line - a0
                ranges[line + 1] = range(at + 1, at + 2) if tag == "equal" else range(b0 + 1, b1 + 1)
        return ranges
