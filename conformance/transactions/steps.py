"""Steps that cases of transactions share, and a case for each version of transactions.

Theory   With version 1 a producer says where it is about to write (AddPartitionsToTxn), and keeps its epoch;
         with version 2 (KIP-890) a Produce says it by itself, and every end gives the next epoch. Version 0 is as 1,
         but for what is written to the log. Most cases are about what is the same in all, or should differ in nothing
         else, so they are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.frames import fetch, list_offsets, produce
from conformance.scenario import AwaitTransaction, Case, ReadLog, Send, Settle, Step, Topic
from conformance.transactions.frames import (
    add_partitions,
    end_txn,
    in_transaction,
    init_transactions,
)

VERSIONS = (0, 1, 2)
READ_COMMITTED = 1
_CORRELATION_ID_AT = 8  # in a frame, length included


def ask(*frames: bytes, conn: str = "a", broker: int = 1) -> tuple[Step, ...]:
    """Send, and note what is answered; frames are numbered from 1 on."""
    return Send(numbered(frames), conn, broker), Settle(conn)


def numbered(frames: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the frames with correlation ids from 1 on."""
    at = _CORRELATION_ID_AT
    return tuple(frame[:at] + number.to_bytes(4) + frame[at + 4 :] for number, frame in enumerate(frames, 1))


@dataclass(frozen=True)
class Txn:
    """The steps of a case with one transactional id and one topic, in one version of transactions."""

    what: str
    version: int

    @property
    def id(self) -> str:
        return f"{self.what}-v{self.version}"

    @property
    def topic(self) -> str:
        return f"txn-{self.what}-v{self.version}"

    @property
    def group(self) -> str:
        return f"group-{self.what}-v{self.version}"

    @property
    def is_v2(self) -> bool:
        return self.version == 2

    @property
    def end_version(self) -> int:
        """Return the version of EndTxn."""
        return 5 if self.is_v2 else 4

    def after(self, ends: int) -> int:
        """The epoch behind so many ends."""
        return ends if self.is_v2 else 0

    # Frames.

    def write(self, *values: bytes, partition: int = 0, version: int | None = None, **batch: int) -> bytes:
        """A Produce of this version."""
        return produce(
            self.topic,
            {partition: in_transaction(*values, **batch)},
            version=version or (12 if self.is_v2 else 11),
            transactional_id=self.id,
        )

    def add(self, *partitions: int, **values: Any) -> bytes:
        return add_partitions(self.id, {self.topic: partitions or (0,)}, **values)

    def end(self, commit: bool = True, **values: Any) -> bytes:
        return end_txn(self.id, **{"commit": commit, "version": self.end_version} | values)

    def read(self, offset: int = 0, partition: int = 0, *, version: int = 12, **values: Any) -> bytes:
        """A Fetch of committed records."""
        return fetch(self.topic, offset, partition, version=version, isolation_level=READ_COMMITTED, **values)

    def last_stable(self, partition: int = 0) -> bytes:
        return list_offsets(self.topic, -1, partition, isolation_level=READ_COMMITTED)

    # Steps.

    def begin(self, **values: Any) -> tuple[Step, ...]:
        """The producer has its id, and epoch 0."""
        return AwaitTransaction(self.id), *ask(init_transactions(self.id, **values))

    def written(self, *values: bytes, partition: int = 0, conn: str = "a", **batch: int) -> tuple[Step, ...]:
        """Records in a transaction, which adds the partition if it is new."""
        ids = {name: batch[name] for name in ("producer_id", "epoch") if name in batch}
        added = () if self.is_v2 else (self.add(partition, **ids),)
        return ask(*added, self.write(*values, partition=partition, **batch), conn=conn)

    def done(self, commit: bool = True) -> AwaitTransaction:
        return AwaitTransaction(self.id, "CompleteCommit" if commit else "CompleteAbort")

    def ended(self, commit: bool = True, **values: Any) -> tuple[Step, ...]:
        return *ask(self.end(commit, **values)), self.done(commit)


def begin_another(transactional_id: str, **values: Any) -> tuple[Step, ...]:
    """Another producer has its id."""
    return AwaitTransaction(transactional_id), *ask(init_transactions(transactional_id, **values))


Steps = Callable[[Txn], Sequence[Step]]


def both(
    what: str,
    why: str,
    steps: Steps,
    *,
    partitions: int = 1,
    logs: int | None = None,
    versions: Sequence[int] = VERSIONS,
    box: str = "transactions",
    replicas: int = 1,
    configs: Mapping[str, str] | None = None,
    more: Sequence[str] = (),
) -> Iterator[Case]:
    """A case for each version of transactions; at its end stands what is in the log of so many partitions. `more` are
    other topics, by what they are called behind the topic's own name."""
    for version in versions:
        txn = Txn(what, version)
        suffix = "" if version == 2 else f"-{version}"
        names = [txn.topic, *(f"{txn.topic}-{name}" for name in more)]
        topics = tuple(Topic(name, partitions, replicas, dict(configs or {})) for name in names) if partitions else ()
        read = [ReadLog(txn.topic, index) for index in range(partitions if logs is None else logs)]
        group = box + ("" if version == 2 else f"-v{version}")
        yield Case(f"{group}/{what}", why, (*steps(txn), *read), topics, f"{box}{suffix}")
