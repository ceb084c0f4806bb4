"""What building a wheel asks for. That it is compiled then is seen by `make test-compiled`, which insists on it."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.chdir(ROOT)  # where a frontend calls it
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "build_backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.build_meta, "get_requires_for_build_wheel", lambda _: [])
    monkeypatch.setattr(module.build_meta, "get_requires_for_build_editable", lambda _: [])
    return module


def test_to_compile_takes_all_that_the_modules_import(backend: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without kio its types are unknown, and mypyc gave up."""
    monkeypatch.setenv("FAKEBROKER_COMPILE", "1")
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert dependencies
    wanted = {backend.MYPY, *dependencies}
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
