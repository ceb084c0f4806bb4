"""Common parts of the cases of dying brokers: their boxes, and descriptions of brokers and partitions."""

from __future__ import annotations

from conformance.dying.awaited import describe_partitions
from conformance.frames import batch, metadata, produce, request
from conformance.scenario import At, AwaitPartition, Case, MakeTopics, Pause, Send, Settle, StartBroker, Step, Topic
from conformance.shared_steps import WARM_ID

BOXES = ("deaths", "deaths-elr")
_DESCRIBE_CLUSTER = 60
# A session is counted from the last heartbeat: 3000 ms, of which up to 300 may be over (targets/boxes.py).
FENCED_MS, FENCED_SLACK_MS = 2_600, 2_000
QUIET_MS = 1_200  # by then every follower knows the watermark
APART_MS = 500  # more than a heartbeat's interval: of two that die, the first one's session is over first
ALL, WITHOUT_2 = (1, 2, 3), (1, 3)
DESCRIBED_ID = 50


def told(*topics: Topic, correlation_id: int = DESCRIBED_ID, broker: int = 1) -> tuple[Step, ...]:
    """Ask a broker for its view of the topics, and for the fenced brokers."""
    names = [topic.name for topic in topics]
    flags = {"include_cluster_authorized_operations": False, "endpoint_type": 1, "include_fenced_brokers": True}
    frames = (
        describe_partitions(*names, correlation_id=correlation_id),
        metadata(list(names), correlation_id=correlation_id + 1),
        request(_DESCRIBE_CLUSTER, 2, flags, correlation_id + 2),
    )
    conn = f"told-{broker}"
    return Send(frames, conn, broker), Settle(conn)


def led_by_2(*topics: Topic) -> tuple[Step, ...]:
    """Write a record to each topic, and wait until all brokers know of it."""
    frames = (
        produce(topic.name, batch(b"before"), correlation_id=WARM_ID + index) for index, topic in enumerate(topics)
    )
    return Send(tuple(frames), "warm", 2), Settle("warm"), Pause(QUIET_MS)


def back(*topics: Topic, leader: int = 1) -> tuple[Step, ...]:
    """Broker 2 comes back, into every ISR."""
    isr = tuple(AwaitPartition(topic.name, leader, tuple(range(1, topic.replicas + 1))) for topic in topics)
    return StartBroker(2), *isr, *told(*topics, correlation_id=DESCRIBED_ID + 20)


class DeathCases:
    """Cases of one box: "deaths" ("deaths-hasty" for one case), or "deaths-elr" and "cuts". The last two have eligible
    leader replicas (KIP-966), Kafka 4.4's default. There an ISR may become empty, and a replica that left too few in
    sync may still lead."""

    def __init__(self, box: str) -> None:
        self._box = box
        self._elr = box not in ("deaths", "deaths-hasty")

    def _case(
        self, name: str, why: str, steps: tuple[Step, ...], topics: tuple[Topic, ...], timed: tuple[At, ...] = ()
    ) -> Case:
        return Case(f"{self._box}/{name}", why, (MakeTopics(topics), *steps), (), self._box, timed)

    def _topic(self, name: str, replicas: int = 3, min_isr: int = 1, unclean: bool = False, leader: int = 1) -> Topic:
        configs = {"min.insync.replicas": str(min_isr)}
        if unclean:
            configs["unclean.leader.election.enable"] = "true"
        return Topic(f"{self._box}-{name}", replicas=replicas, configs=configs, leader=leader)

    def _await(
        self, topic: Topic, leader: int, isr: tuple[int, ...], eligible: tuple[int, ...] = (), broker: int = 1
    ) -> AwaitPartition:
        """`eligible` are those that are, where there are eligible leader replicas."""
        return AwaitPartition(topic.name, leader, isr, eligible if self._elr else (), broker=broker)

    def _nobody(self, topic: Topic, last: int, broker: int = 1) -> AwaitPartition:
        """Wait until no broker leads, after the last one in sync has gone."""
        isr, elr = ((), (last,)) if self._elr else ((last,), ())
        return AwaitPartition(topic.name, -1, isr, elr, broker=broker)
