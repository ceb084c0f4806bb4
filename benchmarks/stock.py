"""The stock confluent-kafka producer at its defaults (acks=all, linger 5 ms), records of 100 B and 1,000 B.

    python -m benchmarks stock [--quick] [--json]

It shows what a test gains if only its broker is exchanged. All sides take turns. Each round has a topic of its own with
4 partitions. Afterwards the log end offsets must account for every record.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product

from benchmarks.peers.brokers import KFAKE, MOCK, MOCK_PARTITIONS, OURS, Broker, environment, fleet
from benchmarks.reporting.report import Report, end, missing, options, progress
from benchmarks.reporting.rows import compare

SIZES = (100, 1000)
TARGETS = {MOCK: 1.0, KFAKE: 1.0}
LIMIT_S = 120


def produce(broker: Broker, topic: str, messages: int, value_bytes: int) -> float:
    """Records per second, once the broker has confirmed that it has them all."""
    broker.create_topic(topic, MOCK_PARTITIONS)
    arguments = [broker.bootstrap, topic, str(messages), str(value_bytes)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.drivers.stock_producer", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the producer failed on {broker.name}: {done.stderr.strip().splitlines()[-1]}")
    stored = broker.end_offset(topic)
    # A retry of librdkafka at its defaults, which is not idempotent, may store a record twice, but lose none.
    if stored < messages:
        raise RuntimeError(f"{broker.name} has {stored} of {messages} records")
    broker.delete_topics([topic])
    return float(messages / json.loads(done.stdout)["seconds"])


def main(argv: list[str]) -> int:
    chosen = options("stock", __doc__, argv, "fewer records, rougher figures")
    rounds, messages = (3, 100_000) if chosen.quick else (5, 500_000)
    report = Report("stock")
    with fleet() as started, progress("stock", len(SIZES)) as step:
        for value_bytes in SIZES:
            step(f"{value_bytes} B")
            brokers = started.renew()
            samples: dict[str, list[float]] = {name: [] for name in started.names}
            for number, (name, broker) in product(range(rounds + 1), brokers.items()):
                rate = produce(broker, f"stock-{value_bytes}-{number}", messages, value_bytes)
                if number:  # the first is to warm up
                    samples[name].append(rate)
            for peer in started.names[1:]:
                row = compare(
                    f"confluent-kafka producer, {value_bytes:,} B",
                    peer,
                    "records/s",
                    samples[OURS],
                    samples[peer],
                    TARGETS.get(peer),
                    missing(started.reasons, peer),
                    request_bytes=value_bytes,
                )
                report.add(row)
        report.versions = {name: text for name, text in started.versions.items() if name != OURS}
    return end(report, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
