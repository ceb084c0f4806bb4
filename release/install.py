"""Type what the README tells a newcomer to type: install from the checkout into an empty environment, run the example.

    python -m release.install [PYTHON]

Prints what the install took and brought. The exit status is 1 in three cases. The install fails; or there are a C
compiler and Python's headers, and the package is not compiled; or the example's requests get other responses than the
README says.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "request_timed_out.py"
LINES = 400  # of pip's log: the build says why it has not compiled
# The lines of the README, without the times.
EXPECTED = [
    ("healthy", "NONE", "0"),
    ("followers frozen", "REQUEST_TIMED_OUT", "1"),
    ("followers 200 ms behind", "NONE", "2"),
    ("healthy again", "NONE", "3"),
]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="release.install", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", nargs="?", default=sys.executable, help="the interpreter (default: this one)")
    python = shutil.which(parser.parse_args(words).python)
    if python is None:
        parser.error("there is no such interpreter; name one as python3.12, or by its path")
    with TemporaryDirectory(prefix="fakebroker-install-") as folder:
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        subprocess.run([python, "-m", "venv", folder], check=True, env=environment)
        here = Path(folder, "bin", "python")
        before = _bytes_in(Path(folder))
        began, cpu = time.monotonic(), _cpu_s()
        pip: list[str | Path] = [here, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        log = Path(folder, "pip.log")
        if subprocess.run([*pip, "--log", log, "."], cwd=ROOT, env=environment, check=False).returncode:
            return 1
        print(f"pip install .: {time.monotonic() - began:.0f} s, {_cpu_s() - cpu:.0f} s of CPU", flush=True)
        print(f"installed: {(_bytes_in(Path(folder)) - before) / 2**20:.0f} MiB", flush=True)
        command: list[str | Path] = [Path(folder, "bin", "fakebroker"), "--version"]
        version = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
        print(version, flush=True)
        if can_compile(python) and not version.endswith("compiled)"):
            print("there is a C compiler, but the package is not compiled; the end of pip's log:", file=sys.stderr)
            print(*log.read_text(errors="replace").splitlines()[-LINES:], sep="\n", file=sys.stderr)
            return 1
        subprocess.run([*pip, "confluent-kafka"], cwd=folder, env=environment, check=True)
        done = subprocess.run([here, EXAMPLE], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr, sep="", flush=True)
        return int(done.returncode != 0 or answered(done.stdout) != EXPECTED)


def answered(text: str) -> list[tuple[str, str, str]]:
    """Return what the example printed of each request: situation, error code, offset."""
    return re.findall(r"^(.+?): +(\w+) +offset (-?\d+) ", text, re.M)


def can_compile(python: str) -> bool:
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    headers = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return shutil.which(os.environ.get("CC", "cc")) is not None and Path(headers, "Python.h").exists()


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _bytes_in(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
