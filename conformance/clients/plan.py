"""The work of every client: the jobs, the topics they need, and the plan as the programs read it.

Units    milliseconds. Texts of bytes in a plan are base64.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MIXED, FROZEN, THAWED = "mixed", "frozen", "thawed"  # the stages: followers run, are frozen, are frozen and thawed

_LINGER_MS = 50  # so that the records of a job make one batch for each partition, which is worth compressing
_TIMEOUT_MS = 10_000  # where all is well
_REFUSED_MS = 3_000  # where the broker refuses, or there is nothing to wait for
_FROZEN_MS = 2_000  # where the broker does not answer in time
_START_MS = 1_700_000_000_000
_FUTURE_MS = 4_000_000_000_000  # the year 2096


@dataclass(frozen=True)
class Record:
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = _START_MS


@dataclass(frozen=True)
class Job:
    """One topic, one way to send, and the records.

    acks           0, 1, or -1 for all
    retries        False: off, as far as the client can
    pause_before   the index of a record: what is before it is delivered first, then the harness is waited for
    block_ms       how long the client may look for the topic and the partition
    replicas, configs, partitions   of the topic; partitions 0: there is no such topic
    stage          what followers do meanwhile
    transactional_id   all records are of one transaction; one result more, the last, is that of its commit (franz-go,
                   sarama and KafkaJS alone)
    """

    name: str
    acks: int = -1
    idempotent: bool = False
    codec: str = "none"
    timeout_ms: int = _TIMEOUT_MS
    block_ms: int = _TIMEOUT_MS
    retries: bool = True
    pause_before: int | None = None
    records: tuple[Record, ...] = ()
    partitions: int = 2
    replicas: int = 3
    configs: dict[str, str] = field(default_factory=dict)
    stage: str = MIXED
    transactional_id: str | None = None

    def described(self, topic: str) -> dict[str, Any]:
        """The job as the programs read it."""
        return {
            "name": self.name,
            "topic": topic,
            "acks": self.acks,
            "idempotent": self.idempotent,
            "codec": self.codec,
            "linger_ms": _LINGER_MS,
            "timeout_ms": self.timeout_ms,
            "block_ms": self.block_ms,
            "retries": self.retries,
            "pause_before": self.pause_before,
            **({} if self.transactional_id is None else {"transactional_id": self.transactional_id}),
            "records": [
                {
                    "partition": record.partition,
                    "key": _text(record.key),
                    "value": _text(record.value),
                    "headers": [[name, _text(value)] for name, value in record.headers],
                    "timestamp_ms": record.timestamp_ms,
                }
                for record in self.records
            ],
        }


def plan(bootstrap_servers: str, jobs: Iterable[Job], prefix: str) -> dict[str, Any]:
    """The plan of one program: `bootstrap` and `jobs`. The topic of a job is called PREFIX-JOB."""
    return {"bootstrap": bootstrap_servers, "jobs": [job.described(f"{prefix}-{job.name}") for job in jobs]}


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _twenty() -> tuple[Record, ...]:
    """Ten records for each of two partitions, with what clients get wrong: nothing, emptiness, bytes that are no text,
    headers of one name, a timestamp that goes back."""
    records = [
        Record(
            i % 2,
            b"key \xff\x00 %d" % i,
            b"value %d " % i * 40,
            (("index", b"%d" % i), ("bytes", b"\x00\xfe")),
            _START_MS + i * 1_000,
        )
        for i in range(20)
    ]
    records[4] = Record(0, None, b"no key " * 40, (), _START_MS + 4_000)
    records[6] = Record(0, b"no value", None, (("same", b"1"), ("same", b"2")), _START_MS + 6_000)
    records[7] = Record(1, b"", b"", (("empty", b""),), _START_MS + 7_000)
    records[10] = Record(0, b"earlier", b"earlier " * 40, (), _START_MS - 60_000)
    return tuple(records)


def _values(*partitions: int, timestamp_ms: int = _START_MS) -> tuple[Record, ...]:
    return tuple(
        Record(partition, b"key", b"record %d " % i * 20, (), timestamp_ms) for i, partition in enumerate(partitions)
    )


def _all_jobs() -> tuple[Job, ...]:
    ways = {"acks-0": (0, False), "acks-1": (1, False), "acks-all": (-1, False), "idempotent": (-1, True)}
    good = [
        Job(f"{way}-{codec}", acks, idempotent, codec, records=_twenty(), replicas=3 if acks == -1 else 1)
        for way, (acks, idempotent) in ways.items()
        for codec in CODECS
    ]
    refused = Job("", timeout_ms=_REFUSED_MS, block_ms=_REFUSED_MS, retries=False, replicas=1)
    frozen = Job(
        "",
        timeout_ms=_FROZEN_MS,
        pause_before=1,
        records=_values(0, 0, 0),
        partitions=1,
        configs={"min.insync.replicas": "2"},
    )
    late = _values(0, timestamp_ms=_FUTURE_MS) + _values(1)
    return (
        *good,
        Job("many", idempotent=True, codec="gzip", records=_many()),
        Job("log-append-time", records=_twenty(), configs={"message.timestamp.type": "LogAppendTime"}, replicas=1),
        Job(
            "compressed-by-the-broker", codec="gzip", records=_twenty(), configs={"compression.type": "lz4"}, replicas=1
        ),
        Job("null-header", records=(Record(0, b"key", b"value", (("null", None), ("empty", b""))),), replicas=1),
        replace(refused, name="unknown-topic", records=_values(0, 0), partitions=0),
        replace(refused, name="unknown-partition", records=_values(0, 7)),
        replace(refused, name="too-large", records=_one_large(), configs={"max.message.bytes": "1000"}),
        replace(refused, name="no-key-on-compacted", records=_one_keyless(), configs={"cleanup.policy": "compact"}),
        replace(refused, name="from-the-future", records=late, configs={"message.timestamp.after.max.ms": "3600000"}),
        replace(frozen, name="frozen", stage=FROZEN, retries=False),
        replace(frozen, name="thawed-idempotent", stage=THAWED, idempotent=True),
    )


def _many() -> tuple[Record, ...]:
    """Enough for several batches in flight at once, in most clients."""
    return tuple(Record(i % 2, b"%d" % i, b"record %d " % i * 20, (), _START_MS + i) for i in range(2_000))


def _one_large() -> tuple[Record, ...]:
    return (*_values(0), Record(0, b"key", b"large " * 1_000), *_values(1))


def _one_keyless() -> tuple[Record, ...]:
    return (Record(0, None, b"no key " * 20), *_values(1))


JOBS = _all_jobs()
