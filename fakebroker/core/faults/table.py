"""The errors of each served API, and the work that is done before them. Each API declares its own, in its file.

Theory   The APIs stand above the core. So `fakebroker/__init__.py`, which runs before any module of the package, gives
         the core a function that returns them (`core.load_apis`); the first fault calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from fakebroker import core


class Errors(NamedTuple):
    """The errors of one API, by Kafka's names. fakebroker/apis/errors.py makes it, and says what each field means."""

    selectors: tuple[str, ...]
    before: frozenset[str]
    after: frozenset[str]
    appends: bool
    only_reads: bool
    not_parts: tuple[str, ...]
    unseen: Mapping[str, str]


ANYWHERE: Final = "UNKNOWN_SERVER_ERROR"  # any API has it at any place: it leaves open how much was done
ACKS_ALL: Final = frozenset(
    {"REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
)  # for a Produce with acks=-1 only
WATERMARK: Final = frozenset({"NOT_ENOUGH_REPLICAS_AFTER_APPEND"})  # it implies that the watermark passed


@cache
def table() -> dict[str, Errors]:
    """Return the errors by API, in the order of the API keys."""
    return {api.name: api.errors for api in core.load_apis().values()}


@cache
def api_keys() -> dict[str, int]:
    """Return the API keys by name, in their order."""
    return {api.name: key for key, api in core.load_apis().items()}


@cache
def api_names() -> dict[int, str]:
    return {key: name for name, key in api_keys().items()}
