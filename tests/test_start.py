"""Imports of a process: `serve` imports nothing that draws help or checks types, `import fakebroker` no server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.watchdog import LIMIT_S

import fakebroker

ROOT = Path(__file__).resolve().parent.parent
SERVE = "from fakebroker.cli import main; main()"
TELL = """
import atexit, gc, json, sys
facts = lambda: {"modules": list(sys.modules), "collects": gc.isenabled(), "frozen": gc.get_freeze_count()}
atexit.register(lambda: print(json.dumps(facts())))
"""


def facts_after(code: str, *arguments: str) -> dict[str, Any]:
    """Return the facts that a process reports at its end. One that is ready to serve is stopped."""
    process = subprocess.Popen([sys.executable, "-c", TELL + code, *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line.startswith("fakebroker ready"):
            process.send_signal(signal.SIGTERM)
            line = process.stdout.readline()
        assert process.wait(LIMIT_S) == 0
    facts: dict[str, Any] = json.loads(line)
    return facts


def modules_after(code: str, *arguments: str) -> set[str]:
    return set(facts_after(code, *arguments)["modules"])


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    return facts_after(SERVE, "serve", "--port", "0", "--topic", "t")


@pytest.mark.parametrize(
    "name",
    ["construct", "difflib", "hypothesis", "jsonschema", "pydantic", "pytest", "re2", "rich", "typer", "yaml"],
)
def test_a_process_that_serves_has_not_imported_what_it_does_not_need(name: str, served: dict[str, Any]) -> None:
    pytest.importorskip(name, reason="it cannot be imported anyway")
    modules = set(served["modules"])

    assert {"fakebroker.cluster.cluster", "kio.static.primitive"} <= modules  # so this is the list
    assert not {module for module in modules if module.split(".")[0] == name}


def test_a_process_that_serves_collects_garbage_but_does_not_look_through_its_modules_for_it(
    served: dict[str, Any],
) -> None:
    assert served["collects"]
    assert served["frozen"] > 10_000


DRAW = """
from fakebroker import FakeCluster
assert "hypothesis" not in sys.modules
from hypothesis import HealthCheck, given, settings, strategies
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import TZAware, i16
types = (BrokerId, TopicName, TZAware, i16)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.tuples(*map(strategies.from_type, types)))
def draw(values):
    for each, value in zip(types, values, strict=True):
        each.parse(value)
draw()
"""
POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Hypothesis call the package when it is imported, as where the package is installed."""
    pytest.importorskip("hypothesis", reason="nothing is drawn")
    points = tmp_path / "points-1.dist-info"
    points.mkdir()
    lines = [f"{name} = {value}" for name, value in POINTS["hypothesis"].items()]
    (points / "entry_points.txt").write_text("\n".join(["[hypothesis]", *lines]))
    (points / "METADATA").write_text("Name: points\nVersion: 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".hypothesis"))


@pytest.mark.usefixtures("installed")
def test_a_program_that_uses_the_library_can_draw_the_types_of_kio() -> None:
    """FakeCluster does not import hypothesis. Once the program imports it, it can draw kio's types."""
    assert "hypothesis" in modules_after(DRAW)


@pytest.mark.usefixtures("installed")
def test_a_program_can_import_kio_first() -> None:
    """kio imports hypothesis, which calls the package while kio's own module is half imported."""
    modules = modules_after("import kio.schema.produce.v9.request")
    assert "hypothesis" in modules
    assert "fakebroker.protocol.kio_types.drawn" in modules


def test_importing_the_package_imports_none_of_its_parts() -> None:
    modules = modules_after("import fakebroker; fakebroker.COMPILED")

    assert {name for name in modules if name.startswith("fakebroker.")} <= {"fakebroker.core", "fakebroker.core.log"}


def test_the_first_fault_imports_the_apis_and_nothing_before_it_does() -> None:
    """The errors of an API stand in its file, and faults are below the APIs."""
    code = "from fakebroker import Fault, When; any_request = When(topic='t')"
    before = modules_after(code)
    after = modules_after(f"{code}; Fault({{'api': 'DescribeCluster'}}, 'INVALID_REQUEST')")

    assert "fakebroker.core.faults.check" in before
    assert not {name for name in before if name.startswith("fakebroker.apis")}
    assert {"fakebroker.apis.registry", "fakebroker.apis.cluster.describe_cluster"} <= after


@pytest.mark.parametrize("name", fakebroker.__all__)
def test_everything_is_there(name: str) -> None:
    assert getattr(fakebroker, name) is not None
    assert name in dir(fakebroker)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'fakebroker' has no attribute 'Cluster'"):
        fakebroker.Cluster  # noqa: B018
