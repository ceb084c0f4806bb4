"""The facts of a run, for run.json and the report: its machine, its versions, and its command.

Theory   Commands are shown to others. A token, and Spark options with the name of a secret, are replaced by stars.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pyspark.sql import SparkSession

from fakebroker import COMPILED
from fakebroker_load.session import usable_cores

HIDDEN = "***"
_TOKEN = "--control-token"
_SECRET = re.compile(r"(secret|password|token|access\.?key)[^=]*=", re.I)  # as spark.redaction.regex


def describe_machine(spark: SparkSession) -> dict[str, str | int]:
    jvm = spark.sparkContext._jvm
    return {
        "cores": os.cpu_count() or 1,
        "usable_cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "java": str(jvm.java.lang.System.getProperty("java.version")) if jvm is not None else "?",
        "spark": spark.version,
        "master": str(spark.sparkContext.master),
        "fakebroker": f"{package_version('fakebroker')} ({'compiled' if COMPILED else 'interpreted'})",
        "uvloop": package_version("uvloop"),
    }


def package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def command_line(arguments: Sequence[str]) -> str:
    """Return the command as it could be repeated in a shell. The first argument is the program."""
    name = Path(arguments[0]).name
    return shlex.join(["fakebroker-load" if name == "__main__.py" else name, *_shown(arguments[1:])])


def _shown(arguments: Sequence[str]) -> Iterator[str]:
    is_token = False
    for argument in arguments:
        if is_token or argument.startswith(f"{_TOKEN}="):
            yield HIDDEN if is_token else f"{_TOKEN}={HIDDEN}"
        elif secret := _SECRET.search(argument):
            yield argument[: secret.end()] + HIDDEN
        else:
            yield argument
        is_token = argument == _TOKEN


def brokers_of(leaders: Mapping[tuple[str, int], tuple[str, int]]) -> dict[str, dict[str, list[int]]]:
    """Return the partitions that each broker leads, by its address and topic."""
    by_broker: dict[str, dict[str, list[int]]] = {}
    for (topic, partition), (host, port) in sorted(leaders.items()):
        by_broker.setdefault(f"{host}:{port}", {}).setdefault(topic, []).append(partition)
    return by_broker
