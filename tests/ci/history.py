"""Commits that have passed `.ci/run` on this machine, and the changes since the newest of them.

The hashes stand in ~/.cache/fakebroker/ci-green, one a line. Only a checkout without uncommitted changes is recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

from affected.changes import GitError, git

GREEN = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fakebroker" / "ci-green"


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def is_clean(root: Path) -> bool:
    return not git(root, "status", "--porcelain").strip()


def green(file: Path = GREEN) -> frozenset[str]:
    """Return the hashes of all commits that have passed."""
    return frozenset(file.read_text(encoding="ascii").split()) if file.exists() else frozenset()


def record(root: Path, file: Path = GREEN) -> bool:
    """Add the commit, unless the checkout differs from it. Return whether it was added."""
    if not is_clean(root):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="ascii") as lines:
        lines.write(head(root) + "\n")
    return True


def base(root: Path, file: Path = GREEN) -> str | None:
    """Return the newest ancestor of HEAD, other than itself, that has passed; None if there is none.

    HEAD itself does not count, so a second run on the same commit runs the same parts."""
    passed = green(file)
    try:
        ancestors = git(root, "rev-list", "HEAD").split()[1:]
    except GitError:  # no repository: an unpacked archive
        return None
    return next((commit for commit in ancestors if commit in passed), None)


def changed_since(root: Path, commit: str) -> list[str]:
    """Return the paths that differ from the commit, uncommitted and new files included."""
    names = git(root, "diff", "--name-only", "--no-renames", "-z", commit, "--").split("\0")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return sorted({*names, *new} - {""})
