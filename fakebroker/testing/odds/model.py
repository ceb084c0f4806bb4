"""The parameters of a trial: a cluster, a producer, and their failure rates.

Units    `_ms` milliseconds of virtual time; shares are from 0 to 1; rates are records per second, to all partitions.
Errors   ModelError, in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.crash_loss import CrashLoss
from fakebroker.core.errors import ConfigError
from fakebroker.core.replication.behaviour import MAX_LAG_MS
from fakebroker.producer.errors import ProducerConfigError
from fakebroker.producer.producer_config import ProducerConfig

CRASHES: Final = {"process": CrashLoss.NOTHING, "power": CrashLoss.UNFLUSHED, "disk": CrashLoss.EVERYTHING}
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
GENERATION: Final = "4.4"
_MOST_BROKERS: Final = 100
# Producer settings that must not be given directly, and why.
_TAKEN: Final = {
    "acks": "acks is a setting of its own",
    "enable.idempotence": "idempotence is a setting of its own",
    "retries": "retries is a setting of its own",
    "compression.type": "records are read back as they were sent, uncompressed",
    "transactional.id": "a trial has no transactions",
}


class ModelError(Exception):
    """An invalid parameter."""


@dataclass(frozen=True)
class OddsModel:
    """The parameters. `brokers` and `replication` are numbers; there are as many partitions as brokers, and each broker
    leads one.

    acks, min_isr, unclean_leader_election, idempotence, retries   as in Kafka; None is the producer's default
    lag_ms         the lag of each follower
    producer       other settings of the producer, by Kafka's names; `brokers_config` those of the brokers
    rate           records per second, by a Poisson process
    duration_ms    of a trial; afterwards all faults are healed
    mtbf_ms        the mean of the exponentially distributed time until a running broker fails,
    mttr_ms        and of the time until it is started again
    crash          what a failure loses: the process, unflushed data (power), the disk
    flush_ms       the interval at which a broker's machine flushes all data to its disk
    together       the share of failures in which all running brokers fail at the same moment
    lost_answers   the share of Produce requests that are handled, but lose their response and connection
    """

    acks: str = "all"
    min_isr: int = 2
    unclean_leader_election: bool = False
    idempotence: bool | None = None
    retries: int | None = None
    brokers: int = 3
    replication: int = 3
    lag_ms: int = 0
    producer: Mapping[str, str] = field(default_factory=dict)
    brokers_config: Mapping[str, str] = field(default_factory=dict)
    rate: float = 0.2
    duration_ms: int = 2 * HOUR_MS
    mtbf_ms: int = HOUR_MS
    mttr_ms: int = MINUTE_MS
    crash: str = "process"
    flush_ms: int = 30_000
    together: float = 0.0
    lost_answers: float = 0.0

    def __post_init__(self) -> None:
        for is_right, sentence in (
            (1 <= self.brokers <= _MOST_BROKERS, f"A cluster has 1 to {_MOST_BROKERS} brokers, not {self.brokers}."),
            (
                1 <= self.replication <= self.brokers,
                f"{self.brokers} brokers have 1 to {self.brokers} replicas of each partition, not {self.replication}.",
            ),
            (
                1 <= self.min_isr <= self.replication,
                f"min.insync.replicas is 1 to {self.replication}, as many as there are replicas, not {self.min_isr}.",
            ),
            (0 <= self.lag_ms <= MAX_LAG_MS, f"Followers are 0 to {MAX_LAG_MS} ms behind, not {self.lag_ms}."),
            (0 < self.rate <= 1e6, f"A rate is above 0 and at most 1,000,000 records a second, not {self.rate:g}."),
            (self.crash in CRASHES, f"A crash takes {', '.join(CRASHES)}, not {self.crash!r}."),
            (0 <= self.together <= 1, f"The share of failures of all brokers is from 0 to 1, not {self.together:g}."),
            (0 <= self.lost_answers < 1, f"The share of lost answers is from 0 to below 1, not {self.lost_answers:g}."),
        ):
            if not is_right:
                raise ModelError(sentence)
        for name in ("duration_ms", "mtbf_ms", "mttr_ms", "flush_ms"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name.removesuffix('_ms')} is 1 ms at least.")
        try:
            self.producer_config()
            self.broker_config()
        except (ProducerConfigError, ConfigError) as error:
            raise ModelError(f"{str(error).rstrip('.')}.") from None

    def producer_config(self) -> ProducerConfig:
        for name in self.producer:
            if name in _TAKEN:
                raise ModelError(f"{name} is not to be given as a setting of the producer: {_TAKEN[name]}.")
        given: dict[str, object] = {"acks": self.acks, "client.id": "odds", **self.producer}
        if self.idempotence is not None:
            given["enable.idempotence"] = self.idempotence
        if self.retries is not None:
            given["retries"] = self.retries
        return ProducerConfig(GENERATION, given)

    def broker_config(self) -> BrokerConfig:
        return BrokerConfig().with_text(self.brokers_config)
