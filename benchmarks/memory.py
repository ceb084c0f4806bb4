"""The memory of parked requests, and whether a broker that runs for long stays as small as it was.

    python -m benchmarks memory [--quick] [--json]

parked  The same produce requests, one per connection, to a cluster without a network, once with acks=1 and once with
        acks=-1 and frozen followers. The second has everything the first has, its log too, and each request parked
        besides: the difference, divided by their number, is what a parked operation costs. Limit: 1.5 KB.
soak    Produce requests, acks=-1, idempotent, of 100 bytes to 2 KB, for as long as asked, against topics with
        retention.bytes. The resident memory after each tenth. The last must not be above the first by more than 5 %:
        allocators round.

Each measurement has a process of its own, and counts resident memory (Linux: /proc/self/statm). Exit status 1 if a
limit is broken; --quick does a hundredth of everything and judges nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import platform
import resource
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter

from benchmarks.reporting.report import Report
from benchmarks.reporting.rows import LIMIT, compare
from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.behaviour import FROZEN, INSTANT
from fakebroker.protocol.record_batch import Record, encode_batch

LIMIT_BYTES = 1536
SOAK_LIMIT = 1.05
START_MS = 1_800_000_000_000
KIB = 1024


def resident_bytes() -> int:
    """Memory of this process that is in RAM now; where the system does not tell, its peak."""
    gc.collect()
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB


def produce_frame(correlation_id: int, topic: str, partition: int, acks: int, timeout_ms: int, records: bytes) -> bytes:
    """A Produce v9 request, by hand: building it through kio would take most of the time."""
    name = topic.encode()
    body = b"".join(
        (
            b"\x00\x00\x00\x09",
            correlation_id.to_bytes(4, "big"),
            b"\x00\x05bench\x00",
            b"\x00",
            acks.to_bytes(2, "big", signed=True),
            timeout_ms.to_bytes(4, "big"),
            b"\x02",
            bytes([len(name) + 1]),
            name,
            b"\x02",
            partition.to_bytes(4, "big"),
            unsigned_varint(len(records) + 1),
            records,
            b"\x00\x00\x00",
        )
    )
    return len(body).to_bytes(4, "big") + body


def unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def measure_parked(count: int, acks: int) -> float:
    """Bytes per request of `count` produce requests, one per connection; with acks=-1 all of them stay parked."""
    now = Now(0, START_MS)
    cluster = Cluster(now, config=BrokerConfig(), followers=FROZEN)
    cluster.admin.create_topic(NewTopic("t", 1, 3), now)
    connections = [cluster.open_connection(1, "bench", now) for _ in range(count)]
    frame = produce_frame(
        1, "t", 0, acks, 2**31 - 1, encode_batch([Record(None, bytes(100))], base_timestamp_ms=START_MS)
    )
    before = resident_bytes()
    for connection in connections:
        cluster.receive(connection, frame, now)
        cluster.take_effects()
    cost = (resident_bytes() - before) / count
    waiting = cluster.brokers[1].replicas.produce_purgatory.num_delayed()
    if waiting != (count if acks == -1 else 0):
        raise AssertionError(f"{waiting} of {count} requests are parked with acks={acks}")
    return cost


def measure_soak(count: int) -> list[int]:
    """Resident bytes after each tenth of `count` produce requests."""
    partitions, connections_count = 6, 12
    random = Random(4)
    cluster = Cluster(Now(0, START_MS), config=BrokerConfig(), followers=INSTANT)
    configs = {"retention.bytes": str(4 * KIB * KIB)}
    cluster.admin.create_topic(NewTopic("t", partitions, 3, {}, configs), Now(0, START_MS))
    connections = [
        cluster.open_connection(1 + index % 3, "bench", Now(0, START_MS)) for index in range(connections_count)
    ]
    payload = random.randbytes(2 * KIB)
    sequences = [0] * connections_count
    answered = 0
    residents = []
    for number in range(count):
        now = Now(number // 10, START_MS + number // 10)
        cluster.advance_to(now)
        index = number % connections_count
        records = encode_batch(
            [Record(None, payload[: random.randint(100, 2 * KIB)])],
            base_timestamp_ms=now.wall_ms,
            producer_id=index,
            producer_epoch=0,
            base_sequence=sequences[index],
        )
        sequences[index] += 1
        # Partition p is led by broker 1 + p mod 3.
        frame = produce_frame(number, "t", index % partitions, -1, 30_000, records)
        cluster.receive(connections[index], frame, now)
        answered += len(cluster.take_effects())
        if (number + 1) % (count // 10) == 0:
            residents.append(resident_bytes())
    if answered != count:
        raise AssertionError(f"{answered} answers to {count} requests")
    end_offsets = sum(partition.leader_log.log_end_offset for partition in cluster.metadata.partitions())
    if end_offsets != count:
        raise AssertionError(f"{end_offsets} of {count} records were appended")
    return residents


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks memory", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of everything; the limits are not judged")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(argv)
    parked, soak = (1_000, 10_000) if options.quick else (100_000, 1_000_000)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        log_only = pool.apply(measure_parked, (parked, 1))
        with_parked = pool.apply(measure_parked, (parked, -1))
        started = perf_counter()
        residents = pool.apply(measure_soak, (soak,))
        seconds = perf_counter() - started
    cost = with_parked - log_only
    growth = residents[-1] / residents[0]
    mebibytes = [round(resident / KIB / KIB, 1) for resident in residents]
    report = Report("memory")
    report.add(compare("a parked request, in process", LIMIT, "bytes", [cost], [LIMIT_BYTES]))
    last, first = [residents[-1] / 1e6], [residents[0] / 1e6]
    report.add(compare(f"{soak:,} produces", "the first tenth of them", "MB", last, first, round(1 / SOAK_LIMIT, 3)))
    if options.quick:
        report.rows = [replace(row, target=None) for row in report.rows]
    figures: dict[str, object] = {
        "parked": parked,
        "bytes_per_parked": round(cost),
        "limit_bytes_per_parked": LIMIT_BYTES,
        "log_bytes_per_record": round(log_only),
        "soak_produces": soak,
        "soak_resident_mib": mebibytes,
        "soak_last_to_first": round(growth, 3),
        "soak_limit": SOAK_LIMIT,
        "soak_seconds": round(seconds, 1),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    if options.json:
        print(json.dumps(json.loads(report.as_json()) | figures))
    else:
        print(
            f"parked  {cost:6.0f} bytes each, {parked:,} of them (limit {LIMIT_BYTES}; the log has {log_only:.0f} more)"
        )
        print(f"soak    {soak:,} produces in {seconds:.0f} s; resident MiB after each tenth: {mebibytes}")
        print(f"        last to first {growth:.3f} (limit {SOAK_LIMIT})")
    return 0 if options.quick or (cost <= LIMIT_BYTES and growth <= SOAK_LIMIT) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
