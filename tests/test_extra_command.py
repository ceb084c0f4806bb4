"""Commands that another package brings: found by their entry points, and one sentence where something is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from support.hiding import come_first, hide
from support.serving import fakebroker

from fakebroker.commands import extra_command
from fakebroker.commands.extra_command import GROUP, NotInstalled, find_command

HOW_TO_INSTALL = "pip install '.[load]' in the checkout of fakebroker"


@pytest.mark.parametrize("missing", ["pyspark", "pandas"])  # Spark asks for pandas only when it runs
def test_without_spark_the_demo_says_what_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(missing, tmp_path, monkeypatch)
    done = fakebroker("demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (f"fakebroker: the command demo needs {missing}, which is not installed: {HOW_TO_INSTALL}\n")


def test_without_its_entry_point_the_demo_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first distribution of a name counts, and this one has no entry points.
    metadata = tmp_path / "fakebroker-0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: fakebroker\nVersion: 0\n")
    come_first(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)  # a checkout holds metadata too, and the working directory comes first of all
    done = fakebroker("demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fakebroker: the command demo is not installed: {HOW_TO_INSTALL}\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The module that the entry point `thing` names; what is written there is what it holds."""
    name = f"thing_{abs(hash(tmp_path))}"  # one that was imported before would not be read again
    monkeypatch.syspath_prepend(tmp_path)
    points = EntryPoints((EntryPoint("thing", f"{name}:run", GROUP),))
    monkeypatch.setattr(extra_command, "entry_points", points.select)
    return tmp_path / f"{name}.py"


def test_a_command_is_what_its_entry_point_names(module: Path) -> None:
    module.write_text("def run(): return 7\n")
    assert find_command("thing")() == 7


def test_only_the_command_of_that_name_is_meant(module: Path) -> None:
    with pytest.raises(NotInstalled, match="the command other is not installed"):
        find_command("other")


@pytest.mark.parametrize("name", ["no_such_package", "no_such_package.part"])
def test_a_package_that_is_missing_is_named(module: Path, name: str) -> None:
    module.write_text(f"import {name}\n")
    with pytest.raises(NotInstalled, match=r"^the command thing needs no_such_package, which is not installed: "):
        find_command("thing")


def test_a_package_that_went_away_without_its_entry_point_is_named(module: Path) -> None:
    with pytest.raises(NotInstalled, match=rf"^the command thing needs {module.stem}, which is not installed: "):
        find_command("thing")


@pytest.mark.parametrize(
    "text",
    [
        "import fakebroker.nothing",
        "from fakebroker import nothing",
        "import {own}.nothing",
        "from {own} import nothing",
    ],
)
def test_a_slip_of_ours_is_no_missing_package(module: Path, text: str) -> None:
    module.write_text(text.format(own=module.stem) + "\n")
    with pytest.raises(ImportError, match="nothing"):
        find_command("thing")
