"""Suites that are Go modules: fetched by `go get`, their tests compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.suites.suite import FAILED, PASSED, SKIPPED, Security, Side, Suite, tool

_BINARY = "suite.test"


class GoSuite(Suite):
    """The tests of one package of a module.

    settings_of   returns its variables for a side
    methods       names a test function that runs a testify suite, a type of that name with Suite behind it. Its
                  methods are run one by one
    files         are texts by file name that hold the addresses of the brokers: the tests run in the folder with them,
                  not in the package's
    sources       says which files of the package have the tests, where others need no brokers
    """

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
        methods: str = "",
        files: Mapping[str, str] | None = None,
        sources: str = "",
        racks: Mapping[int, str] | None = None,
        is_proxied: bool = False,
        security: Security | None = None,
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
        self.security = security
        self._methods = methods
        self._files = files or {}
        self._sources = sources
        self.racks = racks or {}
        self.is_proxied = is_proxied
        self.limit_s = limit_s

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._files.items():
            (folder / name).write_text(text)
        if (folder / _BINARY).exists():
            return
        if not (folder / "go.mod").exists():
            tool(["go", "mod", "init", "suites"], folder)
        tool(["go", "get", "-t", f"{self._go_package}@{self.version}"], folder)
        tool(["go", "test", "-c", "-tags", self._tags, "-o", _BINARY, self._go_package], folder)

    def where(self, folder: Path) -> Path:
        return folder if self._files else self._package_folder(folder)

    def _package_folder(self, folder: Path) -> Path:
        marker = folder / "package-folder"
        if not marker.exists():
            marker.write_text(tool(["go", "list", "-f", "{{.Dir}}", self._go_package], folder).strip())
        return Path(marker.read_text())

    def tests(self, folder: Path) -> list[str]:
        if self._methods:
            method = re.compile(
                rf"^func \(\w+ \*\w*{self._methods.removeprefix('Test')}\w*Suite\) (Test\w+)\(", re.MULTILINE
            )
            sources = sorted(self._package_folder(folder).glob("*_test.go"))
            return [f"{self._methods}/{name}" for source in sources for name in method.findall(source.read_text())]
        if self._sources:
            named = re.compile(r"^func (Test(?!Main\b)\w+)\(", re.MULTILINE)
            sources = sorted(self._package_folder(folder).glob(self._sources))
            return [name for source in sources for name in named.findall(source.read_text())]
        listed = tool([str(folder / _BINARY), "-test.list", "^Test"], self.where(folder))
        return [line for line in listed.splitlines() if line.startswith("Test")]

    def command(self, folder: Path, test: str) -> Sequence[str]:
        return [str(folder / _BINARY), "-test.v", "-test.run", "/".join(f"^{part}$" for part in test.split("/"))]

    def settings(self, side: Side) -> Mapping[str, str]:
        return self._settings_of(side)

    def judge(self, status: int, output: str) -> str:
        if status != 0:
            return FAILED
        skipped = f"    --- SKIP: {self._methods}/" if self._methods else "--- SKIP:"
        return SKIPPED if any(line.startswith(skipped) for line in output.splitlines()) else PASSED
