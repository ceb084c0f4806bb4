"""The rules of elections in their simplest form: sets of brokers.

Rules    ISR       a replica that leaves while the ISR is below the minimum is eligible, until the ISR is large enough

         leader    the first in order of assignment that is alive and in the ISR; if the ISR is empty, an eligible one;
                   without any, the last known leader; if the topic allows it, any that is alive. After that none is
                   eligible

         unclean   a broker that returns after a crash is not eligible
Source   PartitionChangeBuilder of Kafka 4.4 (KIP-966), as described.
"""

from __future__ import annotations

from collections.abc import Iterable

NOBODY = -1


class Elections:
    """The election state of one partition."""

    def __init__(self, alive: set[int], min_isr: int, unclean: bool) -> None:
        self.alive, self.min_isr, self.unclean = alive, min_isr, unclean
        self.leader, self.epoch, self.last_known = NOBODY, -1, NOBODY
        self.isr: set[int] = set()
        self.elr: set[int] = set()

    def assigned(self) -> Iterable[int]:
        """Return the brokers with a replica, in order of assignment."""
        raise NotImplementedError

    def eligible(self, isr: set[int]) -> set[int]:
        return set() if len(isr) >= self.min_isr else (self.elr | self.isr) - isr

    def change_isr(self, isr: set[int]) -> None:
        self.isr, self.elr = isr, self.eligible(isr)

    def elect(self, target: set[int], now: int, killed: int = NOBODY) -> None:
        """Elect for this target ISR. `killed` is no longer eligible."""
        elr = self.eligible(target) - {killed}
        living = [broker for broker in self.assigned() if broker in self.alive]
        candidates = [broker for broker in living if broker in (target or elr)]
        if self.leader in candidates:
            self.isr, self.elr = target or {self.leader}, elr - {self.leader}
            self.move_watermark(now)
        elif candidates:
            self.elr = elr - {candidates[0]}
            self.lead(candidates[0], target or {candidates[0]}, now)
        elif not target and not elr and self.last_known in living:
            self.elr = set()
            self.lead(self.last_known, {self.last_known}, now)
        elif living and self.unclean:
            self.elr = set()
            self.lead(living[0], {living[0]}, now)
        else:
            if self.leader != NOBODY:
                self.last_known, self.leader, self.epoch = self.leader, NOBODY, self.epoch + 1
                self.forget_under_way()
            self.isr, self.elr = target, elr

    # Implemented by Partition.

    def lead(self, broker: int, isr: set[int], now: int) -> None:
        raise NotImplementedError

    def move_watermark(self, now: int) -> None:
        raise NotImplementedError

    def forget_under_way(self) -> None:
        raise NotImplementedError
