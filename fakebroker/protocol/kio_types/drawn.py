"""The registration of kio's types with Hypothesis, when Hypothesis is imported, and not when kio is.

If Hypothesis is installed, kio imports it to register strategies for its types. That takes a third of the time of all
other imports. In a directory without `.hypothesis` it takes a second more and creates that directory, since Hypothesis
then examines every character of Unicode.
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
    """Register the existing types of kio. kio itself registers those that are defined later.

    Hypothesis calls this at the end of its own import (the entry point `hypothesis` in pyproject.toml).
    """
    phantom: Any = sys.modules.get(_PHANTOM)  # without an attribute while it is itself importing Hypothesis
    if getattr(phantom, "hypothesis", "") is None:
        phantom.hypothesis = sys.modules["hypothesis"]
        for phantom_type in _subclasses(phantom.Phantom):
            phantom_type.__hypothesis_hook__()


def _subclasses(base: Any) -> Iterator[Any]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
