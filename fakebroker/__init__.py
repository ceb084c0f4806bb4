"""A stand-in Kafka cluster in one Python process that tells the truth about acks=all."""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036  before anything that an old Python does not have
    from fakebroker.old_python import refuse

    refuse()

import os
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fakebroker import core

if TYPE_CHECKING:
    from fakebroker.core.errors import KafkaError
    from fakebroker.core.faults.fault import Fault
    from fakebroker.core.faults.when import When
    from fakebroker.producing.async_producer import AsyncProducer
    from fakebroker.server.async_cluster import AsyncFakeCluster
    from fakebroker.server.fake_cluster import FakeCluster

_spec = find_spec("fakebroker.core.log.plain_append")
COMPILED = _spec is not None and not str(_spec.origin).endswith(".py")
"""True if the hot modules are compiled (setup.py names them), False if the whole package is interpreted."""

_FOLDER = os.path.dirname(os.path.dirname(__file__))


class _TimingWheelBeside:
    """A finder of the `timingwheel` that was compiled with this package. Another one, such as the checkout's beside a
    test in it, has classes that are laid out differently, and Python would crash."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [_FOLDER]) if name == "timingwheel" else None


if COMPILED:
    _imported = getattr(sys.modules.get("timingwheel"), "__file__", None)
    if _imported and os.path.dirname(os.path.dirname(_imported)) != _FOLDER:
        raise ImportError(
            f"timingwheel was imported from {os.path.dirname(_imported)}, but fakebroker was compiled with the one in "
            f"{_FOLDER}: import fakebroker first, or start Python in another folder"
        )
    sys.meta_path.insert(0, _TimingWheelBeside)

__version__ = "0.1.0"

__all__ = ["COMPILED", "AsyncFakeCluster", "AsyncProducer", "FakeCluster", "Fault", "KafkaError", "When", "__version__"]

# Imported at first use: the command line decides what is imported before them (cli.py), and users of
# `fakebroker.protocol` alone need no server.
_LAZY = {
    "AsyncFakeCluster": "fakebroker.server.async_cluster",
    "AsyncProducer": "fakebroker.producing.async_producer",
    "FakeCluster": "fakebroker.server.fake_cluster",
    "Fault": "fakebroker.core.faults.fault",
    "KafkaError": "fakebroker.core.errors",
    "When": "fakebroker.core.faults.when",
}


def _load_apis() -> Any:
    return import_module("fakebroker.apis.registry").load()


core.load_apis = _load_apis  # for the first fault: the core may not import what is above it


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
