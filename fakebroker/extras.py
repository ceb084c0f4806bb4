"""Messages for an extra that is not installed. fakebroker is not on a package index: extras come from a checkout."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra, and where to run it."""
    return f"pip install '.[{extra}]' in the checkout of fakebroker"


def not_installed(what: str, package: str, extra: str) -> str:
    """Return the sentence that `what` lacks a package of an extra."""
    return f"{what} needs {package}, which is not installed: {how_to_install(extra)}"
