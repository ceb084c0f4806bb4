"""kio's types for Hypothesis: registered when Hypothesis is imported, and not when kio is.

Where Hypothesis is installed, kio imports it to register how its types are drawn. That takes a third as long as the
import of all else. In a directory that has no `.hypothesis` it takes a second more and leaves that directory behind,
since Hypothesis then looks at every character of Unicode.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

_PHANTOM = "kio.static._phantom"  # the base of all types that kio registers


def import_kio_alone() -> None:
    """Import the base of kio's types as if Hypothesis was not installed, unless it is imported already."""
    if "hypothesis" in sys.modules:
        return
    sys.modules["hypothesis"] = None  # type: ignore[assignment]  # an import of it fails
    try:
        import kio.static._phantom  # noqa: F401
    finally:
        del sys.modules["hypothesis"]


def register() -> None:
    """Register the types of kio that exist. kio itself registers those that are defined later.

    Hypothesis calls this at the end of its own import (the entry point `hypothesis` in pyproject.toml).
    """
    phantom: Any = sys.modules.get(_PHANTOM)
    if phantom is not None and phantom.hypothesis is None:
        phantom.hypothesis = sys.modules["hypothesis"]
        for each in _subclasses(phantom.Phantom):
            each.__hypothesis_hook__()


def _subclasses(base: Any) -> Iterator[Any]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)
