"""The brokers of the benchmark of fairness, with followers that do not follow, and the topics that it needs.

Ours has frozen followers. Two of Apache Kafka's three processes are paused (SIGSTOP), as in the conformance suite, and
stay in the ISR. The mocks (librdkafka's and kfake) have no followers and answer acks=-1 like acks=1. So they have no
lateness of time-outs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine.programs import Missing
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, OURS, Broker, ask, start_kfake, start_mock, start_ours
from conformance import frames
from conformance.targets.kafka_box import KafkaBox, Unavailable, kafka_version

FOREVER_MS = str(3_600_000)
SLOW = "slow"  # the topic with frozen followers
TIMES_OUT = {OURS, KAFKA}
_VERSION = 4


def start_ours_frozen(*options: str) -> Broker:
    return start_ours("--followers", "frozen", "--config", f"replica.lag.time.max.ms={FOREVER_MS}", *options)


class FrozenKafka(Broker):
    """Apache Kafka of which only broker 1, which is the controller, still runs."""

    def __init__(self) -> None:
        settings = {
            "log.segment.delete.delay.ms": "1000",
            "auto.leader.rebalance.enable": "false",
            "replica.lag.time.max.ms": FOREVER_MS,
        }
        try:
            box = KafkaBox(3, settings)
            box.start()
        except Unavailable as reason:
            raise Missing(str(reason).splitlines()[0]) from None
        pids = [box._processes[1].pid]
        super().__init__(KAFKA, kafka_version(), box.endpoints[1], pids, box.stop)
        make_topic(self, SLOW, replicas=(1, 2, 3))  # broker 1 leads
        for broker_id in (2, 3):
            box.freeze(broker_id)


STARTERS: dict[str, Callable[[], Broker]] = {
    OURS: start_ours_frozen,
    MOCK: lambda: start_mock(1),
    KFAKE: lambda: start_kfake(1),
    KAFKA: FrozenKafka,
}


class Side:
    """One of the brokers, renewed when asked; Apache Kafka only if it has ended."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reason = ""  # why it is missing
        self.broker: Broker | None = None

    def renew(self) -> Broker | None:
        """A broker that nothing has been asked of, or one of Kafka that is as good. None if it is missing."""
        if self.reason:
            return None
        if self.broker is not None and self.name == KAFKA and is_running(self.broker):
            return self.broker
        self.stop()
        try:
            self.broker = STARTERS[self.name]()
        except Missing as reason:
            self.reason = str(reason)
            return None
        if self.name == OURS:
            make_topic(self.broker, SLOW, replicas=(1, 2, 3))
        return self.broker

    def stop(self) -> None:
        if self.broker is not None:
            self.broker.stop()
        self.broker = None


def is_running(broker: Broker) -> bool:
    return all(_state(pid) not in {"", "Z", "X"} for pid in broker.pids)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def make_topic(
    broker: Broker,
    name: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    replicas: Sequence[int] = (1,),
) -> None:
    """A topic that is led by the broker's first process, or its only one. The mock has 4 partitions and no configs."""
    if broker.name == MOCK:
        broker.create_topic(name)
        return
    topic: dict[str, Any] = {
        "name": name,
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }
    if broker.name == KFAKE:
        topic |= {"num_partitions": partitions, "replication_factor": 1}
    else:
        topic["assignments"] = [
            {"partition_index": index, "broker_ids": tuple(replicas)} for index in range(partitions)
        ]
    request = frames.create_topics([topic], version=_VERSION)
    for answer in ask(broker.address, 19, _VERSION, request).topics:
        if answer.error_code:
            raise RuntimeError(f"{broker.name} does not make the topic {name}: {answer.error_code!r}")
    broker.await_leaders([name], partitions)
