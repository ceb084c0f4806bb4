"""Which modules mypyc compiles, for build_backend.py. Everything else about the package is in pyproject.toml."""

from __future__ import annotations

import os

from setuptools import setup

# What a Produce request passes, and the timer. A module is here because it gains: `python -m benchmarks compiled`.
COMPILED = []

ext_modules = []
if os.environ.get("FAKEBROKER_COMPILING") == "1":
    from mypyc.build import mypycify

    # Not pyproject's settings for mypy: it need not find the packages that the modules import.
    options = ["--config-file=", "--ignore-missing-imports", "--python-version=3.11"]
    ext_modules = mypycify([*options, *COMPILED], opt_level="2", debug_level="0", group_name="fakebroker")

setup(ext_modules=ext_modules)
