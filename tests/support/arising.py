"""Faults that arise in a simulation, and their removal."""

from __future__ import annotations

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.faults.presets import Preset
from support.simulation import Simulation


def arise(simulation: Simulation, preset: Preset) -> StateFault:
    simulation.cluster.now = simulation.now
    arisen = simulation.cluster.faults.arising.arise(preset)
    simulation.run_until(simulation.elapsed_ms)
    return arisen


def remove(simulation: Simulation, arisen: StateFault) -> None:
    simulation.cluster.now = simulation.now
    simulation.cluster.faults.arising.remove(arisen)
    simulation.run_until(simulation.elapsed_ms)
