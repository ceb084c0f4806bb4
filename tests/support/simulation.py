"""The simulation of `fakebroker.testing`, by the name that the tests of the core know it by."""

from __future__ import annotations

from fakebroker.testing.simulation import (
    START_MONO_MS,
    START_WALL_MS,
    SimulatedClient,
    Simulation,
)
from fakebroker.testing.wire import split_frames

__all__ = ["START_MONO_MS", "START_WALL_MS", "SimulatedClient", "Simulation", "split_frames"]
