"""Suites that are Go modules: fetched by `go get`, their tests compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.suites.suite import FAILED, PASSED, SKIPPED, Side, Suite, tool

_BINARY = "suite.test"


class GoSuite(Suite):
    """The tests of one package of a module. `settings_of` has its variables for a side; `skip` are tests that need no
    broker or another one, by the beginnings of their names."""

    def __init__(
        self,
        name: str,
        version: str,
        module: str,
        package: str,
        settings_of: Callable[[Side], Mapping[str, str]],
        tags: str = "",
        broker_ids: Sequence[int] = (1, 2, 3),
        broker_settings: Mapping[str, str] | None = None,
        port: int | None = None,
        limit_s: float = 120.0,
    ) -> None:
        super().__init__(name, version, f"{module}@{version}")
        self._module = module
        self._go_package = package
        self._settings_of = settings_of
        self._tags = tags
        self.broker_ids = broker_ids
        self.broker_settings = broker_settings or {}
        self.port = port
        self.limit_s = limit_s

    def prepare(self, folder: Path) -> None:
        if (folder / _BINARY).exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "go.mod").exists():
            tool(["go", "mod", "init", "suites"], folder)
        tool(["go", "get", "-t", f"{self._go_package}@{self.version}"], folder)
        tool(["go", "test", "-c", "-tags", self._tags, "-o", _BINARY, self._go_package], folder)

    def where(self, folder: Path) -> Path:
        marker = folder / "package-folder"
        if not marker.exists():
            marker.write_text(tool(["go", "list", "-f", "{{.Dir}}", self._go_package], folder).strip())
        return Path(marker.read_text())

    def tests(self, folder: Path) -> list[str]:
        listed = tool([str(folder / _BINARY), "-test.list", "^Test"], self.where(folder))
        return [line for line in listed.splitlines() if line.startswith("Test")]

    def command(self, folder: Path, test: str) -> Sequence[str]:
        return [str(folder / _BINARY), "-test.v", "-test.run", f"^{test}$"]

    def settings(self, side: Side) -> Mapping[str, str]:
        return self._settings_of(side)

    def judge(self, status: int, output: str) -> str:
        if status != 0:
            return FAILED
        return SKIPPED if any(line.startswith("--- SKIP:") for line in output.splitlines()) else PASSED
