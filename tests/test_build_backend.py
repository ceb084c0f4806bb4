"""The requirements of a wheel's build. `make test-compiled` checks that the wheel is compiled then."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest
from test_architecture import COMPILED
from test_dependencies import imports_of_others, modules_of

from benchmarks import modules

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.chdir(ROOT)  # where a frontend calls it
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "build_backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_to_compile_takes_all_that_the_modules_import(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types of kio would be unknown without it, and mypyc gave up."""
    monkeypatch.setenv("FAKEBROKER_COMPILE", "1")
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    imported: set[str] = set()
    for module in COMPILED:
        imported |= imports_of_others((ROOT / module).read_text())
    wanted = {backend.MYPY, *(name for name in dependencies if modules_of([name]) & imported)}
    assert backend.MYPY in wanted
    assert {"crc32c", "kio", "librt", "mypy_extensions"} <= imported
    assert set(backend.get_requires_for_build_wheel()) == wanted
    assert set(backend.get_requires_for_build_editable()) == wanted


def test_what_is_not_compiled_takes_nothing(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKEBROKER_COMPILE", "0")
    assert backend.get_requires_for_build_wheel() == []
    monkeypatch.delenv("FAKEBROKER_COMPILE")
    assert backend.get_requires_for_build_editable() == []


def test_a_wheel_is_compiled_where_that_can_be_done(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAKEBROKER_COMPILE", raising=False)
    monkeypatch.setattr(backend, "_has_compiler", lambda: True)
    assert backend.MYPY in backend.get_requires_for_build_wheel()
    monkeypatch.setattr(backend, "_has_compiler", lambda: False)
    assert backend.get_requires_for_build_wheel() == []


def test_a_wish_that_means_nothing_is_one_sentence(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKEBROKER_COMPILE", "yes")
    with pytest.raises(SystemExit, match=r"FAKEBROKER_COMPILE is 'yes'; it can be 0 \(never compile\), 1 .* or all"):
        backend.get_requires_for_build_wheel()


class Checkout:
    """A private copy of the files that are built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("fakebroker", "timingwheel", "load"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
        for name in (*modules.PARTS[3:], "MANIFEST.in"):
            shutil.copy(ROOT / name, folder)
        # What a build before this change, or by hand, has left.
        (folder / "build" / "lib" / "fakebroker").mkdir(parents=True)
        (folder / "build" / "lib" / "fakebroker" / "gone_since.py").write_text("old = True\n")
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def sources(self) -> set[tuple[str, bytes]]:
        """Names and contents of what a plain wheel has beside its metadata, wherever it has them: all modules, and the
        data that pyproject.toml names."""
        return {
            (PurePosixPath(name).name, content)
            for name, content in self.before.items()
            if name.startswith(("fakebroker/", "timingwheel/", "load/"))
            and (
                name.endswith((".py", "py.typed", "timingwheel/README.md", "page.html", "schema.json"))
                or "/scenarios/" in name
                or "/templates/" in name
            )
        }

    def start_wheel(self, target: Path) -> subprocess.Popen[str]:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        return subprocess.Popen(
            [*pip, "--no-build-isolation", "--wheel-dir", str(target), "."],
            cwd=self.folder,
            env={**os.environ, "FAKEBROKER_COMPILE": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.mark.nightly  # every day: one build, and what it leaves
@pytest.mark.slow
def test_two_builds_at_once_make_two_whole_wheels_and_leave_nothing_behind(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "checkout")
    sources = checkout.sources()
    assert {"wheel.py", "cluster.py", "py.typed"} <= {name for name, _ in sources}
    builds = {name: checkout.start_wheel(tmp_path / name) for name in ("one", "other")}
    said = {name: build.communicate()[0] for name, build in builds.items()}

    for name, build in builds.items():
        assert build.returncode == 0, said[name]
        (wheel,) = (tmp_path / name).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            entries = [entry for entry in archive.namelist() if ".dist-info/" not in entry]
            entries_ = {(PurePosixPath(entry).name, archive.read(entry)) for entry in entries}
        assert {name for name, _ in entries_} == {name for name, _ in sources}
        assert entries_ == sources
    assert checkout.files() == checkout.before


class Hook:
    """Instead of setuptools: it tells where it was called, and leaves what setuptools leaves."""

    def __init__(self, fails_compiled: bool = False) -> None:
        self.folders: list[Path] = []
        self.compiling: list[str] = []
        self._fails_compiled = fails_compiled

    def __call__(self, target: str, settings: object = None, metadata: str | None = None) -> str:
        here = Path.cwd()
        assert (here / "setup.py").is_file()
        assert (here / "fakebroker" / "cli.py").is_file() or (here / "fakebroker" / "cli").is_dir()
        assert not (here / "build").exists()
        assert not (here / ".venv").exists()
        assert not list(here.glob("*.egg-info"))
        self.folders.append(here)
        self.compiling.append(os.environ["FAKEBROKER_COMPILING"])
        (here / "build").mkdir()
        (here / "build" / "half").write_text("of a wheel")
        if self._fails_compiled and self.compiling[-1] == "1":
            raise SystemExit(2)  # as mypyc does
        Path(target, "made.whl").write_text(str(here))
        return "made.whl"


@pytest.mark.parametrize("wish", ["0", "1", "all"])
def test_compiled_or_not_each_build_has_a_folder_of_its_own(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wish: str
) -> None:
    """All that a compiling build writes, it writes below its current folder. So two of them have nothing in common."""
    hook = Hook()
    checkout = Checkout(tmp_path / "checkout")
    monkeypatch.chdir(checkout.folder)
    monkeypatch.setattr(backend.build_meta, "build_wheel", hook)
    monkeypatch.setenv("FAKEBROKER_COMPILE", wish)
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        assert backend.build_wheel(os.path.join(os.pardir, name)) == "made.whl"
        assert (tmp_path / name / "made.whl").exists(), "a relative path is seen from the checkout"

    one, other = hook.folders
    assert hook.compiling == [wish, wish]
    assert one != other
    assert not any(folder.is_relative_to(checkout.folder) for folder in hook.folders)
    assert not one.exists()
    assert not other.exists()
    assert Path.cwd() == checkout.folder
    assert checkout.files() == checkout.before


def test_what_cannot_be_compiled_is_a_plain_wheel_of_a_fresh_copy(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = Hook(fails_compiled=True)
    monkeypatch.setattr(backend.build_meta, "build_wheel", hook)
    monkeypatch.setattr(backend, "_has_compiler", lambda: True)
    monkeypatch.delenv("FAKEBROKER_COMPILE", raising=False)
    assert backend.build_wheel(str(tmp_path)) == "made.whl"
    assert hook.compiling == ["1", "0"]
    assert (
        "fakebroker is not compiled, which makes it slower and nothing else: SystemExit(2)" in capsys.readouterr().err
    )

    monkeypatch.setenv("FAKEBROKER_COMPILE", "1")
    with pytest.raises(SystemExit):
        backend.build_wheel(str(tmp_path))
    assert hook.compiling == ["1", "0", "1"]
    assert "FAKEBROKER_COMPILING" not in os.environ


def test_an_editable_install_is_of_the_checkout_itself(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Path] = []

    def build_editable(*_: object) -> str:
        seen.append(Path.cwd())
        return "made.whl"

    monkeypatch.setattr(backend.build_meta, "build_editable", build_editable)
    assert backend.build_editable(str(tmp_path)) == "made.whl"
    assert seen == [ROOT]
