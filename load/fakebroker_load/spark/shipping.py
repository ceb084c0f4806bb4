"""Our code, for executors that have it not: one archive, which Spark unpacks where an executor runs.

Theory   An archive and not a zip on the path, because compiled modules cannot be imported from a zip. Their names end
         with the Python and the platform that they are for (`.cpython-311-x86_64-linux-gnu.so`), and each has its
         plain module beside it: a Python that is another one does not see them, and takes the plain ones. So one
         archive is right for all. It holds the packages alone and nothing else of the environment; what executors
         lack beyond that is told (probe.py).
         An executor's Python finds the folder by PYTHONPATH: Spark unpacks archives into the folder that the executor
         runs in, before the first task (Spark 4.3, Executor.updateDependencies; SparkFiles.getRootDirectory is "."),
         and a path that is not there when Python starts is looked at later all the same. It comes first, so that
         driver and executors have the same code, whatever is installed there.
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
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can tell
# What the executors' Python must have beside our code, as it is imported.
_ZSTD = () if sys.version_info >= (3, 14) else ("backports.zstd",)  # the standard library has it from then on
NEEDED = ("pandas", "pyarrow", "cramjam", "crc32c", "kio", "mypy_extensions", "re2", *_ZSTD)


def roots() -> dict[str, Path]:
    """The folder of each package, installed or not: in a checkout they lie in two places."""
    ours, theirs = Path(__file__).resolve().parents[1], Path(protocol.__file__).resolve().parents[1]
    return {"fakebroker": theirs, "timingwheel": theirs.parent / "timingwheel", "fakebroker_load": ours}


def files() -> Iterator[tuple[str, Path]]:
    """All that is shipped: its name in the archive, and where it lies here."""
    compiled = b""
    for package in PACKAGES:
        folder = roots()[package]
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not _LEFT_OUT & set(path.parts):
                if path.suffix == ".so":
                    compiled = compiled or path.read_bytes()
                yield f"{package}/{path.relative_to(folder).as_posix()}", path
    # What compiled modules share lies beside the packages, perhaps with that of other projects; each of them names it.
    for path in sorted(roots()["fakebroker"].parent.glob("*__mypyc.*.so")) if compiled else ():
        if path.name.partition(".")[0].encode() in compiled:
            yield path.name, path


def make_archive(folder: Path) -> Path:
    """Write the archive into `folder`, unless it is there."""
    found = [(name, path.read_bytes()) for name, path in files()]
    content = hashlib.sha256()
    for name, data in found:
        content.update(f"{name}\0{len(data)}\0".encode() + data)
    archive = folder / f"fakebroker-{content.hexdigest()[:16]}.zip"
    if not archive.exists():
        part = archive.with_suffix(".part")
        with zipfile.ZipFile(part, "w") as into:
            for name, data in found:
                into.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED, 1)
        part.replace(archive)
    return archive
