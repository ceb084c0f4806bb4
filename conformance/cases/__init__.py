"""All cases, in rooms by subject: each module has `CASES`, a list of `conformance.scenario.Case`."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pkgutil import walk_packages

from conformance.scenario import Case


def all_cases() -> list[Case]:
    """Every case, in the order of the modules' own names, whatever the room. Names are unique, and so are the names of
    topics."""
    cases: list[Case] = []
    modules = [module_info.name for module_info in walk_packages(__path__, f"{__name__}.") if not module_info.ispkg]
    for module in sorted(modules, key=lambda name: name.rsplit(".", 1)[-1]):
        cases += import_module(module).CASES
    names = Counter(case.name for case in cases)
    topics = Counter(topic.name for case in cases for topic in case.topics)
    for counts in (names, topics):
        repeated = sorted(name for name, count in counts.items() if count > 1)
        assert not repeated, f"used more than once: {repeated}"
    return cases
