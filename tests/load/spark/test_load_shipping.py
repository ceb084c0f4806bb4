"""The archive: reproducible bytes, all imports of tasks, and no missing dependency."""

from __future__ import annotations

import ast
import importlib.machinery
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fakebroker_load.spark import shipping
from fakebroker_load.spark.cluster import MODULES
from fakebroker_load.spark.shipping import NEEDED, make_archive

# Comes with PySpark, or is done without where it is not there.
ALONG = {"pyspark", "py4j", "uvloop", "librt"}
# Not imported at the top of a file: PySpark asks for pandas, a pattern for RE2, and zstd goes by version.
LATER = {"pandas", "re2"} | ({"backports.zstd"} if sys.version_info < (3, 14) else set())

PROGRAM = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
ours = ("fakebroker", "fakebroker_load", "timingwheel")
print(json.dumps(sorted(m.__file__ for n, m in sys.modules.items() if n.split(".")[0] in ours)))
"""


def imported_by(path: Path) -> set[str]:
    """Return the packages that a file imports at its top."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names


def test_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = make_archive(tmp_path), make_archive(tmp_path / ".")
    assert first == second
    before = first.read_bytes()
    first.unlink()
    assert make_archive(tmp_path).read_bytes() == before
    assert len(before) < 5_000_000
    assert not [name for name in zipfile.ZipFile(first).namelist() if "__pycache__" in name or "site-packages" in name]


def test_tasks_find_all_of_ours_in_it_and_the_list_names_what_else_they_need(tmp_path: Path) -> None:
    code = tmp_path / "code"
    zipfile.ZipFile(make_archive(tmp_path)).extractall(code)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(code), *MODULES],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": ""},
        cwd=tmp_path,
    )
    ours = json.loads(answer.stdout)
    assert len(ours) > 100
    assert [place for place in ours if not place.startswith(str(code))] == []
    needed = set().union(*(imported_by(Path(place)) for place in ours)) - set(shipping.PACKAGES) - ALONG
    assert needed | LATER == set(NEEDED)


def test_compiled_modules_go_beside_the_plain_ones_with_what_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    for package in shipping.PACKAGES:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "fakebroker" / f"fast{suffix}").write_bytes(b"\x7fELF ... 0123abcd__mypyc ...")
    (tmp_path / "fakebroker" / "fast.py").touch()
    (tmp_path / f"0123abcd__mypyc{suffix}").touch()
    (tmp_path / f"ffff0000__mypyc{suffix}").touch()  # of another project
    monkeypatch.setattr(shipping, "roots", lambda: {name: tmp_path / name for name in shipping.PACKAGES})
    names = [name for name, _ in shipping.files()]
    assert f"0123abcd__mypyc{suffix}" in names
    assert f"ffff0000__mypyc{suffix}" not in names
    assert {f"fakebroker/fast{suffix}", "fakebroker/fast.py"} <= set(names)
