"""Hypothesis profiles, and fixtures that every test may use."""

from __future__ import annotations

import os

import hypothesis
import pytest

import fakebroker

# `ci` is deterministic and quick; HYPOTHESIS_PROFILE=thorough is for a night.
# A busy machine is no fault of a test: neither its deadline nor how fast examples are drawn is looked at.
BUSY = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("ci", derandomize=True, max_examples=60, print_blob=True, **BUSY)
hypothesis.settings.register_profile("thorough", max_examples=5_000, **BUSY)
# For `make properties`: other examples every time, more of them, and a failure is kept.
MINUTES = float(os.environ.get("FAKEBROKER_MINUTES", "0"))
hypothesis.settings.register_profile("properties", max_examples=max(60, int(30 * MINUTES)), print_blob=True, **BUSY)
# Against a mutant the first failure will do: nobody looks for a shorter one.
FIRST = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
hypothesis.settings.register_profile("mutants", derandomize=True, max_examples=60, phases=FIRST, database=None, **BUSY)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if fakebroker.COMPILED:
        for item in items:
            if item.get_closest_marker("interpreted"):
                item.add_marker(pytest.mark.skip(reason="a compiled class cannot be patched"))
