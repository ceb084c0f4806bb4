"""Apache Kafka's responses, read once for all test modules of a process."""

from __future__ import annotations

from functools import cache

from conformance.cases import all_cases
from conformance.scenario import Case
from conformance.transcripts.golden import Golden, load_all


@cache
def cases() -> tuple[Case, ...]:
    return tuple(all_cases())


@cache
def answers() -> tuple[Golden, ...]:
    return tuple(load_all())
