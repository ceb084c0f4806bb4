"""Suites that are Rust crates. Cargo fetches the source of a crate; its tests are built once, in a copy of the source.

The copy has the Cargo.lock of the crate: except for those in `newer`, dependencies have the versions of its authors.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.suites.suite import FAILED, PASSED, SKIPPED, NotRun, Security, Side, Suite, tool

_MANIFEST = '[package]\nname = "suites"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'


class RustSuite(Suite):
    """The integration tests of a crate.

    settings_of   returns the environment variables of a test, for a side
    targets       names of the test files, without tests/ and .rs
    features      features of the crate to build with, separated by commas
    newer         dependencies to update: today's Rust does not compile the versions in the Cargo.lock
    """

    def __init__(
        self,
        name: str,
        version: str,
        settings_of: Callable[[Side], Mapping[str, str]],
        targets: Sequence[str],
        features: str = "",
        newer: Sequence[str] = (),
        broker_ids: Sequence[int] = (1, 2, 3),
        broker_settings: Mapping[str, str] | None = None,
        port: int | None = None,
        security: Security | None = None,
        limit_s: float = 120.0,
    ) -> None:
        super().__init__(name, version, f"{name} {version}")
        self._settings_of = settings_of
        self._targets = targets
        self._features = features
        self._newer = newer
        self.broker_ids = broker_ids
        self.broker_settings = broker_settings or {}
        self.port = port
        self.security = security
        self.limit_s = limit_s

    def prepare(self, folder: Path) -> None:
        if (folder / "binaries.json").exists():
            return
        fetched = folder / "fetched"
        (fetched / "src").mkdir(parents=True, exist_ok=True)
        (fetched / "src" / "lib.rs").write_text("")
        (fetched / "Cargo.toml").write_text(f'{_MANIFEST}{self.name} = "={self.version}"\n')
        tool(["cargo", "fetch", "--quiet"], fetched)
        home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        sources = list((home / "registry" / "src").glob(f"*/{self.name}-{self.version}"))
        if not sources:
            raise NotRun(f"Cargo fetched no {self.package}")
        # Without rust-toolchain, Cargo uses the Rust that is installed, and does not fetch that of the authors.
        toolchain = shutil.ignore_patterns("rust-toolchain*")
        shutil.copytree(sources[0], self.where(folder), dirs_exist_ok=True, ignore=toolchain)
        if self._newer:
            tool(["cargo", "update", "--quiet", *self._newer], self.where(folder))
        options = ["--features", self._features] if self._features else []
        for target in self._targets:
            options += ["--test", target]
        messages = tool(
            ["cargo", "test", "--no-run", "--message-format=json", *options],
            self.where(folder),
            variables={"RUSTFLAGS": "--cap-lints allow"},
        )
        (folder / "binaries.json").write_text(json.dumps(_binaries(messages)))

    def where(self, folder: Path) -> Path:
        return folder / "source"

    def tests(self, folder: Path) -> list[str]:
        names = []
        for target, binary in json.loads((folder / "binaries.json").read_text()).items():
            listed = tool([binary, "--list", "--format", "terse"], self.where(folder))
            names += [f"{target}::{line.removesuffix(': test')}" for line in listed.splitlines() if ": test" in line]
        return names

    def command(self, folder: Path, test: str) -> Sequence[str]:
        target, _, name = test.partition("::")
        binary = json.loads((folder / "binaries.json").read_text())[target]
        return [binary, "--exact", name, "--nocapture"]

    def settings(self, side: Side) -> Mapping[str, str]:
        return self._settings_of(side)

    def judge(self, status: int, output: str) -> str:
        if status != 0:
            return FAILED
        return SKIPPED if "... ignored" in output or "skipped" in output.lower() else PASSED


def _binaries(messages: str) -> dict[str, str]:
    """Return the path of each test program by target, from Cargo's messages in JSON."""
    binaries = {}
    for line in messages.splitlines():
        if line.startswith("{"):
            message = json.loads(line)
            if message.get("executable") and "test" in message["target"]["kind"]:
                binaries[message["target"]["name"]] = message["executable"]
    return binaries
