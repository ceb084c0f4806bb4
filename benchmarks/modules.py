"""The gain of each group of compiled modules: instructions with all compiled, and with that group left interpreted.

    python -m benchmarks modules [GROUP...] [--quick] [--json]

Seconds are noise where gains are small, so the benchmark counts instructions of the guard's work (`guard.py`). For each
group pip builds a copy of this tree with a compiled.toml that lacks the group. A build takes a minute or two, all of
them forty minutes, so `make bench` runs it only by name. A group is what works together, so that few calls cross from
compiled to interpreted code and back. A ratio of 1.1 says that the work takes a tenth more instructions without the
group; a group with a best ratio below 1.2 does not belong into [serve]. The second row of a group is the work that it
changes most.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.instructions.callgrind import CALIBRATION, Counts, count
from benchmarks.machine.programs import HERE, Missing
from benchmarks.reporting.report import Report, end, progress
from benchmarks.reporting.rows import Row, compare
from fakebroker import __version__

ROOT = HERE.parent
PARTS = (
    "fakebroker",
    "timingwheel",
    "load",
    "compiled.toml",
    "setup.py",
    "build_backend.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
MAIN_WORK = "produce 100 B, acks=-1"
ALL = "all of them"
QUICK = 2  # groups
BUILD_LIMIT_S = 900

BASES = "base classes"  # a compiled class cannot extend one that is not, so these are never left out
LIST = "compiled.toml"


def groups(text: str) -> dict[str, tuple[str, ...]]:
    """The groups of modules that every build compiles, from the text of compiled.toml; without the base classes."""
    served = tomllib.loads(text)["serve"]
    return {name: tuple(modules) for name, modules in served.items() if name != BASES}


def compiled_modules(text: str) -> list[str]:
    """All modules that FAKEBROKER_COMPILE=all compiles, from the text of compiled.toml."""
    listed = tomllib.loads(text)
    return [module for part in ("serve", "all") for modules in listed[part].values() for module in modules]


def without(text: str, modules: Sequence[str]) -> str:
    """The text of compiled.toml with these modules taken out. Raises ValueError for one that is not in it."""
    for module in modules:
        line = f'    "{module}",\n'
        if line not in text:
            raise ValueError(f"{LIST} does not name {module}")
        text = text.replace(line, "")
    return text


def build(
    folder: Path, interpreted: Sequence[str], limit_s: float = BUILD_LIMIT_S, isolated: bool = True, wish: str = "1"
) -> Path:
    """A compiled copy in the folder but for these modules. It always lies at the same place, since the length of a path
    changes the counts a little. `isolated` is pip's way, which fetches mypyc; else the one that is installed here
    compiles. Raises Missing."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise Missing("no C compiler")
    source, target = folder / "source", folder / "build"
    for old in (source, target):
        shutil.rmtree(old, ignore_errors=True)
    source.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
        else:
            shutil.copy(ROOT / name, source / name)
    listed = source / LIST
    listed.write_text(without(listed.read_text(), interpreted))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    if not isolated:
        pip.append("--no-build-isolation")
    try:
        done = subprocess.run(
            [*pip, "--target", str(target), "."],
            cwd=source,
            env={**os.environ, "FAKEBROKER_COMPILE": wish, "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"the build took more than {limit_s:.0f} s") from None
    if done.returncode:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "error:" in line]
        raise Missing(f"cannot be built: {said[0] if said else f'pip ended with status {done.returncode}'}")
    return target


def rows(name: str, modules: int, all_compiled: Counts, interpreted: Mapping[str, int], reason: str) -> Iterator[Row]:
    """Return the rows of one group: the main work, and the one that it changes most if that is another."""

    def row(work: str) -> Row:
        theirs = [interpreted[work]] if interpreted else []
        what = f"{name} ({modules}): {work}"
        return compare(what, "interpreted", "instructions", [all_compiled[work]], theirs, note=reason)

    yield row(MAIN_WORK)
    if interpreted:
        changed = {work: interpreted[work] / all_compiled[work] for work in all_compiled if work != CALIBRATION}
        most = max(changed, key=lambda work: changed[work])
        if most != MAIN_WORK:
            yield row(most)


def measure(report: Report, chosen: Mapping[str, Sequence[str]], everything: bool, as_json: bool) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-modules-") as temporary,
        progress("modules", len(chosen) + 1 + everything) as step,
    ):
        step("all compiled")
        folder = Path(temporary)
        try:
            all_compiled = count(build(folder, []))
        except Missing as reason:
            report.add(compare(MAIN_WORK, "interpreted", "instructions", [], [], note=f"missing: {reason}"))
            return end(report, as_json)
        if everything:
            step(ALL)
            shutil.rmtree(folder / "build")
            for package in ("fakebroker", "timingwheel"):
                shutil.copytree(folder / "source" / package, folder / "build" / package)
            listed = sum(map(len, groups((ROOT / LIST).read_text()).values()))
            for row in rows(ALL, listed, all_compiled, count(folder / "build"), ""):
                report.add(row)
        for name, modules in chosen.items():
            step(name)
            counts, note = Counts(), ""
            try:
                counts = count(build(folder, modules))
            except (Missing, RuntimeError) as reason:
                note = str(reason)
            for row in rows(name, len(modules), all_compiled, counts, note):
                report.add(row)
    return end(report, as_json)


def main(argv: list[str]) -> int:
    known = groups((ROOT / LIST).read_text())
    parser = argparse.ArgumentParser(prog="benchmarks modules", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of: {'; '.join(known)}")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} groups")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.groups if name not in known]:
        print(f"no group {unknown[0]!r}; there are: {'; '.join(known)}", file=sys.stderr)
        return 2
    names = options.groups or list(known)[: QUICK if options.quick else None]
    everything = not options.groups and not options.quick
    report = Report("modules", versions={"fakebroker": f"{__version__} (compiled)"})  # however this process runs
    return measure(report, {name: known[name] for name in names}, everything, options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
