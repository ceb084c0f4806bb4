"""Packages that processes of a test do not find, as if they were not installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def hide(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide this package from processes that are started."""
    (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n")
    come_first(folder, monkeypatch)


def come_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let started processes look into this folder before all others."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH")))))
