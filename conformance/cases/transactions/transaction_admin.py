"""DescribeTransactions, ListTransactions, FindCoordinator and the features: what admins and clients find out."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.frames import api_versions
from conformance.scenario import Case, Pause, Step
from conformance.transactions.frames import (
    FIRST,
    add_partitions,
    describe_transactions,
    find_transaction_coordinator,
    list_transactions,
)
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, begin_another, both


def _three(txn: Txn) -> tuple[Step, ...]:
    """One that is open, one that is aborted, one that has not begun."""
    aborted = Txn(f"{txn.what}-b", txn.version)
    end = aborted.end(producer_id=producer(2), commit=False)
    return (
        *txn.begin(),
        *begin_another(aborted.id),
        *begin_another(f"{txn.what}-c-v{txn.version}"),
        *txn.written(b"a"),
        *ask(_add(txn, aborted)),
        *ask(end),
        aborted.done(commit=False),
        Pause(3),  # they are older than nothing
    )


def _add(txn: Txn, other: Txn) -> bytes:
    return add_partitions(other.id, {txn.topic: (1,)}, producer_id=producer(2))


def _describe(txn: Txn) -> Sequence[Step]:
    ids = [txn.id, f"{txn.what}-b-v{txn.version}", f"{txn.what}-c-v{txn.version}", f"{txn.id}-nobody", "", txn.id]
    return *_three(txn), *ask(describe_transactions(*ids), describe_transactions())


def _list(txn: Txn) -> Sequence[Step]:
    """Only this case's, by pattern; of the older versions those of its producers."""
    pattern = f"{txn.what}.*v{txn.version}"
    ids = (FIRST, producer(2), producer(3))
    v2 = [
        list_transactions(pattern=pattern, **values)
        for values in (
            {},
            {"states": ("Ongoing",)},
            {"states": ("Ongoing", "CompleteAbort", "NoSuchState", "ongoing")},
            {"states": ("NoSuchState",)},
            {"states": ("",)},
            {"states": ("Dead", "PrepareEpochFence", "PrepareCommit")},
            {"producer_ids": (FIRST,)},
            {"producer_ids": (4_000_011, producer(2))},
            {"longer_than_ms": 3_600_000},
            {"longer_than_ms": 0},
            {"longer_than_ms": -5},
        )
    ]
    older = [
        list_transactions(producer_ids=ids, longer_than_ms=ms, version=version)
        for version, ms in ((0, -1), (1, -1), (1, 3_600_000))
    ]
    patterns = [
        list_transactions(producer_ids=ids, pattern=pattern)
        for pattern in (None, "", txn.id, txn.what, "[", "(?<x>a)", f"{txn.what}-(b|c)-v.", f".*-v{txn.version}$", "*")
    ]
    return *_three(txn), *ask(*v2), *ask(*older), *ask(*patterns)


def _patterns(txn: Txn) -> Sequence[Step]:
    """List with patterns that RE2 accepts and RE2/J does not, and patterns that only look so."""
    refused = ("\\C", "{*", "(?P<n>a)(?<n>b)", "a**", "(?=a)", "[z-a]", "\\8", "a{1001}")
    taken = (
        "{",
        f"{txn.what}.?v{txn.version}",
        f"\\Q{txn.id}\\E",
        f"(?i){txn.id.upper()}",
        f"{txn.id}|[{{*]",
        f"^{txn.id}$",
    )
    requests = [list_transactions(producer_ids=(FIRST,), pattern=pattern) for pattern in (*refused, *taken)]
    return *txn.begin(), *ask(*requests)


def _find(txn: Txn) -> Sequence[Step]:
    return (
        *txn.begin(),
        *ask(*(find_transaction_coordinator(txn.id, version=version) for version in range(1, 7))),
        *ask(find_transaction_coordinator("", version=3), find_transaction_coordinator("", version=4)),
        *ask(find_transaction_coordinator(f"{txn.id}-a", f"{txn.id}-b", txn.id, txn.id)),
    )


def _features(txn: Txn) -> Sequence[Step]:
    return ask(api_versions(3), api_versions(4))


CASES: list[Case] = [
    *both("describe", "three states, and unknown ids", _describe, partitions=2, logs=0),
    *both("list", "filters of each version", _list, partitions=2, logs=0),
    *both("list-patterns", "patterns of RE2/J", _patterns, partitions=0, versions=(2,)),
    *both("find", "FindCoordinator of transactional ids", _find, partitions=0),
    *both("features", "ApiVersions returns transaction.version", _features, partitions=0),
]
