"""Commands of `fakebroker` that another package provides: found by name, so that nothing here imports that package.

Shape    `find_command("demo")` is what the entry point `demo` of the group `fakebroker.commands` names; pyproject.toml
         has those of the extras.
Errors   NotInstalled, with a sentence that says what to install.
Source   The entry points specification of the Python Packaging User Guide.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from fakebroker.extras import how_to_install, not_installed

GROUP = "fakebroker.commands"


class NotInstalled(Exception):
    """The command, or a package that it needs, is not installed; the message is for the user."""


def find_command(name: str) -> Callable[..., int]:
    """Return the function of a command; that returns the exit status."""
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    if entry is None:  # a source tree that is not installed, or an installation older than the command
        raise NotInstalled(f"the command {name} is not installed: {how_to_install('load')}")
    try:
        command: Callable[..., int] = entry.load()
    except ImportError as error:
        package = entry.module.partition(".")[0]
        missing = (error.name or "").partition(".")[0]
        # A missing module of our own, or a missing name in it, is a bug, and not a missing extra.
        gone = isinstance(error, ModuleNotFoundError) and error.name == package
        if missing in ("", "fakebroker", package) and not gone:
            raise
        raise NotInstalled(not_installed(f"the command {name}", missing, "load")) from error
    return command
