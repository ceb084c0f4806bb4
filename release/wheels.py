"""Build a wheel for each CPython from 3.11 to 3.14, one after the other, and check each in an empty environment.

    python -m release.wheels [--to dist] [PYTHON ...]

Wheels are compiled whole (FAKEBROKER_COMPILE=all) unless FAKEBROKER_COMPILE says otherwise. PYTHON is a version (3.12)
or the path of an interpreter; what was asked for so must be there. Without any, wheels are built with those that are
found. The exit status is 1 if an interpreter that was asked for is missing, if none is found, or if a wheel fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from release.checking import Failed, check, pip, run
from release.interpreters import Interpreter, Selection, select

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m release.wheels", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="the folder of the wheels (default: dist)")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="a version, as in 3.12, or an interpreter's path")
    options = parser.parse_args(words)
    how = os.environ.get("FAKEBROKER_COMPILE", "all")
    selection = select(options.pythons or VERSIONS, has_to_compile=how != "0")
    if selection.missing:
        _say(missing_line(selection.missing))
    failed = [interpreter for interpreter in selection.chosen if not _make(interpreter, options.to, how)]
    return status(selection, bool(options.pythons), len(failed))


def status(selection: Selection, is_asked: bool, failed: int) -> int:
    """Return the exit status."""
    return 1 if failed or not selection.chosen or (is_asked and selection.missing) else 0


def missing_line(missing: Sequence[str]) -> str:
    """Return the line that names what is missing and says where it comes from."""
    names = ", ".join(missing)
    versions = " ".join(version for version in missing if version in VERSIONS) or "3.N"
    return (
        f"missing: CPython {names} (with Python.h, to compile); pyenv install {versions}, or uv python install "
        f"{versions} and give the interpreter's path"
    )


def _make(interpreter: Interpreter, folder: Path, how: str) -> bool:
    """Build and check one wheel, and put it into the folder. Return False, and say why, if that fails."""
    began = time.monotonic()
    _say(f"{interpreter.version}: building with {interpreter.path}, FAKEBROKER_COMPILE={how} ...")
    try:
        with TemporaryDirectory(prefix="fakebroker-wheels-") as name:
            made = build(interpreter, Path(name), how)
            built = time.monotonic()
            _say(f"{interpreter.version}: checking {made.name} ...")
            version = check(made, interpreter.path, how != "0")
            folder.mkdir(parents=True, exist_ok=True)
            wheel = folder / made.name
            shutil.copy(made, wheel)
    except Failed as error:
        _say(f"{interpreter.version}: FAILED: {error}")
        return False
    _say(
        f"{interpreter.version}: {wheel}, {wheel.stat().st_size / 1e6:.1f} MB, built in {built - began:.0f} s, "
        f"checked in {time.monotonic() - built:.0f} s: {version}"
    )
    return True


def build(interpreter: Interpreter, folder: Path, how: str) -> Path:
    """Return the wheel that was built into the empty folder. Raises Failed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["FAKEBROKER_COMPILE"] = how
    if "CC" not in environment and shutil.which(interpreter.compiler) is None and shutil.which("cc"):
        environment["CC"] = "cc"  # an interpreter that was compiled elsewhere
    run(pip(interpreter.path, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)), environment)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise Failed(f"one wheel should be built, not {len(wheels)}")
    return wheels[0]


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
