"""The comparison of the cluster with the oracle: the state, and what clients saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.network.connection import ChannelMuteState
from fakebroker.protocol.batch_layout import LEADER_EPOCH_AT, MAGIC_AT
from fakebroker.testing import wire
from fakebroker.testing.messages import ClientFetch, ClientOutcome
from fakebroker.testing.oracle import Oracle
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.requests import PAUSED
from fakebroker.testing.simulation import SimulatedClient, Simulation


def state_difference(
    simulation: Simulation, world: Oracle, links: Iterable[SimulatedClient], periodic_tasks: int, closely: bool
) -> str | None:
    """Return the first difference between the cluster and a world of the oracle. Compare whole logs only if
    `closely`."""
    return (
        _partitions(simulation, world, closely)
        or _waiting(simulation, world)
        or _timers(simulation, world, periodic_tasks)
        or _connections(world, links)
    )


def _partitions(simulation: Simulation, world: Oracle, closely: bool) -> str | None:
    partitions = list(simulation.cluster.metadata.partitions())
    if len(partitions) != len(world.partitions):
        return f"there are {len(partitions)} partitions, and should be {len(world.partitions)}"
    for partition, (key, model) in zip(partitions, world.partitions.items(), strict=True):
        if partition.topic_partition != key:
            return f"there is {partition.topic_partition} where {key} should be"
        ends = [replica.log.log_end_offset for replica in partition.replicas.values()]
        watermark = 0 if partition.leader_id == NO_LEADER else partition.high_watermark
        model_ends = [replica.end for replica in model.replicas.values()]
        model_watermark = 0 if model.leader == NOBODY else model.watermark
        if (
            ends != model_ends
            or watermark != model_watermark
            or partition.leader_id != model.leader
            or partition.leader_epoch != model.epoch
            or partition.isr != model.isr
            or set(partition.elr) != model.elr
            or partition.replicas.keys() != model.replicas.keys()
        ):
            isr, elr = partition.isr, set(partition.elr)
            actual = partition.leader_id, partition.leader_epoch, isr, elr, watermark, partition.replica_ids, ends
            wanted = model.leader, model.epoch, model.isr, model.elr, model_watermark, list(model.replicas), model_ends
            return f"{key} has (leader, epoch, ISR, ELR, watermark, replicas, ends) {actual}, and should have {wanted}"
        if partition.leader_id != NO_LEADER:
            stable = partition.leader_log.last_stable_offset
            if stable != model.last_stable_offset:
                return f"the last stable offset of {key} is {stable}, and should be {model.last_stable_offset}"
        if closely:
            for broker, replica in partition.replicas.items():
                logged = [(b.base_offset, _epoch_of(b.data), wire.ident(b.data)) for b in replica.log.batches]
                if logged != [(b.base, b.epoch, b.batch.ident) for b in model.replicas[broker].log]:
                    return f"the log of {key} on broker {broker} holds other batches than it should"
    return None


def _epoch_of(batch: bytes) -> int:
    return int.from_bytes(batch[LEADER_EPOCH_AT:MAGIC_AT], "big")


def _waiting(simulation: Simulation, world: Oracle) -> str | None:
    for broker, running in simulation.cluster.brokers.items():
        manager = running.replicas
        produces, fetches = manager.produce_purgatory.num_delayed(), manager.fetch_purgatory.num_delayed()
        waiting = [type(w.request) for w in world.requests.waiting if w.broker == broker]
        if produces != len(waiting) - waiting.count(ClientFetch) or fetches != waiting.count(ClientFetch):
            return (
                f"in the purgatories of broker {broker} are {produces} produces and {fetches} fetches, and should be "
                f"{waiting}"
            )
    return None


def _timers(simulation: Simulation, world: Oracle, periodic_tasks: int) -> str | None:
    arrivals = len([1 for p in world.partitions.values() for r in p.replicas.values() if r.under_way])
    timers = simulation.cluster.members.timer.timer.size - periodic_tasks
    sessions = len(world.sessions)
    if timers != arrivals + sessions:
        return f"{timers} timers are pending, and {arrivals} of followers and {sessions} of sessions should be"
    return None


def _connections(world: Oracle, links: Iterable[SimulatedClient]) -> str | None:
    for link in links:
        model_connection = world.requests.connections[link.number]
        state = link.connection.state
        is_open, is_busy = state is not ChannelMuteState.CLOSED, state is ChannelMuteState.BUSY
        if is_open != model_connection.is_open or (is_open and is_busy != (model_connection.in_hand is not None)):
            return (
                f"connection {link.number} is {state}, and should be open: {model_connection.is_open}, busy with "
                f"{model_connection.in_hand}"
            )
        stands = world.states[model_connection.broker] == PAUSED
        if is_open and not is_busy and model_connection.queue and not stands:
            return f"connection {link.number} is free, and its next request is not handled"
    return None


def by_connection(outcome: ClientOutcome) -> int:
    return outcome.connection


def outcome_difference(expected: Sequence[ClientOutcome], seen: Sequence[ClientOutcome]) -> str:
    """Return the first difference between the expected and the actual outcomes; there must be one."""
    for wanted, actual in zip(expected, seen, strict=False):
        if wanted != actual:
            return f"a client should see {_shown(wanted)}, and sees {_shown(actual)}"
    if len(expected) > len(seen):
        return f"a client should see {_shown(expected[len(seen)])}, and does not"
    return f"a client sees {_shown(seen[len(expected)])}, and should not"


def _shown(outcome: ClientOutcome) -> str:
    if outcome.result is None:
        return f"connection {outcome.connection} closed at {outcome.at_ms} ms"
    parts = [
        [ident[:4].hex() for ident in part] if isinstance(part, tuple) and part and isinstance(part[0], bytes) else part
        for part in outcome.result
    ]
    return f"request {outcome.number} of connection {outcome.connection} answered {parts} at {outcome.at_ms} ms"
