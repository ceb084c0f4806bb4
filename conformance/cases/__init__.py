"""All cases, by group: each module of this package has `CASES`, a list of `conformance.scenario.Case`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from conformance.scenario import Case


def all_cases() -> list[Case]:
    """Every case, in the order of the modules' names. Names are unique, and so are the names of topics."""
    found: list[Case] = []
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        found += import_module(f"{__name__}.{module.name}").CASES
    names = [case.name for case in found]
    topics = [topic.name for case in found for topic in case.topics]
    for repeated in ({name for name in names if names.count(name) > 1}, {t for t in topics if topics.count(t) > 1}):
        assert not repeated, f"used more than once: {sorted(repeated)}"
    return found
