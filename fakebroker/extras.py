"""What is said where an extra is not installed. fakebroker is not on a package index: extras come from a checkout."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The command that brings an extra, and where to run it."""
    return f"pip install '.[{extra}]' in the checkout of fakebroker"


def not_installed(what: str, package: str, extra: str) -> str:
    """That `what` lacks a package of an extra."""
    return f"{what} needs {package}, which is not installed: {how_to_install(extra)}"
