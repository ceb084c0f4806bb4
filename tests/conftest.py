"""Hypothesis profiles, the order of the tests, and fixtures that every test may use."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from support import doses, shaking
from support.forked import Forks, shared
from support.leftovers import FilesLeft, Leftovers, kinds_of_dose
from support.rewriting import rewriting_beside
from support.scheduling import draw_order, sort

import fakebroker

SHAKING = shaking.begin()  # before the first event loop
# A busy machine is no fault of a test: neither its deadline nor how fast examples are drawn is looked at.
BUSY: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
EVERYDAY = 12  # examples
# The default, with `nightly` in FAKEBROKER_TESTS and without: the same examples each time.
hypothesis.settings.register_profile("nightly", derandomize=True, max_examples=100, print_blob=True, **BUSY)
hypothesis.settings.register_profile("everyday", derandomize=True, max_examples=EVERYDAY, print_blob=True, **BUSY)
# For `make quick`: the same examples, but fewer of them.
hypothesis.settings.register_profile("quick", derandomize=True, max_examples=5, print_blob=True, **BUSY)
hypothesis.settings.register_profile("thorough", max_examples=5_000, **BUSY)
# For `make properties`: other examples every time, more of them, and a failure is kept.
MINUTES = float(os.environ.get("FAKEBROKER_MINUTES", "0"))
hypothesis.settings.register_profile("properties", max_examples=max(60, int(30 * MINUTES)), print_blob=True, **BUSY)
# Against a mutant the first failure is enough. Random ones meet the everyday dose, chosen ones a larger one.
FIRST: dict[str, Any] = {"phases": [hypothesis.Phase.explicit, hypothesis.Phase.generate], "database": None, **BUSY}
hypothesis.settings.register_profile("random-mutants", derandomize=True, max_examples=EVERYDAY, **FIRST)
hypothesis.settings.register_profile("mutants", derandomize=True, max_examples=60, **FIRST)
try:
    DOSE = "nightly" if doses.is_nightly() else "everyday"
except doses.UnknownWord as error:
    raise pytest.UsageError(str(error)) from None
ORDER = os.environ.get("FAKEBROKER_ORDER")  # a seed: tests run in the order that it draws, the same in every process
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or DOSE)

gc.disable()  # until the tests are collected: what is imported by then stays, and to look through it takes 1.5 s


pytest_plugins = ["support.hangs", "support.workers"]
REWRITING = pytest.StashKey[Callable[[], object]]()


def pytest_configure(config: pytest.Config) -> None:
    # A script that runs the tests in the background has SIGINT ignored, and programs of tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    workers: Any = config.pluginmanager.getplugin("support.workers")
    workers.SUMMED.append(STEPS)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FilesLeft())
    if SHAKING is not None:
        config.pluginmanager.register(SHAKING)
    if config.option.workers and config.args == config.getini("testpaths"):  # all tests
        config.stash[REWRITING] = rewriting_beside(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, doses.not_requested(config, items))
    for item in items:
        if fakebroker.COMPILED and item.get_closest_marker("interpreted"):
            item.add_marker(pytest.mark.skip(reason="a compiled class cannot be patched"))
    if ORDER:
        draw_order(items, ORDER)
    else:
        sort(items)


def leave_out(config: pytest.Config, items: list[pytest.Item], left_out: list[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def pytest_report_header(config: pytest.Config) -> str:
    words = doses.requested(os.environ, config.option.markexpr)
    return f"dose: everyday{''.join(f' + {word}' for word in doses.WORDS if word in words)}"


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash.get(REWRITING, lambda: None)()
    session.config.pluginmanager.register(Leftovers(kinds=kinds_of_dose()))
    if session.config.option.workers or hasattr(session.config, "workerinput"):  # one of several processes
        import_the_rest()
    # Leave out of each collection of garbage what is there by now: the modules of all tests and what they import take
    # most of a second to look through, and many tests collect.
    gc.collect()
    gc.freeze()
    # A cluster is many objects that live as long as the test. With the default of 700 new objects, looking for cycles
    # takes a fifth of the CPU time.
    gc.set_threshold(10_000)
    gc.enable()


def import_the_rest() -> None:
    """Hypothesis draws some constants from the project's own modules, those that are imported by then. Some tests
    import more while they run; here it is done for all, so that no example depends on which tests a process was given.
    """
    for package in [sys.modules[name] for name in ("benchmarks", "conformance") if name in sys.modules]:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".clients." not in module.name:  # programs of their own
                importlib.import_module(module.name)


@pytest.fixture(scope="session")
def forks() -> Forks:
    """Programs in processes of their own that have imported fakebroker, pytest and the clients of Python before."""
    return shared()


# How many steps were simulated in this session: told at its end.

STEPS: Counter[str] = Counter()  # by what drew them


@pytest.fixture(scope="session")
def simulated() -> Counter[str]:
    return STEPS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if STEPS:
        parts = ", ".join(f"{count:,} {what}" for what, count in sorted(STEPS.items()))
        terminalreporter.write_line(f"simulated steps: {STEPS.total():,} ({parts})")
