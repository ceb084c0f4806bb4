"""The rules of elections in their simplest form: sets of brokers.

Rules    ISR       a replica that leaves while the ISR is below the minimum is eligible, until the ISR is large enough

         leader    the first in order of assignment that is alive and in the ISR; if the ISR is empty, an eligible one;
                   without any, the last known leader; if the topic allows it, any that is alive. After that none is
                   eligible

         unclean   a broker that returns after a crash is not eligible
Source   PartitionChangeBuilder of Kafka 4.4 (KIP-966), as described.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

NOBODY = -1


class OracleElectionResult(NamedTuple):
    """The result of an election. `leader` is -1 if no broker can lead; `begins`: it is a new leadership."""

    leader: int
    isr: set[int]
    elr: set[int]
    begins: bool


def eligible(isr: set[int], candidates: set[int], min_isr: int) -> set[int]:
    """Return the eligible ones next to this ISR, of those that were in the ISR or eligible before."""
    return set() if len(isr) >= min_isr else candidates - isr


def elect(
    living: Sequence[int], leader: int, last_known: int, target: set[int], elr: set[int], unclean: bool
) -> OracleElectionResult:
    """Elect for this target ISR. `living` are the living brokers with a replica, in order of assignment."""
    candidates = [broker for broker in living if broker in (target or elr)]
    if leader in candidates:
        return OracleElectionResult(leader, target or {leader}, elr - {leader}, False)
    if candidates:
        return OracleElectionResult(candidates[0], target or {candidates[0]}, elr - {candidates[0]}, True)
    if not target and not elr and last_known in living:
        return OracleElectionResult(last_known, {last_known}, set(), True)
    if living and unclean:
        return OracleElectionResult(living[0], {living[0]}, set(), True)
    return OracleElectionResult(NOBODY, target, elr, False)
