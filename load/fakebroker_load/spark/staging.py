"""Results go to a folder of their own within `--out`, and take their place when they are whole.

Theory   What was in `--out` stays until then: a run that breaks takes nothing with it. Moving is renaming within one
         folder, and so is quick and needs no room. A run that broke behind its load has rows that can be judged on the
         answers alone; they are kept where nothing older would have to go for them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fakebroker_load.spark.stopping import uninterrupted

PREFIX = ".unfinished-"


class Stage:
    """`folder` is where the results of a run go meanwhile."""

    def __init__(self, out: Path, run_id: str, clear: Callable[[Path], None], run_file: str) -> None:
        self.folder = out / f"{PREFIX}{run_id}"
        self._out = out
        self._clear = clear
        self._run_file = run_file
        self._is_installed = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder; behind the block it is gone. Raises OSError if it cannot be made."""
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
        """In the place of earlier results. The file that says that there are any comes last."""
        with uninterrupted():
            self._clear(self._out)
            for path in sorted(self.folder.iterdir(), key=lambda path: path.name == self._run_file):
                path.rename(self._out / path.name)
            self._is_installed = True

    def remains(self) -> str:
        """Return a sentence on what there is when the run has been stopped."""
        if self._is_installed:
            return (
                f"What it had recorded until then is whole, and kept: `fakebroker-load verify {self._out}` judges that."
            )
        earlier = (self._out / self._run_file).exists()
        return "Nothing of this run is kept" + (f"; earlier results in {self._out} are whole." if earlier else ".")
