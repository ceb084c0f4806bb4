"""WriteTxnMarkers, as a coordinator or an admin sends it."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.frames import batch, produce
from conformance.scenario import Case, Step
from conformance.transactions.frames import describe_producers, marker, write_markers
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, begin_another, both


def _seen(txn: Txn) -> tuple[Step, ...]:
    return ask(txn.read(), txn.last_stable(), describe_producers(txn.topic))


def _valid(txn: Txn, version: int = 1) -> Sequence[Step]:
    """The marker comes from elsewhere; the coordinator's own comes as well, later."""
    here = {txn.topic: (0,)}
    return (
        *txn.begin(),
        *txn.written(b"a"),
        *ask(write_markers(marker(here, commit=False, epoch=txn.after(1)), version=version)),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
    )


def _valid_v2(txn: Txn) -> Sequence[Step]:
    return _valid(txn, version=2)


def _wrong(txn: Txn) -> Sequence[Step]:
    """Epochs of producer and coordinator, and partitions that are not there."""
    here = {txn.topic: (0,)}
    return (
        *txn.begin(),
        *ask(*(write_markers(marker(here, coordinator_epoch=epoch)) for epoch in (5, 4, 5, 6))),
        *_seen(txn),
        *txn.written(b"a"),
        *ask(write_markers(marker(here, coordinator_epoch=3))),
        *ask(write_markers(marker(here, coordinator_epoch=6, epoch=3))),
        *ask(write_markers(marker(here, coordinator_epoch=6, epoch=2))),
        *ask(write_markers(marker(here, coordinator_epoch=6, epoch=-1))),
        *ask(write_markers(marker(here, coordinator_epoch=6, epoch=3, producer_id=-1))),
        *ask(write_markers(marker({txn.topic: (0, 9), f"{txn.topic}-not": (0,)}, coordinator_epoch=6, epoch=4))),
        *_seen(txn),
    )


def _several(txn: Txn) -> Sequence[Step]:
    """Write the markers of three producers, one of them unknown, for two partitions."""
    everywhere = {txn.topic: (0, 1)}
    return (
        *txn.begin(),
        *begin_another(f"{txn.id}-b"),
        *ask(
            *(
                write_markers(
                    marker(everywhere, epoch=1),
                    marker(everywhere, epoch=1, producer_id=producer(2), commit=False),
                    marker({txn.topic: (1,)}, producer_id=4_000_010),
                    version=version,
                )
                for version in (1, 2)
            )
        ),
        *ask(write_markers(), write_markers(marker({}), marker({txn.topic: ()}))),
        *ask(describe_producers(txn.topic, 0, 1)),
    )


def _epochs(txn: Txn) -> Sequence[Step]:
    """A marker of version 2 has a higher epoch than the records (KIP-1228)."""
    here = {txn.topic: (0,)}
    steps: list[Step] = [*txn.begin(), *txn.written(b"a")]
    for epoch in (0, 1, 1, 2):
        for version in (2, 1, 0):
            marked = marker(here, epoch=epoch, transaction_version=version, commit=False)
            steps += [*ask(write_markers(marked, version=2)), *ask(describe_producers(txn.topic))]
    return (*steps, *_seen(txn))


def _fences(txn: Txn) -> Sequence[Step]:
    """Behind a marker with a higher epoch the old one cannot write, and the new one begins anew."""
    here = {txn.topic: (0,)}
    return (
        *txn.begin(),
        *txn.written(b"a"),
        *ask(write_markers(marker(here, epoch=7, commit=False))),
        *ask(txn.write(b"old", sequence=1)),
        *ask(produce(txn.topic, batch(b"plain", producer_id=producer(1), producer_epoch=7, base_sequence=0))),
        *ask(produce(txn.topic, batch(b"plain", producer_id=producer(1), producer_epoch=6, base_sequence=0))),
        *_seen(txn),
    )


CASES: list[Case] = [
    *both("markers-v1", "WriteTxnMarkers that no coordinator sent", _valid),
    *both("markers-v2", "WriteTxnMarkers v2 that no coordinator sent (KIP-1228)", _valid_v2),
    *both("markers-wrong", "WriteTxnMarkers with producer and coordinator epochs that are too old", _wrong),
    *both("markers-several", "WriteTxnMarkers for several producers and partitions", _several, partitions=2),
    *both("markers-epochs", "allowed producer epochs of a transaction marker", _epochs),
    *both("markers-fence", "a transaction marker with a higher epoch fences the producer", _fences),
]
