"""Masks for what differs each time in the output of more than one command."""

from __future__ import annotations

# The controller puts replicas where it likes, unless it is told.
PLACED = {r"Leader: \d": "Leader: N", r"(Replicas|Isr): [\d,]+": r"\1:"}
FIGURES = {r"[\d.]+ (records/sec|MB/sec|ms)\b": r"N \1"}
COORDINATOR = {r"BROKER\d +\(\d\)": "BROKER"}
# Groups of other chapters; a console consumer without a group makes one up.
OUR_GROUPS = {r"^(?!GROUP |groups-|Consumer group 'groups-).*\n?": ""}
# Where a sticky partitioner puts what has no key.
PLACES = {r'"avg_throughput":[\d.]+': '"avg_throughput":N', r'"(partition|offset)":\d+': r'"\1":N'}
# The record with the latest time: records are sent in one millisecond, or in several.
LATEST = {r":\d+$": ":N"}
# Lines of other chapters.
NOT_OURS = {r"^(Dynamic configs for topic (?!configs).*\n)(  .*\n)*": ""}
