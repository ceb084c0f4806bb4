"""The failures and repairs of brokers.

Theory   Each broker is up for an exponentially distributed time with mean `mtbf_ms`, and then down for one with mean
         `mttr_ms`: failures of a running broker are a Poisson process. The random numbers depend on the seed and the
         broker only, so models with different acks have the same failures. After a repair the broker is started: it
         registers when the session of its previous life is over.
Units    milliseconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from fakebroker.testing.odds.model import CRASHES, OddsModel
from fakebroker.testing.producing.simulated_producers import SimulatedProducers

_POWER: Final = "power"


class Failures:
    """The failures. `crashes` counts them, and `leaders_lost` the partitions that the crashed brokers led. `on_change`
    is called after each crash, and `tell` with a description."""

    def __init__(
        self,
        around: SimulatedProducers,
        topic: str,
        model: OddsModel,
        seed: int,
        on_change: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        self.crashes = self.leaders_lost = 0
        self._around = around
        self._topic = topic
        self._model = model
        self._on_change = on_change
        self._tell = tell
        self._random = {
            broker_id: Random(f"failures of broker {broker_id} in {seed}") for broker_id in range(1, model.brokers + 1)
        }
        self._turns = dict.fromkeys(self._random, 0)  # by broker, the number of failures and repairs
        self._down: set[int] = set()
        self._is_over = False
        for broker_id in self._random:
            self._await_failure(broker_id)
        if model.crash == _POWER:
            random = Random(f"flushes of {seed}")
            for broker_id in self._random:
                self._after(random.randrange(model.flush_ms), partial(self._flush, broker_id))

    def end(self) -> None:
        """End the failures, and start all brokers that are down."""
        self._is_over = True
        for broker_id in sorted(self._down):
            self._start(broker_id)

    def _await_failure(self, broker_id: int) -> None:
        self._await(broker_id, self._model.mtbf_ms, self._fail)

    def _await(self, broker_id: int, mean_ms: int, do: Callable[[int], None]) -> None:
        turn = self._turns[broker_id]

        def act() -> None:
            if not self._is_over and self._turns[broker_id] == turn:
                do(broker_id)

        self._after(max(1, round(self._random[broker_id].expovariate(1 / mean_ms))), act)

    def _after(self, ms: int, do: Callable[[], None]) -> None:
        self._around.at(self._around.simulation.elapsed_ms + ms, do)

    def _fail(self, broker_id: int) -> None:
        others = self._random.keys() - self._down - {broker_id}
        is_together = self._random[broker_id].random() < self._model.together
        for failing_id in (broker_id, *sorted(others)) if is_together else (broker_id,):
            self._kill(failing_id)

    def _kill(self, broker_id: int) -> None:
        simulation, model = self._around.simulation, self._model
        self.crashes += 1
        self.leaders_lost += sum(
            simulation.partition(self._topic, index).leader_id == broker_id for index in range(model.brokers)
        )
        self._turns[broker_id] += 1
        self._down.add(broker_id)
        self._tell(f"broker {broker_id} fails: {model.crash}")
        simulation.kill(broker_id, CRASHES[model.crash])
        self._on_change()
        self._await(broker_id, model.mttr_ms, self._repair)

    def _repair(self, broker_id: int) -> None:
        self._start(broker_id)
        self._await_failure(broker_id)

    def _start(self, broker_id: int) -> None:
        self._turns[broker_id] += 1
        self._down.discard(broker_id)
        self._tell(f"broker {broker_id} is started")
        self._around.simulation.start(broker_id)

    def _flush(self, broker_id: int) -> None:
        self._around.simulation.cluster.lives.flush_broker(broker_id)
        if not self._is_over:
            self._after(self._model.flush_ms, partial(self._flush, broker_id))
