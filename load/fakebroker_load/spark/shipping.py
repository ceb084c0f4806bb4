"""Our code for executors without it: one archive, which Spark unpacks at each executor.

Theory   It is not a zip on the path, because compiled modules cannot be imported from a zip. The names of compiled
         modules end with their Python and platform (`.cpython-311-x86_64-linux-gnu.so`), and each has its interpreted
         module beside it. Another Python ignores the compiled ones. So one archive fits all. It holds only our
         packages; other missing packages are reported (probe.py).
         Spark unpacks archives into the executor's working folder before the first task (Spark 4.3,
         Executor.updateDependencies; SparkFiles.getRootDirectory is "."). PYTHONPATH names that folder. A path that is
         missing when Python starts is searched later all the same. It comes first, so driver and executors have the
         same code, whatever is installed there.
         The same files give the same bytes, and the archive is named after them.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from fakebroker import protocol

FOLDER = "fakebroker_code"  # beside the executor
PACKAGES = ("fakebroker", "timingwheel", "fakebroker_load")
_LEFT_OUT = {"__pycache__"}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date in a zip; fixed for equal bytes
# the earliest date in a zip: fixed for equal bytes
_ZSTD = () if sys.version_info >= (3, 14) else ("backports.zstd",)  # the standard library has it from 3.14 on
NEEDED = ("pandas", "pyarrow", "cramjam", "crc32c", "kio", "mypy_extensions", "re2", *_ZSTD)


def roots() -> dict[str, Path]:
    """Return the folder of each package, installed or not: in a checkout they are in two places."""
    ours, theirs = Path(__file__).resolve().parents[1], Path(protocol.__file__).resolve().parents[1]
    return {"fakebroker": theirs, "timingwheel": theirs.parent / "timingwheel", "fakebroker_load": ours}


def files() -> Iterator[tuple[str, Path]]:
    """Yield each file of the archive: its name there, and its path here."""
    compiled = b""
    for package in PACKAGES:
        folder = roots()[package]
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not _LEFT_OUT & set(path.parts):
                if path.suffix == ".so":
                    compiled = compiled or path.read_bytes()
                yield f"{package}/{path.relative_to(folder).as_posix()}", path
    # Compiled modules share a module beside the packages, where other projects may have theirs. Each compiled module
    # names it.
    for path in sorted(roots()["fakebroker"].parent.glob("*__mypyc.*.so")) if compiled else ():
        if path.name.partition(".")[0].encode() in compiled:
            yield path.name, path


def make_archive(folder: Path) -> Path:
    """Write the archive into `folder`, unless it exists."""
    sources = [(name, path.read_bytes()) for name, path in files()]
    content = hashlib.sha256()
    for name, data in sources:
        content.update(f"{name}\0{len(data)}\0".encode() + data)
    archive = folder / f"fakebroker-{content.hexdigest()[:16]}.zip"
    if not archive.exists():
        part = archive.with_suffix(".part")
        with zipfile.ZipFile(part, "w") as into:
            for name, data in sources:
                into.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED, 1)
        part.replace(archive)
    return archive
