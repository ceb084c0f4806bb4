"""Compaction of what transactions wrote: records that were aborted, markers, the last batches of producers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.frames import batch_of, produce
from conformance.scenario import Case, Pause, ReadLog, Step, Topic
from conformance.transactions.frames import FIRST, describe_producers
from conformance.transactions.steps import Txn, ask
from fakebroker.protocol.record_batch import Record

_ROLL_MS = 1_000
_CLEANED_MS = 8_000  # log.cleaner.backoff.ms is 500
_CONFIGS = {"cleanup.policy": "compact", "segment.ms": str(_ROLL_MS), "min.cleanable.dirty.ratio": "0.01"}
_IN_TRANSACTION = 0x10


def _keys(txn: Txn, keys: str, sequence: int, epoch: int) -> tuple[Step, ...]:
    """A batch in a transaction, with a record for each letter."""
    records = [Record(key.encode(), b"%d" % sequence) for key in keys]
    ids: dict[str, Any] = {"producer_id": FIRST, "producer_epoch": epoch, "base_sequence": sequence}
    data = batch_of(records, attributes=_IN_TRANSACTION, **ids)
    added = () if txn.is_v2 else (txn.add(0),)
    return ask(*added, produce(txn.topic, data, version=12 if txn.is_v2 else 11, transactional_id=txn.id))


def _cases() -> Iterator[Case]:
    for version in (1, 2):
        for what, more in (("kept", {}), ("at-once", {"delete.retention.ms": "0"})):
            txn = Txn(f"compacted-{what}", version)
            steps: list[Step] = [*txn.begin()]
            sequence = 0
            for number, (keys, commit) in enumerate((("ab", True), ("ac", False), ("ad", True), ("ab", False))):
                epoch = txn.after(number)
                sequence = 0 if txn.is_v2 else sequence
                steps += [*_keys(txn, keys, sequence, epoch), *txn.ended(commit, epoch=epoch)]
                sequence += len(keys)
            steps += [Pause(_ROLL_MS + 500)]
            for number in (4, 5):
                epoch = txn.after(number)
                sequence = 0 if txn.is_v2 else sequence
                steps += [*_keys(txn, "d", sequence, epoch), *txn.ended(epoch=epoch)]
                sequence += 1
            steps += [
                *ask(txn.last_stable(), describe_producers(txn.topic)),  # what is read now may be cleaned already
                Pause(_CLEANED_MS),
                *ask(txn.read(), txn.read(3), txn.read(6), txn.last_stable(), describe_producers(txn.topic)),
                *_keys(txn, "e", 0 if txn.is_v2 else sequence, txn.after(6)),
                *ask(txn.read(6), describe_producers(txn.topic)),
                ReadLog(txn.topic),
            ]
            topic = Topic(txn.topic, configs=_CONFIGS | more)
            why = (
                "aborted records are removed; transaction markers stay as long as a consumer may need them "
                "(Cleaner.cleanInto)"
            )
            yield Case(f"compaction/transactions-{what}-v{version}", why, tuple(steps), (topic,), _box(version))


def _box(version: int) -> str:
    return "transactions-compact" + ("" if version == 2 else "-1")


CASES: list[Case] = list(_cases())
