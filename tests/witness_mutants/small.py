"""Bundled scenarios with few requests, so that thousands of copies of a run can be judged at once."""

from __future__ import annotations

from dataclasses import replace

from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.scenario.reading import load_scenario
from fakebroker_load.scenario.reads import READERS
from fakebroker_load.scenario.senders import PRODUCER, RAW, TRANSFORM

REQUESTS = 90  # of a scenario, about
PARTITIONS = 3  # of a topic, at most
LATE_MS = 60_000  # no honest run is late by as much, on whatever machine


def small(name: str) -> LoadScenario:
    """Return the bundled scenario with some REQUESTS requests that take as long as all of them would."""
    whole = load_scenario(name)
    sending = [group for group in whole.groups if group.client not in READERS]
    groups = tuple(_fewer(group, REQUESTS // len(sending)) for group in whole.groups)
    return replace(whole, groups=groups, send_delay_limit_ms=LATE_MS, lateness_limit_ms=LATE_MS)


def _fewer(group: RequestGroup, requests: int) -> RequestGroup:
    partitions = min(group.partitions, PARTITIONS * group.partitions_per_request)
    if group.client in READERS:
        return replace(group, partitions=partitions, connections=min(group.connections, partitions + 1))
    if group.client == PRODUCER and group.also:  # what shares of its records get depends on how many wait at a time
        return replace(group, partitions=partitions, connections=1)
    wanted = PARTITIONS if group.is_wide else max(partitions, 6)
    connections = min(group.connections, partitions if group.client != RAW else wanted)
    count = max(2, min(group.requests_per_connection, requests // connections // group.records_per_request))
    if group.requests_per_connection == 1:
        count, connections = 1, min(group.connections, requests)
    fewer = replace(group, partitions=partitions, connections=connections, requests_per_connection=count)
    share = fewer.requests / group.requests
    if group.client == TRANSFORM:
        fewer = replace(fewer, per_transaction=3)
    if group.client == PRODUCER:
        fewer = replace(fewer, pause_ms=group.pause_ms * group.requests_per_connection // count)
    if group.bytes_per_s is not None:
        fewer = replace(fewer, record_bytes=int(group.record_bytes / share))
    if group.arrivals is not None and group.arrivals.process in ("constant", "poisson"):
        fewer = replace(fewer, arrivals=replace(group.arrivals, rate=group.arrivals.rate * share))
    return fewer
