"""Suites that are sdists of PyPI: their tests run by pytest, in a virtual environment with the same version."""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.suites.suite import FAILED, PASSED, SKIPPED, NotRun, Side, Suite, tool


class PythonSuite(Suite):
    """The tests in these files and folders of the sdist.

    missing   are files that it has left out, by name: what they say is ours, tests are never among them
    fetched   fetches what the tests need besides
    """

    def __init__(
        self,
        name: str,
        version: str,
        tests: Sequence[str],
        settings_of: Callable[[Side], Mapping[str, str]],
        needs: Sequence[str] = (),
        missing: Mapping[str, str] | None = None,
        broker_ids: Sequence[int] = (1, 2, 3),
        broker_settings: Mapping[str, str] | None = None,
        limit_s: float = 120.0,
        fetched: Callable[[], object] | None = None,
        package: str = "",
    ) -> None:
        super().__init__(name, version, f"{package or name}=={version}")
        self._tests = tests
        self._settings_of = settings_of
        self._needs = needs
        self._missing = missing or {}
        self.broker_ids = broker_ids
        self.broker_settings = broker_settings or {}
        self.limit_s = limit_s
        self._fetched = fetched

    def prepare(self, folder: Path) -> None:
        if self._fetched is not None:
            self._fetched()
        stamp, wanted = folder / "ready", repr((self.package, self._needs, self._missing))
        if stamp.exists() and stamp.read_text() == wanted:
            return
        folder.mkdir(parents=True, exist_ok=True)
        tool([sys.executable, "-m", "venv", ".venv"], folder)
        pip = [self._python(folder), "-m", "pip", "-q", "--disable-pip-version-check"]
        tool([*pip, "install", "setuptools>=77", "wheel", "pytest", self.package, *self._needs], folder)
        options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", "sdist"]
        tool([*pip, "download", *options, self.package], folder)
        for archive in (folder / "sdist").glob("*.tar.gz"):
            with tarfile.open(archive) as files:
                files.extractall(folder / "source", filter="data")
        for tests in self._tests:
            if not (self.where(folder) / tests).exists():
                raise NotRun(f"the sdist of {self.package} has no {tests}")
        for name, text in self._missing.items():
            path = self.where(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if name.endswith(".sh") else 0o644)
        stamp.write_text(wanted)

    def where(self, folder: Path) -> Path:
        return next((folder / "source").iterdir())

    def tests(self, folder: Path) -> list[str]:
        listing = tool(
            [self._python(folder), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *self._tests],
            self.where(folder),
            variables=self.settings(Side("", "", [("127.0.0.1", 1)])),
        )
        return [line for line in listing.splitlines() if "::" in line]

    def command(self, folder: Path, test: str) -> Sequence[str]:
        return [self._python(folder), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", test]

    def settings(self, side: Side) -> Mapping[str, str]:
        return {"PYTHONPATH": ""} | dict(self._settings_of(side))

    def judge(self, status: int, output: str) -> str:
        if status != 0:
            return FAILED
        return SKIPPED if " skipped" in output.splitlines()[-1] else PASSED

    @staticmethod
    def _python(folder: Path) -> str:
        return str(folder / ".venv" / "bin" / "python")
