"""The limit of open files. Each connection is one, and some systems allow few by default (macOS 256, many Linuxes
1,024)."""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

OTHER_FILES = 256  # jars, logs, pipes, listeners


class TooFewFiles(Exception):
    """The system does not allow as many connections; the message is for the user."""


def allow_connections(connections: int) -> None:
    """Raise the soft limit of this process and its children, as far as needed and allowed. Raises TooFewFiles."""
    if resource is None:
        return  # type: ignore[unreachable]
    needed = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise TooFewFiles(
            f"{connections:,} connections need {needed:,} open files, and the hard limit here is {hard:,} (ulimit -Hn)."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
