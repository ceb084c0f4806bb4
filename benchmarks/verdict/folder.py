"""A folder of results as a load of N requests leaves it, without the load: honest rows, made by the million.

Shape    requests.parquet, log.parquet, partitions.parquet, journal.parquet and run.json as fakebroker_load.job writes
         them, of one run of `acks-all`: each request waits for its timeout and is answered REQUEST_TIMED_OUT with its
         offset. The journal has five rows for each: request, produce, append, parked, answer.
Theory   A connection sends to one partition, one request after the other, each right behind the answer to the one
         before it; the log of a partition has them in the order of their sending. What the three say agrees, so that
         all is confirmed: a verdict that finds anything wrong here is one of something else.
Units    *_us is microseconds after the start; *_mono_ms is the broker's clock, 1,000,000 ms ahead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker_load.journal.lines import JOURNAL_SCHEMA
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.results.folder import JOURNAL_PARQUET, LOG_PARQUET, PARQUET, PARTS_PARQUET
from fakebroker_load.results.manifest import write_runs
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic.rows import RESULT_SCHEMA

TIMED_OUT = 7
RUN = "growth"
RUN_ID = "0123456789ab"
TOPIC = "orders"
GROUP = "acks-all"
PARTITIONS = 60
OF_A_CONNECTION = 1_000  # requests
TIMEOUT_MS = 200
AHEAD_MS = 1_000_000
AT_ONCE = 500_000  # requests in memory
MACHINE = dict.fromkeys(("cores", "usable_cores", "system", "python", "java", "spark", "fakebroker", "uvloop"), "none")
EVENTS = ("request", "produce", "append", "parked", "answer")

Column = Any  # an array of numpy or pyarrow, or one value for all rows


def make_folder(folder: Path, requests: int, *, log: bool = True, journal: bool = True) -> None:
    """Write it all for so many requests, a multiple of OF_A_CONNECTION: connections are whole."""
    if requests % OF_A_CONNECTION:
        raise ValueError(f"{requests:,} requests are not a multiple of {OF_A_CONNECTION:,}, those of a connection")
    connections = requests // OF_A_CONNECTION
    for name in (PARQUET, *((LOG_PARQUET, PARTS_PARQUET) if log else ()), *((JOURNAL_PARQUET,) if journal else ())):
        (folder / name).mkdir(parents=True)
    ends = [0] * PARTITIONS
    events = 0
    for number, ids in enumerate(_pieces(requests)):
        connection, sequence = ids // OF_A_CONNECTION, ids % OF_A_CONNECTION
        partition = connection % PARTITIONS
        # Of one partition the connections take turns: request 0 of each, request 1 of each, ...
        sharing = (connections - 1 - partition) // PARTITIONS + 1
        offset = sequence * sharing + connection // PARTITIONS
        times = _times(connection, sequence)
        common: dict[str, Column] = {
            "run": RUN,
            "topic": TOPIC,
            "connection": connection,
            "sequence": sequence,
            "partition": partition,
            "fingerprint": _hex(ids, 16),
            "value_crc": (ids * 2_654_435_761) % (1 << 32),
        }
        name = f"part-{number:05}.parquet"
        _write(folder / PARQUET / name, RESULT_SCHEMA, len(ids), common | _asked(ids, offset, connection) | times)
        if log:
            _write(folder / LOG_PARQUET / name, LOG_SCHEMA, len(ids), common | {"offset": offset})
        if journal:
            with pq.ParquetWriter(folder / JOURNAL_PARQUET / name, JOURNAL_SCHEMA) as writer:
                for row in _journal(ids, common, offset, times):
                    writer.write_table(_table(JOURNAL_SCHEMA, len(ids), row))
                    events += len(ids)
        for place in range(PARTITIONS):
            if (mine := offset[partition == place]).size:
                ends[place] = max(ends[place], int(mine.max()) + 1)
    if log:
        _write_parts(folder / PARTS_PARQUET / "part-00000.parquet", ends)
    write_runs(folder, [_entry(requests, connections, log, events)])


def _write_parts(path: Path, ends: list[int]) -> None:
    parts = [
        {
            "run": RUN,
            "run_id": RUN_ID,
            "topic": TOPIC,
            "partition": place,
            "host": "localhost",
            "port": 9092,
            "start_offset": 0,
            "readable_offset": end,
            "end_offset": end,
            "same_leader": True,
        }
        for place, end in enumerate(ends)
    ]
    pq.write_table(pa.Table.from_pylist(parts, schema=PART_SCHEMA), path)


def _pieces(requests: int) -> Iterator[np.ndarray[Any, Any]]:
    for begin in range(0, requests, AT_ONCE):
        yield np.arange(begin, min(begin + AT_ONCE, requests), dtype=np.int64)


def _times(connection: Column, sequence: Column) -> dict[str, Column]:
    """Return when each request was intended, sent and got its response. A hash replaces the noise of a machine. It is
    the same for all requests of a partition in a turn, so they are handled in the order of their offsets."""
    partition = connection % PARTITIONS
    noise = (partition * 7_919 + sequence * 104_729) % 1_009
    turn_us = (TIMEOUT_MS + 5) * 1000
    intended = sequence * turn_us + partition * 100
    sent = intended + noise
    return {"intended_us": intended, "sent_us": sent, "answered_us": sent + TIMEOUT_MS * 1000 + 500 + noise}


def _asked(ids: Column, offset: Column, connection: Column) -> dict[str, Column]:
    local = pa.array([f"127.0.0.1:{10_000 + one}" for one in range(int(connection[0]), int(connection[-1]) + 1)])
    return {
        "group": GROUP,
        "place": 0,
        "correlation_id": ids + 1,
        "acks": -1,
        "timeout_ms": TIMEOUT_MS,
        "error_code": TIMED_OUT,
        "base_offset": offset,
        "outcome": "answered",
        "expected_error": TIMED_OUT,
        "must_wait": True,
        "local": local.take(pa.array(connection - connection[0])),
        "throttle_ms": 0,
        "client": "raw",
        "client_id": "fakebroker-load",
        "ordered": True,
    }


def _journal(ids: Column, common: dict[str, Column], offset: Column, times: dict[str, Column]) -> Iterator[Any]:
    """The rows of one event each, of all these requests. `seq` puts them in the order of time, as far as it matters."""
    connection = common["connection"]
    handled = times["sent_us"] // 1000 + AHEAD_MS
    answered = handled + TIMEOUT_MS
    local = _asked(ids, offset, connection)["local"]
    place = {"topic": TOPIC, "partition": common["partition"]}
    deadline = {"deadline_mono_ms": answered}
    append = place | {"error_code": 0, "base_offset": offset, "last_offset": offset, "is_duplicate": False}
    append |= {"is_marker": False, "records": _each_alone(common["fingerprint"])}
    event_columns: dict[str, dict[str, Column]] = {
        "request": {"peer": local, "api": "Produce", "correlation_id": ids + 1, "client_id": "fakebroker-load"}
        | {"received_mono_ms": handled},
        "produce": place | {"acks": -1, "timeout_ms": TIMEOUT_MS},
        "append": append,
        "parked": deadline,
        "answer": place | {"error_code": TIMED_OUT, "base_offset": offset, "outcome": "sent"},
    }
    for number, event in enumerate(EVENTS):
        at = answered if event == "answer" else handled
        seq = (at - AHEAD_MS) * 1_000_000 + connection * 10 + number
        yield {
            "run": RUN,
            "seq": seq,
            "event": event,
            "mono_ms": at,
            "connection": connection,
            "request": ids + 1,
        } | event_columns[event]


def _each_alone(values: Column) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1, dtype=np.int32)), values)


def _hex(ids: Column, digits: int) -> pa.Array:
    """Like no other one, and as long as a fingerprint."""
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return pa.array([f"{one:0{digits}x}" for one in mixed.tolist()])


def _write(path: Path, schema: pa.Schema, rows: int, columns: dict[str, Column]) -> None:
    pq.write_table(_table(schema, rows, columns), path)


def _table(schema: pa.Schema, rows: int, columns: dict[str, Column]) -> pa.Table:
    arrays = []
    for field in schema:
        value = columns.get(field.name)
        if value is None or isinstance(value, str | int | bool):
            arrays.append(pa.repeat(pa.scalar(value, field.type), rows))
        else:
            arrays.append(pa.array(value).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _entry(requests: int, connections: int, log: bool, events: int) -> dict[str, Any]:
    group = RequestGroup(
        name=GROUP,
        topic=TOPIC,
        acks=-1,
        expect="REQUEST_TIMED_OUT",
        waits=True,
        partitions=PARTITIONS,
        connections=connections,
        requests_per_connection=OF_A_CONNECTION,
        timeout_ms=(TIMEOUT_MS, TIMEOUT_MS),
    )
    scenario = LoadScenario(name=RUN, about="Rows that nobody sent.", groups=(group,))
    entry: dict[str, Any] = {
        "scenario": asdict(scenario),
        "run_id": RUN_ID,
        "log": log,
        "seed": 1,
        "bootstrap": ["localhost:9092"],
        "slots": 2,
        "planned": {GROUP: requests},
        "planned_s": 0.0,
        "started_at": "2026-01-01T00:00:00Z",
        "took_s": 1.0,
        "clocks": {"error_us": 0, "hosts": ["localhost"], "tasks": []},
        "machine": MACHINE,
        "actions": [],
    }
    return entry | ({"journal": {"from": "a journal that was made", "rows": events}} if events else {})
