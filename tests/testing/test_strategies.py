"""Values of the strategies are useful: topologies can be built, faults fire, and acks=all survives them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.simulation import Simulation

from fakebroker.core.journal.journal import Journal
from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.testing import check_history, describe, strategies, wire
from fakebroker.testing.history import GAP, LOST
from fakebroker.testing.simulation import START_WALL_MS


@given(strategies.topologies())
def test_a_topology_can_be_built(topology: strategies.Topology) -> None:
    simulation = Simulation(topology.brokers, config={"replica.lag.time.max.ms": str(topology.lag_max_ms)})
    for name, partitions, replicas, min_isr in topology.topics:
        simulation.topic(name, partitions, replicas, min_insync_replicas=min_isr)
        for index in range(partitions):
            partition = simulation.partition(name, index)
            assert len(partition.isr) == replicas
            assert not partition.is_under_min_isr


@given(strategies.fault_plans(), st.sampled_from([1, 2]))
def test_what_was_acknowledged_by_all_survives_any_faults(faults: list[strategies.FaultStep], min_isr: int) -> None:
    journal = Journal()
    simulation = Simulation(config={"replica.lag.time.max.ms": "1000"}, journal=journal)
    simulation.topic("t", 2, 3, min_insync_replicas=min_isr, retention_ms=-1)
    for number, fault in enumerate(faults):
        for index in (0, 1):
            leader = simulation.partition("t", index).leader_id
            if leader != NO_LEADER:
                records = wire.batch(b"%d/%d" % (number, index), 1, START_WALL_MS)
                simulation.connect(leader).send(wire.produce(number, -1, 400, [(("t", index), records)]))
        fault.happen(simulation, "t")
    findings = check_history(journal, {LOST, GAP})
    assert not findings, describe(findings)
