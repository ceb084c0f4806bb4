"""A folder within `--out` for the results of a run. They replace earlier results when they are complete.

Theory   Earlier results stay until then, so a run that breaks off destroys nothing. The move is a rename within one
         folder, so it is quick and needs no space. A run that breaks off after its load has rows that can be judged by
         the responses alone. They are kept if that replaces no earlier results.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fakebroker_load.spark.stopping import uninterrupted

PREFIX = ".unfinished-"


class Stage:
    """The staging folder of a run."""

    def __init__(self, out: Path, run_id: str, clear: Callable[[Path], None], run_file: str) -> None:
        self.folder = out / f"{PREFIX}{run_id}"
        self._out = out
        self._clear = clear
        self._run_file = run_file
        self._is_installed = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder, and remove it after the block. Raises OSError if it cannot be made."""
        was_there = self._out.exists()
        self.folder.mkdir(parents=True)
        try:
            yield
        finally:
            with uninterrupted():
                if (self.folder / self._run_file).exists() and not (self._out / self._run_file).exists():
                    with suppress(OSError):
                        self.install()
                shutil.rmtree(self.folder, ignore_errors=True)
                if not was_there:
                    with suppress(OSError):
                        self._out.rmdir()

    def install(self) -> None:
        """Replace earlier results. run.json, which shows that there are results, comes last."""
        with uninterrupted():
            self._clear(self._out)
            for path in sorted(self.folder.iterdir(), key=lambda path: path.name == self._run_file):
                path.rename(self._out / path.name)
            self._is_installed = True

    def remains(self) -> str:
        """Return a sentence about what is left after a stop."""
        if self._is_installed:
            return (
                f"What it had recorded until then is whole, and kept: `fakebroker-load verify {self._out}` judges that."
            )
        earlier = (self._out / self._run_file).exists()
        return "Nothing of this run is kept" + (f"; earlier results in {self._out} are whole." if earlier else ".")
