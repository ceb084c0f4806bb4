"""Hypothesis profiles, and fixtures that every test may use."""

from __future__ import annotations

import os

import hypothesis

# `ci` is deterministic and quick; HYPOTHESIS_PROFILE=thorough is for a night.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60, print_blob=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=5_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
