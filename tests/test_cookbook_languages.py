"""Every program of docs/cookbook-languages.md runs as it stands, where its language is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.client_programs import PROGRAMS, built

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cookbook-languages.md"
CLIENTS = ROOT / "clients"
LIMIT_S = 120  # the compilers of a busy machine
RECIPES = {
    title: dict(re.findall(r"```(js|go|java)\n(.*?)```", text, re.DOTALL))
    for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
}
SERVE = f"{sys.executable} -m fakebroker"


def run(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str] | None = None) -> None:
    path = os.pathsep.join((str(ROOT), str(ROOT / "load")))
    environment = os.environ | {"FAKEBROKER": SERVE, "PYTHONPATH": path} | dict(variables or {})
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_recipe_is_there_in_each_language() -> None:
    assert len(RECIPES) == 3
    assert all(set(programs) == {"js", "go", "java"} for programs in RECIPES.values())


@pytest.mark.languages
@pytest.mark.clients
@pytest.mark.parametrize("title", RECIPES)
def test_javascript(title: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(built(PROGRAMS["kafkajs"].folder) / "node_modules")
    shutil.copy(CLIENTS / "fakebroker.mjs", tmp_path)
    (tmp_path / "recipe.mjs").write_text(RECIPES[title]["js"])
    run(["node", "recipe.mjs"], tmp_path, {"KAFKAJS_NO_PARTITIONER_WARNING": "1"})


@pytest.mark.languages
@pytest.mark.clients
@pytest.mark.parametrize("title", RECIPES)
def test_go(title: str, tmp_path: Path) -> None:
    module = built(PROGRAMS["franz-go"].folder)
    for name in ("go.mod", "go.sum"):
        text = (module / name).read_text()
        (tmp_path / name).write_text(re.sub(r"^module .*", "module cookbook", text))
    (tmp_path / "fakebroker").mkdir()
    shutil.copy(CLIENTS / "fakebroker.go", tmp_path / "fakebroker")
    (tmp_path / "main.go").write_text(RECIPES[title]["go"])
    run(["go", "build", "-mod=readonly", "-o", "recipe", "."], tmp_path)
    run([tmp_path / "recipe"], tmp_path)


@pytest.mark.languages
@pytest.mark.clients
@pytest.mark.parametrize("title", RECIPES)
def test_java(title: str, tmp_path: Path) -> None:
    jars = str(built(PROGRAMS["kafka-clients"].folder) / "target" / "lib" / "*")
    program = RECIPES[title]["java"]
    (name,) = re.findall(r"^public class (\w+)", program, re.MULTILINE)
    (tmp_path / f"{name}.java").write_text(program)
    sources = [f"{name}.java", str(CLIENTS / "Fakebroker.java")]
    run(["javac", "-Xlint:all,-serial,-processing", "-Werror", "-cp", jars, "-d", ".", *sources], tmp_path)
    run(["java", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}{os.pathsep}.", name], tmp_path)
