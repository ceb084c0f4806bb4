"""Hypothesis strategies: record batches, Produce requests, topologies, fault plans, whole plans of a simulation.

@given(strategies.plans())
def test_every_rule_holds(plan):
    assert Replay(plan, seed=0).violation is None
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from hypothesis import strategies as st

from fakebroker.core.errors import KafkaError
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing import wire
from fakebroker.testing.plan import (
    BEHAVIOURS,
    FAULTS,
    MAX_CLIENTS,
    MAX_TRANSACTIONAL,
    STEPS_MS,
    TIMEOUTS_MS,
    Action,
    action,
)
from fakebroker.testing.simulation import Simulation

__all__ = [
    "FaultStep",
    "Topology",
    "actions",
    "batches",
    "behaviours",
    "fault_plans",
    "plans",
    "produce_requests",
    "topologies",
]

NOW_MS = 1_800_000_000_000


class Topology(NamedTuple):
    """A cluster with its topics, which are (name, partitions, replicas, min.insync.replicas)."""

    brokers: int
    lag_max_ms: int
    topics: tuple[tuple[str, int, int, int], ...]


class FaultStep(NamedTuple):
    """A fault of a cluster, `after_ms` after the previous step. `what` is "followers", "stop", "start" or "move". The
    partition is taken modulo those of the topic."""

    after_ms: int
    what: str
    behaviour: str
    broker: int
    partition: int

    def happen(self, simulation: Simulation, topic: str) -> None:
        """Advance the time and apply the fault. Ignore what the cluster refuses, such as a leader that is not in
        sync."""
        simulation.advance(self.after_ms)
        known = simulation.cluster.metadata.topic(topic)
        if known is None:
            return
        index = self.partition % len(known.partitions)
        with suppress(KafkaError):
            match self.what:
                case "followers":
                    simulation.followers(self.behaviour, topic, index)
                case "stop":
                    simulation.stop(self.broker)
                case "start":
                    simulation.start(self.broker)
                case "move":
                    simulation.move_leader(self.broker, topic, index)


def batches(
    max_records: int = 5, max_value_bytes: int = 100, timestamp_ms: int = NOW_MS, idempotent: bool = False
) -> st.SearchStrategy[bytes]:
    """Return record batches (magic 2) that every broker accepts. `idempotent`: with producer ids and sequences."""
    keys = st.none() | st.binary(max_size=10)
    pairs = st.tuples(keys, st.none() | st.binary(max_size=max_value_bytes))
    records = st.lists(pairs.map(lambda pair: Record(*pair)), min_size=1, max_size=max_records)
    if not idempotent:
        return records.map(lambda drawn: encode_batch(drawn, base_timestamp_ms=timestamp_ms))
    return st.builds(
        lambda drawn, producer_id, epoch, sequence: encode_batch(
            drawn,
            base_timestamp_ms=timestamp_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        ),
        records,
        st.integers(0, 5),
        st.integers(0, 2),
        st.integers(0, 20),
    )


def produce_requests(
    topic: str = "t", partitions: int = 1, correlation_ids: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[bytes]:
    """Return frames of Produce v9, with any acks and timeout that a client may send."""
    return st.builds(
        lambda number, acks, timeout_ms, parts: wire.produce(
            number, acks, timeout_ms, [((topic, partition), records) for partition, records in sorted(parts.items())]
        ),
        correlation_ids or st.integers(0, 2**31 - 1),
        st.sampled_from((-1, -1, -1, 0, 1)),
        st.sampled_from(TIMEOUTS_MS),
        st.dictionaries(st.integers(0, partitions - 1), batches(), min_size=1),
    )


def behaviours() -> st.SearchStrategy[str]:
    """Return behaviours of followers, in the words of `FakeCluster(followers=...)`."""
    return st.sampled_from(BEHAVIOURS) | st.integers(0, 3_000).map(lambda lag_ms: f"lagging:{lag_ms}")


@st.composite
def topologies(draw: st.DrawFn, max_brokers: int = 4, max_topics: int = 3) -> Topology:
    """Return clusters with topics "t1", "t2" and so on. No topic has more replicas than there are brokers."""
    brokers = draw(st.integers(1, max_brokers))
    topics = []
    for number in range(1, draw(st.integers(1, max_topics)) + 1):
        replicas = draw(st.integers(1, brokers))
        topics.append((f"t{number}", draw(st.integers(1, 3)), replicas, draw(st.integers(1, replicas))))
    return Topology(brokers, draw(st.sampled_from((300, 1_000, 5_000, 30_000))), tuple(topics))


def fault_plans(max_steps: int = 10, brokers: int = 3) -> st.SearchStrategy[list[FaultStep]]:
    """Return plans of faults: followers that freeze, lag and recover, brokers that stop and start, leaders that
    move."""
    return st.lists(
        st.builds(
            FaultStep,
            st.sampled_from(STEPS_MS),
            st.sampled_from(("followers", "followers", "stop", "start", "start", "move")),
            behaviours(),
            st.integers(1, brokers),
            st.integers(0, 8),
        ),
        max_size=max_steps,
    )


# Plans of a simulation.

_CLIENT = st.integers(0, MAX_CLIENTS - 1)
_ACKS = st.sampled_from((-1, -1, -1, -1, 0, 1, 2))
_TIMEOUT = st.sampled_from(TIMEOUTS_MS)
_PARTITION = st.integers(0, 8)
_BROKER = st.integers(0, 3)
_PRODUCER = st.integers(0, MAX_TRANSACTIONAL - 1)
_TXN_ACKS = st.sampled_from((-1, -1, -1, 1))
_FAULT = st.sampled_from((0,) * 12 + tuple(range(1, len(FAULTS) + 1)))

ARGUMENTS: dict[str, tuple[st.SearchStrategy[int], ...]] = {
    "produce": (_CLIENT, _ACKS, _TIMEOUT, st.integers(1, 511), st.integers(1, 4), _FAULT),
    "burst": (_CLIENT, _ACKS, _TIMEOUT, _PARTITION, st.integers(2, 6)),
    "fetch": (_CLIENT, _PARTITION, st.integers(-1, 4), st.sampled_from((0, 30, 400))),
    "committed": (_CLIENT, _PARTITION, st.integers(-1, 6), st.sampled_from((0, 30, 400))),
    "transact": (_PRODUCER, _TXN_ACKS, _TIMEOUT, st.integers(1, 511), st.integers(1, 4)),
    "end": (_PRODUCER, st.integers(0, 1), st.sampled_from((0, 0, 0, 1)), st.integers(1, 511)),
    "garbage": (_CLIENT, st.integers(0, len(wire.GARBAGE) - 1)),
    "disconnect": (_CLIENT,),
    "followers": (
        st.integers(0, len(BEHAVIOURS) - 1),
        st.integers(-1, 2),
        st.integers(-1, 2),
        st.sampled_from((-1, 1, 2, 3)),
    ),
    "stop": (_BROKER,),
    "kill": (_BROKER,),
    "pause": (_BROKER,),
    "resume": (_BROKER,),
    "start": (_BROKER,),
    "move": (_PARTITION, st.integers(0, 2)),
    "recreate": (st.integers(0, 2), st.integers(1, 3)),
    "delete": (st.integers(0, 2),),
    "advance": (st.sampled_from(STEPS_MS),),
    "jump": (),
}


def actions(*names: str) -> st.SearchStrategy[Action]:
    """Return steps of a simulation, of these names or of any."""
    chosen = names or tuple(ARGUMENTS)
    return st.sampled_from(chosen).flatmap(
        lambda name: st.tuples(*ARGUMENTS[name]).map(lambda arguments: action(name, *arguments))
    )


@st.composite
def plans(draw: st.DrawFn, max_steps: int = 50) -> list[Action]:
    """Return whole plans: a cluster, its topics, and the steps."""
    topology = draw(topologies())
    plan = [action("cluster", topology.brokers, topology.lag_max_ms)]
    for _, partitions, replicas, min_isr in topology.topics:
        plan.append(action("topic", partitions, replicas, min_isr, int(draw(st.integers(0, 7)) == 7)))
    return plan + draw(st.lists(actions(), max_size=max_steps))
