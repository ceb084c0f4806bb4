"""A lie and its small run against lying brokers, without Spark. Spark judges the folder together with many others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import lies
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakebroker import FakeCluster
from fakebroker_load import worker
from fakebroker_load.job import Bootstrap, leaders_of
from fakebroker_load.journal.file_window import FileWindow
from fakebroker_load.journal.lines import JOURNAL_SCHEMA
from fakebroker_load.journal.taps import FileTap
from fakebroker_load.log import (
    LOG_SCHEMA,
    PART_SCHEMA,
    await_readable,
    log_ends,
    part_rows,
    shown_watermarks,
    standing_still,
)
from fakebroker_load.plan import plan_connections
from fakebroker_load.readback import followers
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.results.folder import JOURNAL_PARQUET, LOG_PARQUET, PARQUET, PARTS_PARQUET, RUN_FILE, read_runs
from fakebroker_load.results.manifest import write_runs
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.wire.messages import CLIENT_ID

PARTITIONS, CONNECTIONS, EACH = 2, 4, 10
ANSWERED, REFUSED, FROZEN, SILENT = "NONE", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "no answer"
LAG_MS = 40
SOURCE, READERS, BESIDE = "source", "readers", "beside"

Patch = Callable[[pytest.MonkeyPatch], None]


class Lie(NamedTuple):
    """A lie of the brokers (None: they are honest), the requests, the expected response, and the finding that `ways`
    records and more must give. With fewer records the verdict finds nothing."""

    patch: Patch | None
    acks: int
    expect: str
    problem: str | None = None
    ways: int = 2
    followers_lag: bool = False
    tells_lag: bool = False  # the scenario says how far they lag
    freezes: bool = False  # followers are frozen, whatever response is expected
    frozen_broker: int | None = None  # the only one of them
    each: int = EACH  # requests of a connection
    grace_ms: int = 5_000
    reads: bool = False  # also a reader of each partition
    members: bool = False  # also a group with members that join and leave
    alone: str | None = None  # the finding without a journal
    is_by_chance: bool = False  # without one it is found only if followers are still behind when the load ends
    amiss: str | None = None  # the finding about the group
    timeout_ms: tuple[int, int] = (20, 40)  # for requests that time out
    producer_byte_rate: int = 0  # the quota of the load
    is_wide: bool = False  # each request has a batch of two records for each partition of two topics
    transaction: str | None = None  # how each transaction ends, if is_wide
    of_producers: bool = False  # the requests are those of Kafka's producer
    per_transaction: int = 0  # records are made of others in transactions, and every second one is aborted


def scenario(name: str, lie: Lie) -> LoadScenario:
    if lie.per_transaction:
        requests_each = lie.each * CONNECTIONS // PARTITIONS
        source = RequestGroup(SOURCE, SOURCE, -1, ANSWERED, False, None, PARTITIONS, PARTITIONS, requests_each)
        transform = replace(
            source,
            name="g",
            topic=lies.TOPIC,
            client="transform",
            generation="4.4",
            source=SOURCE,
            per_transaction=lie.per_transaction,
            fail_every=2,
        )
        return LoadScenario(name, (transform, source))
    group = RequestGroup(
        "g",
        lies.TOPIC,
        lie.acks,
        lie.expect,
        waits=lie.expect == FROZEN,
        partitions=PARTITIONS,
        connections=CONNECTIONS,
        requests_per_connection=lie.each,
        timeout_ms=lie.timeout_ms if lie.expect == FROZEN else (5_000, 5_000),
        ramp_ms=20,
    )
    if lie.is_wide:
        wide = replace(
            group,
            beside={BESIDE: ANSWERED},
            partitions_per_request=PARTITIONS,
            records_per_batch=2,
            transaction=lie.transaction,
        )
        return LoadScenario(name, (wide,))
    if lie.of_producers:
        pause = replace(group, client="producer", generation="4.4", pause_ms=20)
        return LoadScenario(name, (replace(pause, settings={"enable.idempotence": True}),))
    readers = RequestGroup(
        READERS,
        lies.TOPIC,
        -1,
        ANSWERED,
        client="reader",
        partitions=PARTITIONS,
        connections=PARTITIONS,
        until_ms=4_000,
    )
    if lie.members:
        members = replace(
            readers, client="member", session_ms=1_000, life_ms=(200, 400), vanish_every=3, until_ms=8_000, ramp_ms=100
        )
        return LoadScenario(name, (replace(group, pause_ms=40), members))
    lag = ({"topic": lies.TOPIC, "behaviour": "lagging", "lag_ms": LAG_MS},) if lie.tells_lag else ()
    return LoadScenario(name, (group, readers) if lie.reads else (group,), followers=lag)


@contextmanager
def lying_cluster(lie: Lie, journal: Path) -> Iterator[tuple[FakeCluster, Bootstrap]]:
    """Return a cluster in which one broker leads both partitions, so that a record can go to the wrong one."""
    config = {
        "replica.lag.time.max.ms": 3_600_000,
        "group.min.session.timeout.ms": 1_000,
        "group.initial.rebalance.delay.ms": 0,
    }
    with FakeCluster(config=config, journal=0, journal_file=journal) as kafka, pytest.MonkeyPatch.context() as patches:
        for topic in (lies.TOPIC, SOURCE, BESIDE):
            kafka.create_topic(topic, assignments=[[1, 2, 3]] * PARTITIONS)
        patches.setattr(followers, "CURRENT_WITHIN_S", 0.3)
        if lie.producer_byte_rate:
            kafka.quotas.set(client_id=CLIENT_ID, producer_byte_rate=lie.producer_byte_rate)
        if lie.followers_lag:
            kafka.followers.lag(LAG_MS, lies.TOPIC)
        elif lie.freezes or lie.expect == FROZEN:
            kafka.followers.freeze(lies.TOPIC, broker=lie.frozen_broker)
        if lie.patch is not None:
            lie.patch(patches)
        yield kafka, [(broker.host, broker.port) for broker in kafka.endpoints]


def play(out: Path, name: str, lie: Lie, seed: int, with_journal: bool = True) -> None:
    """Add a run of that name to the folder."""
    plan, run_id = scenario(name, lie), f"id{len(runs_of(out))}"
    journal = out / f"{run_id}.jsonl"
    with lying_cluster(lie, journal) as (kafka, bootstrap):
        metadata = leaders_of(bootstrap, plan)
        before = log_ends(metadata)
        path = out / JOURNAL_PARQUET / f"{run_id}.parquet"
        window = FileWindow(FileTap(journal, "a journal"), next(iter(metadata.leaders.values())), name, path)
        with window.open() if with_journal else nullcontext():
            table = plan_connections(plan, metadata.leaders, seed)
            sent = worker.run(iter(table.to_batches()), run_id=run_id, grace_ms=lie.grace_ms)
            keep(out / PARQUET, run_id, list(sent), RESULT_SCHEMA)
            ends = log_ends(leaders_of(bootstrap, plan))
            shown = shown_watermarks(ends)
            still = standing_still({lies.TOPIC} if lie.expect == FROZEN else (), leaders_of(bootstrap, plan))
            kafka.followers.resume(lies.TOPIC)
            kafka.followers.instant(lies.TOPIC)
            parts = pa.RecordBatch.from_pylist(
                part_rows((name, run_id), before, ends, await_readable(ends), shown, plan.transactional, still),
                schema=PART_SCHEMA,
            )
            keep(out / LOG_PARQUET, run_id, list(read_parts(iter([parts]))), LOG_SCHEMA)
            keep(out / PARTS_PARQUET, run_id, [parts], PART_SCHEMA)
    assert not with_journal or window.found.why_not is None, window.found
    journal.unlink()
    entry: dict[str, Any] = {
        "scenario": asdict(plan),
        "planned": {group.name: group.records for group in plan.groups},
        "log": True,
        **({"journal": {"from": "a journal", "rows": window.found.rows}} if with_journal else {}),
    }
    # `add_copies_without_journal` and `judge_folder` write the manifest. It has all files of the folder, so it is not
    # written anew with each run.
    (out / RUN_FILE).write_text(json.dumps([*runs_of(out), entry]))


def add_copies_without_journal(out: Path) -> None:
    """Add each run once more, as if there were no journal of it. Then Spark judges all with one plan, and it has one
    file of each kind to open."""
    for folder, schema in (
        (PARQUET, RESULT_SCHEMA),
        (LOG_PARQUET, LOG_SCHEMA),
        (PARTS_PARQUET, PART_SCHEMA),
        (JOURNAL_PARQUET, JOURNAL_SCHEMA),
    ):
        files = sorted((out / folder).iterdir())
        tables = [pq.ParquetFile(file).read() for file in files]
        for file in files:
            file.unlink()
        if folder != JOURNAL_PARQUET:
            tables += [_of_copies(table) for table in tables]
        keep(out / folder, "all", [batch for table in tables for batch in table.cast(schema).to_batches()], schema)
    entries = runs_of(out)
    copies = [
        {name: entry[name] for name in entry if name != "journal"}
        | {"scenario": entry["scenario"] | {"name": without_journal(entry["scenario"]["name"])}}
        for entry in entries
    ]
    write_runs(out, entries + copies)


def without_journal(name: str) -> str:
    """Return the name of a run's copy."""
    return f"{name}, without journal"


def _of_copies(table: pa.Table) -> pa.Table:
    names = [without_journal(name) for name in table["run"].to_pylist()]
    return table.set_column(table.schema.get_field_index("run"), "run", pa.array(names, pa.string()))


def runs_of(out: Path) -> list[dict[str, Any]]:
    return read_runs(out) if (out / RUN_FILE).exists() else []


def keep(folder: Path, run_id: str, batches: list[pa.RecordBatch], schema: pa.Schema) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_batches(batches, schema), folder / f"{run_id}.parquet")
