"""Programs of client libraries in other languages (conformance/clients), built once into the user's cache."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from conformance.clients.builds import CLIENTS, Client, Folder, NotRun, build, started
from conformance.targets.kafka_box import cache_folder

PROGRAMS = {client.name: client for client in CLIENTS}
_WITHOUT: dict[str, str] = {}  # why, by the name of a folder: a registry that does not answer is asked once


def built(folder: Folder) -> Path:
    """Return the folder with the programs of `folder`, built if need be, by one process at a time. Skips the test, with
    the reason, if a tool is missing or a dependency cannot be fetched."""
    if folder.name in _WITHOUT:
        pytest.skip(_WITHOUT[folder.name])
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "building").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return build(folder, cache)
        except NotRun as reason:
            _WITHOUT[folder.name] = str(reason)
            pytest.skip(str(reason))


def program(client: Client) -> tuple[list[str], Path]:
    """Return the command that starts it, and its folder. Skips as `built` does."""
    folder = built(client.folder)
    return started(client, folder), folder
