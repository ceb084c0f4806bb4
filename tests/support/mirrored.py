"""The distance of a test file from the file that it mirrors."""

from __future__ import annotations

from pathlib import PurePosixPath


def distance_of(test_file: str, path: str) -> int:
    """Return 0 for the test file that mirrors a file of the package, else 1 + the number of folders not shared."""
    test, own = PurePosixPath(test_file), PurePosixPath(path)
    mirrored = own.parts[1:-1] if own.parts[0] == "fakebroker" else own.parts[:-1]
    folders = test.parts[1:-1]
    if test.name == f"test_{own.name}" and folders == mirrored:
        return 0
    shared = 0
    for mine, theirs in zip(mirrored, folders, strict=False):
        if mine != theirs:
            break
        shared += 1
    return 1 + len(mirrored) + len(folders) - 2 * shared
